"""`turnwire serve` as an operator runs it: a process of its own, ended by its id."""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import attrs

PATIENCE = 30.0  # seconds


@attrs.define
class Serving:
    """A service in a process."""

    process: subprocess.Popen[bytes]
    url: str
    lines: Path
    """What it says on standard error."""

    def said(self, event: str) -> list[dict[str, object]]:
        """Give its log lines of this event."""
        found = (json.loads(line) for line in self.lines.read_text().splitlines() if line.startswith("{"))
        return [line for line in found if line["event"] == event]

    def wait_for(self, event: str) -> dict[str, object]:
        """Wait for a log line."""
        give_up_at = time.monotonic() + PATIENCE
        while not (found := self.said(event)):
            assert time.monotonic() < give_up_at, f"it did not say {event!r}:\n{self.lines.read_text()}"
            time.sleep(0.02)
        return found[-1]


@contextmanager
def open_serving(folder: Path, *arguments: str) -> Generator[Serving, None, None]:
    """Start a service on a free port, and kill it at the end if it still runs."""
    lines = folder / f"lines-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "serve", "--port", "0", *arguments]
    with lines.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)  # noqa: S603  # ourselves
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert url.startswith("http://"), lines.read_text()
        yield Serving(process, url, lines)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
