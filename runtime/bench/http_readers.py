"""How long an emission takes to a reader over HTTP, and what a reader costs that has nothing to read.

The service runs in a process of its own (http_side.py), the readers here, on bare sockets: what is measured is the
service, and not a client library.
"""

import re
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import attrs
import trio

from turnwire.runtime.bench.percentiles import percentiles

TURNS, READERS = 50, 1000
PER_SECOND = 100.0  # emissions, over all turns: each goes to 20 readers
SECONDS = 5.0

_MOMENT = re.compile(rb'"content":"([0-9]+)"')
_END = b'"turn_complete"'


@attrs.frozen(kw_only=True)
class HttpCosts:
    """Milliseconds from an emission to its reader; bytes of the service for each reader that waits."""

    turns: int
    readers: int
    events: int
    """Events that readers were given."""
    ended: int
    """Readers that saw their turn's end."""
    p50: float
    p99: float
    idle_reader_bytes: float | None
    """None where the system does not tell a process's memory."""


def measure_http(
    *,
    turns: int = TURNS,
    readers: int = READERS,
    per_second: float = PER_SECOND,
    seconds: float = SECONDS,
    repeats: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> HttpCosts:
    """Measure with so many readers, spread over so many turns; the quickest of some runs counts."""
    found: list[HttpCosts] = []
    for _ in range(repeats):
        found.append(trio.run(_measure, turns, readers, per_second, seconds))
        progress()
    return min(found, key=lambda costs: costs.p99)


class _Readers:
    """What all readers saw."""

    def __init__(self, count: int) -> None:
        self.waits: list[float] = []
        self.ended = 0
        self.all_up = trio.Event()
        self._missing = count

    async def read(self, url: str, turn_id: str) -> None:
        """Be one of them."""
        host, _, port = url.removeprefix("http://").partition(":")
        stream = await trio.open_tcp_stream(host, int(port))
        async with stream:
            await stream.send_all(f"GET /xapi/turns/{turn_id}/stream HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
            rest, is_up = b"", False
            while _END not in rest:
                piece = bytes(await stream.receive_some())
                now = time.monotonic_ns()
                if not piece:
                    return
                rest += piece
                if not is_up and b'"turn_started"' in rest:
                    is_up = True
                    self._count()
                moments = list(_MOMENT.finditer(rest))
                self.waits += ((now - int(moment[1])) / 1e6 for moment in moments)
                rest = rest[moments[-1].end() :] if moments else rest
            self.ended += 1

    def _count(self) -> None:
        self._missing -= 1
        if not self._missing:
            self.all_up.set()


async def _measure(turns: int, readers: int, per_second: float, seconds: float) -> HttpCosts:
    async with _open_side(turns, per_second, seconds) as (process, url):
        before = _memory_of(process.pid)
        seen = _Readers(readers)
        async with trio.open_nursery() as reading:
            for number in range(readers):
                reading.start_soon(seen.read, url, f"turn-{number % turns}")
            await seen.all_up.wait()
            after = _memory_of(process.pid)
            if process.stdin is not None:
                await process.stdin.send_all(b"go\n")
    p50, p99 = percentiles(seen.waits)
    return HttpCosts(
        turns=turns,
        readers=readers,
        events=len(seen.waits),
        ended=seen.ended,
        p50=p50,
        p99=p99,
        idle_reader_bytes=None if before is None or after is None else (after - before) / readers,
    )


@asynccontextmanager
async def _open_side(turns: int, per_second: float, seconds: float) -> AsyncGenerator[tuple[trio.Process, str], None]:
    command = [sys.executable, "-m", "turnwire.runtime.bench.http_side", str(turns), str(per_second), str(seconds)]
    process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE)
    try:
        url = b"" if process.stdout is None else bytes(await process.stdout.receive_some())
        if not url:
            raise RuntimeError("the service did not start; is turnwire[serve] installed?")
        yield process, url.decode().strip()
    finally:
        with trio.CancelScope(shield=True):
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    await stream.aclose()  # and so it ends
            with trio.move_on_after(10):
                await process.wait()
            process.kill()
            await process.wait()


def _memory_of(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    sizes = (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
    return next(sizes, None)
