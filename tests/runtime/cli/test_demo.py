"""`turnwire demo`: one address, a turn that plays when somebody looks, and a quiet end."""

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
import trio

from turnwire.messages import Message, StreamEvent, ToolCall, TurnComplete, TurnError, fold_events, fold_outputs
from turnwire.messages.folds import TurnSnapshot
from turnwire.runtime.record import load_demo
from turnwire.runtime.turn_client import read_turn

DEMO = [sys.executable, "-m", "turnwire.runtime.cli.main", "demo"]
PATIENCE = 60.0  # seconds


@asynccontextmanager
async def open_demo(*arguments: str) -> AsyncGenerator[tuple[str, trio.Process], None]:
    """Run the demo; give what it prints and the process, which is ended at the end."""
    with trio.fail_after(PATIENCE):
        process = await trio.lowlevel.open_process([*DEMO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        try:
            line = b""
            while not line.endswith(b"\n"):
                piece = await process.stdout.receive_some()
                assert piece, "the demo ended before it was up"
                line += piece
            yield line.decode().strip(), process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    await pipe.aclose()


async def follow(url: str, turn_id: str) -> TurnSnapshot:
    async with aclosing(read_turn(url, turn_id)) as reads:
        return fold_outputs([read.output async for read in reads])


async def ask(url: str, **body: Any) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{url}/xapi/threads/demo-thread/turns", json=body)
    assert answer.status_code == 202, answer.text
    turn_id: str = answer.json()["turnId"]
    return turn_id


async def test_it_prints_one_address_and_plays_the_bundled_stream() -> None:
    """What is read there is what was recorded; Ctrl-C ends it quietly."""
    events = [each.event for each in load_demo() if isinstance(each.event, StreamEvent)]
    expected = [item.text for item in fold_events(events).items if item.item_type == "message"]
    async with open_demo("--speed", "100") as (address, process):
        url, _, turn = address.partition("/#turn=")
        assert url.startswith("http://127.0.0.1:")
        told = await follow(url, turn)
        assert [item.content for item in told.items if isinstance(item, Message)] == expected
        assert isinstance(told.terminal, TurnComplete)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
        assert process.stderr is not None
        assert await process.stderr.receive_some() == b"open this in a browser; Ctrl-C ends it\n"
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b""


async def test_the_prompt_box_is_answered_by_a_script() -> None:
    """Help, a tool that waits for approval and goes on after it, and an answer that breaks."""
    async with open_demo("--speed", "100") as (address, _process):
        url = address.partition("/#")[0]
        helped = await follow(url, await ask(url, message="hello"))
        assert "**again**" in str(helped.items[-1].content)
        asked = await follow(url, await ask(url, message="book it"))
        call = asked.items[-1]
        assert isinstance(call, ToolCall)
        async with httpx.AsyncClient(trust_env=False) as client:
            (pending,) = (await client.get(f"{url}/xapi/threads/demo-thread")).json()["pending"]
        assert pending["toolCallId"] == call.call_id
        answers = [{"approvalId": pending["approvalId"], "approved": True}]
        allowed = await follow(url, await ask(url, answers=answers))
        assert "booked: 1 to Tromsø" in allowed.items[-1].content
        broken = await follow(url, await ask(url, message="break"))
        assert isinstance(broken.terminal, TurnError)
        assert broken.terminal.error.code == "DEMO_BREAKS"


@pytest.mark.parametrize("arguments", [["--speed", "0"], ["--terminal", "--speed", "-1"]])
def test_time_does_not_stand_still(arguments: list[str]) -> None:
    """Exit 2, and why."""
    command = [*DEMO, *arguments]
    ran = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603  # ourselves
    assert ran.returncode == 2
    assert b"--speed must be greater than 0" in ran.stderr


def test_a_port_that_there_is_not_is_refused() -> None:
    """Exit 2 and the range, instead of a listener on some other port."""
    ran = subprocess.run([*DEMO, "--port", "99999"], capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603  # ourselves
    assert ran.returncode == 2
    assert b"--port must be from 0 to 65535, not 99999" in ran.stderr


def test_a_port_that_is_taken_is_said_once() -> None:
    """Exit 1, and one sentence with the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = subprocess.run([*DEMO, "--port", str(port)], capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603  # ourselves
    said = f"turnwire demo: cannot listen on 127.0.0.1 port {port}: {os.strerror(errno.EADDRINUSE)}\n"
    assert (ran.returncode, ran.stderr.decode()) == (1, said)
