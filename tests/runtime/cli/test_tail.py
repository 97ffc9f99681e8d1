"""`turnwire tail`: a turn in a pipe and in a terminal, from a service and from Redis."""

import json
import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.kit.loopback import Answer, open_loopback
from turnwire.actors.core.options import TurnOptions
from turnwire.messages import StreamEvent
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import Message, Output, TurnComplete, TurnStarted
from turnwire.runtime import open_runtime
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log
from turnwire.runtime.record import load_demo

TAIL = [sys.executable, "-m", "turnwire.runtime.cli.main", "tail"]
IDS: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
OUTPUTS: list[Output] = [
    TurnStarted(**IDS),
    Message(**IDS, item_id="m", status="create", content="Hel", origin="agent"),
    Message(**IDS, item_id="m", status="complete", content="Hello there", origin="agent"),
    TurnComplete(**IDS, status="complete"),
]


def body(*numbers: int) -> list[bytes]:
    return [f"id: 1-{number}\ndata: {encode_output(OUTPUTS[number - 1])}\n\n".encode() for number in numbers]


async def tail(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    with trio.fail_after(60):
        return await trio.run_process([*TAIL, *arguments], capture_stdout=True, capture_stderr=True, check=False)


async def test_a_pipe_gets_one_line_per_output() -> None:
    """From the service, over a connection that broke; the trouble is told on standard error."""
    answers = [Answer(body=body(1, 2), then="die"), Answer(body=body(3, 4))]
    async with open_loopback(lambda number: answers[number]) as service:
        ran = await tail("t", "--url", service.url, "--token", "a-token")
    assert ran.returncode == 0
    assert ran.stdout.decode().splitlines() == [encode_output(output) for output in OUTPUTS]
    assert b"trying again in" in ran.stderr
    assert [request.headers["authorization"] for request in service.requests] == ["Bearer a-token"] * 2


async def test_it_can_begin_in_the_middle(tmp_path: Path) -> None:
    """`--from` is the last entry that was seen; a token may stand in a file, where nobody lists processes."""
    (tmp_path / "token").write_text("from-a-file\n")
    async with open_loopback(lambda _: Answer(body=body(3, 4))) as service:
        ran = await tail("t", "--url", service.url, "--from", "1-2", "--token", f"@{tmp_path / 'token'}")
    assert len(ran.stdout.splitlines()) == 2
    assert service.requests[0].target.endswith("?from=1-2")
    assert service.requests[0].headers["authorization"] == "Bearer from-a-file"


async def test_a_terminal_shows_the_turn() -> None:
    """What is left there at the end is the whole turn."""
    async with open_loopback(lambda _: Answer(body=body(1, 2, 3, 4))) as service:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        process = await trio.lowlevel.open_process(
            [*TAIL, "t", "--url", service.url], stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        shown = b""
        with trio.fail_after(60):
            try:
                while piece := await trio.to_thread.run_sync(os.read, ours, 65536):
                    shown += piece
            except OSError:
                pass  # a terminal whose last program has ended
            code = await process.wait()
        os.close(ours)
    assert code == 0
    assert "Hello there" in shown.decode()
    assert "turn complete" in shown.decode()


@pytest.mark.parametrize(
    ("status", "arguments"), [(404, []), (401, []), (200, ["--from", "seven"]), (200, ["--token", "@/nowhere"])]
)
async def test_what_cannot_work_is_said(status: int, arguments: list[str]) -> None:
    """Exit 2, and one line that says why."""
    refusal = b'{"error": {"code": "c", "message": "not for you"}}'
    async with open_loopback(lambda _: Answer(status=status, body=[refusal])) as service:
        ran = await tail("t", "--url", service.url, *arguments)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"turnwire tail: ")
    assert len(ran.stderr.splitlines()) == 1
    assert b"Errno" not in ran.stderr


@asynccontextmanager
async def open_tail(*arguments: str) -> AsyncGenerator[trio.Process, None]:
    """Run one that does not end by itself; it is killed at the end."""
    process = await trio.lowlevel.open_process([*TAIL, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        with trio.fail_after(60):
            yield process
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            assert process.stderr is not None
            await process.stderr.aclose()


async def first_line(process: trio.Process) -> str:
    """Give the first thing that a process says on standard error."""
    said = b""
    assert process.stderr is not None
    while b"\n" not in said:
        piece = await process.stderr.receive_some()
        assert piece, "it ended without a word"
        said += piece
    return said.decode().splitlines()[0]


async def test_a_turn_that_is_not_there_yet_is_waited_for_aloud(redis_url: str, key_prefix: str) -> None:
    """A log cannot tell a turn that comes from one that never does: whoever mistyped its id sees why nothing comes."""
    async with open_tail("nosuch", "--redis", redis_url, "--prefix", key_prefix) as process:
        assert await first_line(process) == "turnwire tail: turn 'nosuch' has nothing yet; waiting"


async def test_a_redis_that_is_away_is_told_as_a_service_is() -> None:
    """What is wrong, and when it is tried again."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    async with open_tail("t", "--redis", f"redis://127.0.0.1:{port}/0") as process:
        said = await first_line(process)
    assert re.fullmatch(r"turnwire tail: Redis cannot be reached: .*[^.]; trying again in \d\.\d s", said), said


async def test_a_log_in_redis_is_read_without_a_service(redis_url: str, key_prefix: str) -> None:
    """Live: the reader is there before the turn is."""
    events = [each.event for each in load_demo() if isinstance(each.event, StreamEvent)]
    async with trio.open_nursery() as nursery:
        ran: list[subprocess.CompletedProcess[bytes]] = []

        async def follow() -> None:
            ran.append(await tail("demo", "--redis", redis_url, "--prefix", key_prefix))

        nursery.start_soon(follow)
        async with (
            open_redis_log(redis_url, options=RedisLogOptions(prefix=key_prefix)) as log,
            open_runtime(sink=log, options=TurnOptions()) as runtime,
            runtime.open_turn(turn_id="demo", thread_id="demo-thread") as turn,
        ):
            for event in events:
                await turn.send(event)
    lines = [json.loads(line) for line in ran[0].stdout.splitlines()]
    assert ran[0].returncode == 0
    assert [line["type"] for line in (lines[0], lines[-1])] == ["turn_started", "turn_complete"]


@pytest.mark.parametrize("source", ["--redis=gopher://x", "--url=nowhere", "--url=ftp://x", "--url=http://x:99999"])
def test_a_wrong_address_is_said(source: str) -> None:
    """Not a trace, and not tried again for ever."""
    ran = trio.run(partial(tail, "t", source))
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"turnwire tail: ")
    assert len(ran.stderr.splitlines()) == 1
