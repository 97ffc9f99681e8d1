"""Lines in, from a file or a pipe, and complaints about them out."""

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import BinaryIO

import trio

CHUNK = 64 * 1024  # bytes: what a pipe holds


def open_input(name: str | None) -> BinaryIO:
    """Open the named file; no name, or "-", is standard input."""
    return sys.stdin.buffer if name in (None, "-") else Path(str(name)).open("rb")


class Complaints:
    """Names bad lines on standard error, and knows whether there were any."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, number: int, problem: object) -> None:
        """Complain about one line, counted from 1."""
        self.count += 1
        print(f"turnwire: line {number}: {problem}", file=sys.stderr)


class LineWriter:
    """Writes lines to standard output. When its reader has gone, `until_broken` is cancelled: the run is over."""

    def __init__(self, stream: BinaryIO, *, flush: bool) -> None:
        self.until_broken = trio.CancelScope()
        self._stream = stream
        self._flush = flush
        self._broken: OSError | None = None

    def write(self, line: bytes) -> None:
        """Write one line."""
        try:
            self._stream.write(line + b"\n")
            if self._flush:
                self._stream.flush()
        except OSError as exc:  # no trouble of a sink, which would be tried again: nobody is left to write for
            self._broken = exc
            self.until_broken.cancel()

    def raise_if_broken(self) -> None:
        """Raise what ended the run early, if something did."""
        if self._broken is not None:
            raise self._broken


async def live_lines(source: BinaryIO) -> AsyncGenerator[bytes, None]:
    """Give lines as they come through a pipe, many per hop into the thread that waits for them."""
    rest = b""
    while chunk := await trio.to_thread.run_sync(os.read, source.fileno(), CHUNK, abandon_on_cancel=True):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest
