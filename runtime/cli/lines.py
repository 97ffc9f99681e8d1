"""Lines in, from a file or a pipe; lines out, as long as somebody takes them; and complaints about them."""

import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import trio

CHUNK = 64 * 1024  # bytes: what a pipe holds
MOST_COMPLAINTS = 10  # lines: more of them say no more, and push the first ones off the screen


def open_input(name: str | None) -> BinaryIO:
    """Open the named file; no name, or "-", is standard input. Raises OSError."""
    if name not in (None, "-"):
        return Path(str(name)).open("rb")
    given = cast("TextIO | None", sys.stdin)
    if given is None:
        raise OSError("standard input is closed")
    return given.buffer


def reason_of(error: Exception) -> str:
    """Say why something could not be read: of a file its name and what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class OutputError(Exception):
    """Standard output cannot be written to, for a reason other than that its reader has gone. For who started us."""

    def __init__(self, reason: str | None) -> None:
        super().__init__(f"cannot write to standard output: {reason or 'for no known reason'}")


def has_output() -> bool:
    """Is there a standard output? Python has None for a stream that was closed before we began."""
    return cast("TextIO | None", sys.stdout) is not None


def standard_output() -> BinaryIO:
    """Give where lines go. Raises OutputError if there is nowhere."""
    if not has_output():
        raise OutputError("it is closed")
    return sys.stdout.buffer


def write_out(text: bytes) -> None:
    """Write to standard output at once. Raises OutputError, or BrokenPipeError when nobody reads any more."""
    output = standard_output()
    with _told_apart():
        output.write(text)
        output.flush()


def flush_out() -> None:
    """Have all that was written go out. Raises as `write_out` does; no output at all is fine."""
    if has_output():
        with _told_apart():
            sys.stdout.flush()


@contextmanager
def _told_apart() -> Generator[None, None, None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise OutputError(exc.strerror) from exc


class Complaints:
    """Names bad lines on standard error, the first `most` of them, and knows how many there were."""

    def __init__(self, *, most: float = MOST_COMPLAINTS) -> None:
        self.count = 0
        self._most = most

    def add(self, number: int, problem: object) -> None:
        """Complain about one line, counted from 1."""
        self.count += 1
        if self.count <= self._most:
            print(f"turnwire: line {number}: {problem}", file=sys.stderr)

    def end(self) -> bool:
        """Say how many were not named; give whether there were any at all."""
        if self.count > self._most:
            print(f"turnwire: and {self.count - self._most:.0f} more bad lines", file=sys.stderr)
        return self.count > 0


class LineWriter:
    """Writes lines to standard output. When its reader has gone, `until_broken` is cancelled: the run is over."""

    def __init__(self, *, flush: bool) -> None:
        self.until_broken = trio.CancelScope()
        self._stream = standard_output()
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
        """Raise what ended the run early, if something did: BrokenPipeError or OutputError."""
        with _told_apart():
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
