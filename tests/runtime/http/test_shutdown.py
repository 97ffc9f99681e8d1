"""SIGTERM under load: readers are told, turns are handed over, the exit is clean and in time, and nothing is lost."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
import trio

from tests.kit.servers import RedisServer, plain_client
from tests.kit.serving import open_serving
from tests.kit.sse import open_sse
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages.event_codec import unstructure_event
from turnwire.messages.events import StreamEvent
from turnwire.runtime.cli.main import main

TURNS, READERS = 50, 200
GRACE = 2.0  # seconds, of requests and of turns


@attrs.define
class Reader:
    """Reads a turn until its connection ends."""

    turn: str
    last_id: str = ""
    states: dict[str, Any] = attrs.field(factory=dict[str, Any])
    has_ended_properly: list[bool] = attrs.field(factory=list[bool])

    async def read(self, url: str, on_first: Any = lambda: None) -> None:
        headers = {"last-event-id": self.last_id} if self.last_id else {}
        async with open_sse(url, f"/xapi/turns/{self.turn}/stream", headers=headers) as stream:
            assert stream.status == 200
            async for event in stream:
                state = json.loads(event.data)
                self.last_id = event.last_id
                self.states[state.get("itemId", state["type"])] = state
                on_first()
                on_first = lambda: None  # noqa: E731
            self.has_ended_properly.append(stream.is_complete)


async def publish(url: str, number: int, *events: StreamEvent) -> None:
    documents = [unstructure_event(attrs.evolve(event, run_id=f"r{number}")) for event in events]
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        answer = await http.post(f"/api/v2/runs/r{number}/events", json=documents)
    assert answer.status_code == 202, answer.text


async def test_a_service_that_is_told_to_stop(redis_server: RedisServer, key_prefix: str, tmp_path: Path) -> None:
    """200 readers, 50 turns, some of which end within the grace time; another process goes on with the rest."""
    settings = [
        *("--redis", redis_server.url, "--set", f"redis.prefix={key_prefix}", "--set", f"http.grace={GRACE}"),
        *("--set", f"worker.grace={GRACE}", "--set", "worker.claim_idle=1", "--set", "worker.heartbeat=0.2"),
        *("--set", "turn.batch_gradient=1"),
    ]
    readers = [Reader(f"t{number % TURNS}") for number in range(READERS)]
    with open_serving(tmp_path, *settings) as first:
        await _fill(first.url, readers, lambda: first.process.send_signal(signal.SIGTERM))
        took = await trio.to_thread.run_sync(_wait, first.process)
        assert first.process.returncode == 0, first.lines.read_text()
        assert took < GRACE + 1.5
        assert [reader.has_ended_properly for reader in readers] == [[True]] * READERS
        ended = first.wait_for("worker ended")
        assert ended["handed_over"] == TURNS - 5
        assert first.said("connections cut") == []
    with open_serving(tmp_path, *settings) as second:
        async with trio.open_nursery() as nursery:
            for reader in readers:
                if "turn_complete" not in reader.states:
                    nursery.start_soon(reader.read, second.url)
            for number in range(5, TURNS):
                text = f"Hello and goodbye from {number}"
                nursery.start_soon(publish, second.url, number, delta("m", "and "), said("m", text), finished())
    client = plain_client(redis_server.url, decode_responses=True)
    for reader in readers:
        number = int(reader.turn[1:])
        text = f"Hello and goodbye from {number}" if number >= 5 else "Hello, that was all"
        log = client.xrange(f"{key_prefix}:turn:{reader.turn}:processed")
        kinds = [json.loads(fields["payload"])["type"] for _, fields in log if "payload" in fields]
        assert kinds.count("turn_complete") == 1
        assert kinds[-1] == "turn_complete"
        if number >= 5:  # the others ended while their readers were being sent away
            assert (reader.states["m"]["content"], reader.states["m"]["status"]) == (text, "complete")
            assert "turn_complete" in reader.states
        last = json.loads(log[-2][1]["payload"])
        assert (last["content"], last["status"]) == (text, "complete")
    assert client.xlen(f"{key_prefix}:turns") == 0


async def _fill(url: str, readers: list[Reader], then: Any) -> None:
    """Begin all turns and have all readers read; then stop, and end some turns while that goes on."""
    async with trio.open_nursery() as nursery:
        for number in range(TURNS):
            nursery.start_soon(publish, url, number, started(f"t{number}", "th"), begin("m"), delta("m", "Hello "))
    up = 0
    all_up = trio.Event()

    def count() -> None:
        nonlocal up
        up += 1
        if up == len(readers):
            all_up.set()

    with trio.fail_after(60):
        async with trio.open_nursery() as reading, httpx.AsyncClient(base_url=url, timeout=30) as http:
            for reader in readers:
                reading.start_soon(reader.read, url, count)
            await all_up.wait()
            documents = [
                [
                    unstructure_event(attrs.evolve(it, run_id=f"r{number}"))
                    for it in (said("m", "Hello, that was all"), finished())
                ]
                for number in range(5)
            ]
            for number, document in enumerate(documents):
                assert (await http.post(f"/api/v2/runs/r{number}/events", json=document)).status_code == 202
            then()


def _wait(process: Any) -> float:
    began_at = time.monotonic()
    process.wait(30)
    return time.monotonic() - began_at


async def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    """A turn that is under way is given up at once."""
    settings = ["--set", "worker.grace=60", "--set", "http.grace=60"]
    with open_serving(tmp_path, *settings) as serving:
        await publish(serving.url, 1, started("t1", "th"))
        serving.wait_for("claimed")
        serving.process.send_signal(signal.SIGTERM)
        serving.wait_for("worker stops")
        serving.process.send_signal(signal.SIGTERM)
        assert await trio.to_thread.run_sync(lambda: serving.process.wait(10)) == 0


async def test_an_address_that_is_taken_is_said_so(tmp_path: Path) -> None:
    """Exit code 1, with the reason."""
    with open_serving(tmp_path) as serving:
        port = serving.url.rpartition(":")[2]
        command = [sys.executable, "-m", "turnwire.runtime.cli.main", "serve", "--port", port]
        ran = await trio.run_process(command, capture_stderr=True, check=False, stdout=subprocess.DEVNULL)
        assert ran.returncode == 1
        told = ran.stderr.splitlines()[-1]
        assert told.startswith(f"turnwire serve: cannot listen on 127.0.0.1 port {port}: ".encode())
        assert b"in use" in told
        assert b"Errno" not in told


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ("http.host=0.0.0.0", "http.host"),
        ("http.work=false", "http.work"),
        ("model.provider=openai-chat", "model.name"),
        ("model.name=x", "model.provider"),
        ("http.port=99999", "http.port"),
        ("model.provider=mystery", "model.provider"),
        ("model.base_url=nowhere", "model.base_url"),
    ],
)
def test_wrong_settings_stop_the_start(capsys: pytest.CaptureFixture[str], wrong: str, name: str) -> None:
    """Exit code 2, each named."""
    assert main(["serve", "--set", wrong]) == 2
    assert f"{name}: " in capsys.readouterr().err


def test_a_provider_without_its_key_stops_the_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a sentence, not with a failure of the first turn."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = ["--set", "model.provider=openai-chat", "--set", "model.name=m"]
    assert main(["serve", "--port", "0", "--quiet", *settings]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err
