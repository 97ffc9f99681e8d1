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


async def live_lines(source: BinaryIO) -> AsyncGenerator[bytes, None]:
    """Give lines as they come through a pipe, many per hop into the thread that waits for them."""
    rest = b""
    while chunk := await trio.to_thread.run_sync(os.read, source.fileno(), CHUNK, abandon_on_cancel=True):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest
