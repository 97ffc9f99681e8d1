"""`turnwire worker` as an operator runs it: a process with signals and exit codes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit.servers import plain_client
from tests.kit.turns import begin, finished, said, started
from turnwire.runtime.cli.main import main
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.queue import Producer

PATIENCE = 30.0  # seconds


def start_worker(url: str, prefix: str, lines: Path, *more: str) -> subprocess.Popen[bytes]:
    settings = ["--set", f"redis.prefix={prefix}", "--set", "worker.grace=0.5", *more]
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "worker", "--redis", url, *settings]
    with lines.open("wb") as stderr:
        return subprocess.Popen(command, stderr=stderr)  # noqa: S603  # ourselves


def wait_for_line(lines: Path, event: str) -> dict[str, object]:
    give_up_at = time.monotonic() + PATIENCE
    while time.monotonic() < give_up_at:
        for line in lines.read_text().splitlines():
            if f'"event": "{event}"' in line:
                said: dict[str, object] = json.loads(line)
                return said
        time.sleep(0.02)
    pytest.fail(f"the worker did not say {event!r}:\n{lines.read_text()}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_stop(
    redis_url: str, key_prefix: str, tmp_path: Path, number: signal.Signals
) -> None:
    """One turn is finished, one is handed over, and the exit code is 0."""
    process = start_worker(redis_url, key_prefix, tmp_path / "lines")
    try:
        with Producer(redis_url, options=RedisLogOptions(prefix=key_prefix)) as producer:
            producer.announce("r", "t", "th")
            producer.publish("r", [started("t", "th"), begin("m"), said("m", "all"), finished()])
            producer.announce("r2", "t2", "th")
        wait_for_line(tmp_path / "lines", "finished")
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    last = wait_for_line(tmp_path / "lines", "worker ended")
    assert (last["finished"], last["handed_over"]) == (1, 1)
    client = plain_client(redis_url, decode_responses=True)
    payloads = [json.loads(fields["payload"]) for _, fields in client.xrange(f"{key_prefix}:turn:t:processed")[1:]]
    assert [payload["type"] for payload in payloads] == ["turn_started", "message", "turn_complete"]


def test_a_worker_that_cannot_work_says_why(redis_url: str, key_prefix: str, tmp_path: Path) -> None:
    """Past its restart budget it ends with exit code 1 and a sentence."""
    plain_client(redis_url).set(f"{key_prefix}:turns", "not a stream")
    process = start_worker(redis_url, key_prefix, tmp_path / "lines", "--set", "worker.restart_limit=1")
    try:
        assert process.wait(PATIENCE) == 1
    finally:
        process.kill()
        process.wait()
    last = (tmp_path / "lines").read_text().splitlines()[-1]
    assert last.startswith("turnwire worker: ended because of QueueError: Redis refused a command of the queue")
    assert "WRONGTYPE" in last


def test_a_worker_needs_a_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before anything is started, as for any wrong setting."""
    monkeypatch.delenv("TURNWIRE_REDIS__URL", raising=False)
    assert main(["worker"]) == 2
    assert "redis.url" in capsys.readouterr().err
    assert main(["worker", "--redis", "http://x", "--set", "worker.grace=-1"]) == 2
    said = capsys.readouterr().err
    assert "redis.url" in said
    assert "worker.grace" in said
