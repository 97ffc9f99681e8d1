"""Many readers at once: a thousand on fifty live turns of one process, what they cost, and all of them back at once."""

import json
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
import trio

from tests.kit.serving import open_serving
from tests.kit.sse import SseStream, open_sse
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import StreamEvent

TURNS, READERS = 50, 1000
MOST_PER_READER = 40 * 1024  # bytes
NDJSON = {"content-type": "application/x-ndjson"}


@attrs.define
class Reader:
    """One of many: reads a turn, may be dropped, and comes back where it was."""

    url: str
    turn: str
    last_id: str = ""
    states: dict[str, Any] = attrs.field(factory=dict[str, Any])
    ids: list[str] = attrs.field(factory=list[str])
    connections: int = 0

    async def read(self, *, until: str) -> None:
        """Read until an item has this text, or to the end (`end`)."""
        headers = {"last-event-id": self.last_id} if self.last_id else {}
        async with open_sse(self.url, f"/xapi/turns/{self.turn}/stream", headers=headers) as stream:
            assert stream.status == 200, await stream.read_all()
            self.connections += 1
            await self._read(stream, until)

    async def _read(self, stream: SseStream, until: str) -> None:
        async for event in stream:
            state = json.loads(event.data)
            self.ids.append(event.last_id)
            self.last_id = event.last_id
            self.states[state.get("itemId", state["type"])] = state
            if until == state["type"] or until in state.get("content", ""):
                return
        assert until == "end"


def memory_of(pid: int) -> int:
    """Give the bytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def publish(http: httpx.AsyncClient, *events: StreamEvent) -> None:
    """Write the same events to every run."""

    async def one(number: int) -> None:
        lines = b"\n".join(encode_event(attrs.evolve(event, run_id=f"r{number}")) for event in _of(number, events))
        answer = await http.post(f"/api/v2/runs/r{number}/events", content=lines, headers=NDJSON)
        assert answer.status_code == 202, answer.text

    async with trio.open_nursery() as nursery:
        for number in range(TURNS):
            nursery.start_soon(one, number)


def _of(number: int, events: tuple[StreamEvent, ...]) -> list[StreamEvent]:
    return [started(f"t{number}", "th") if it.payload.__class__.__name__ == "ResponseStart" else it for it in events]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
async def test_a_thousand_readers_of_fifty_turns(tmp_path: Path) -> None:
    """All end right; idle ones cost little; dropped and back at once, none has a gap."""
    settings = ["--set", "turn.batch_gradient=1", "--quiet", "--set", "turn.max_latency=0.2"]
    with open_serving(tmp_path, *settings) as serving:
        readers = [Reader(serving.url, f"t{number % TURNS}") for number in range(READERS)]
        async with httpx.AsyncClient(base_url=serving.url, timeout=60) as http:
            await publish(http, started())
            before = memory_of(serving.process.pid)
            with trio.fail_after(90):
                await _first_half(readers, http, serving.process.pid, before)
                async with trio.open_nursery() as back:  # all of them at once, where they were
                    for reader in readers:
                        back.start_soon(lambda it: it.read(until="end"), reader)
                    await publish(http, delta("m", "and now "), said("m", "Hello and now goodbye"), finished())
        assert serving.process.poll() is None
        assert serving.lines.read_text() == ""  # nothing that somebody might have to act on
    wanted = {"turn_started", "m", "turn_complete"}
    for reader in readers:
        assert set(reader.states) == wanted
        assert (reader.states["m"]["status"], reader.states["m"]["content"]) == ("complete", "Hello and now goodbye")
        places = [tuple(map(int, it.split("-"))) for it in reader.ids]
        assert places == sorted(set(places))  # nothing twice, nothing out of order
        assert reader.connections == 2


async def _first_half(readers: list[Reader], http: httpx.AsyncClient, pid: int, before: int) -> None:
    up = 0
    all_up = trio.Event()

    async def read(reader: Reader) -> None:
        nonlocal up
        async with open_sse(reader.url, f"/xapi/turns/{reader.turn}/stream") as stream:
            reader.connections += 1
            await reader._read(stream, "turn_started")
            up += 1
            if up == len(readers):
                all_up.set()
            await reader._read(stream, "Hello")

    async with trio.open_nursery() as reading:
        for reader in readers:
            reading.start_soon(read, reader)
        await all_up.wait()
        each = (memory_of(pid) - before) / len(readers)
        print(f"{each / 1024:.1f} KiB for each idle reader")
        assert each <= MOST_PER_READER
        await publish(http, begin("m"), delta("m", "Hello "))
