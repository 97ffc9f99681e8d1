"""Worker processes for the chaos: started, killed, frozen and thawed by name; what they log is what they did."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs

ROOT = Path(__file__).parent.parent.parent
CLAIM_IDLE = 1.0
HEARTBEAT = 0.3


@attrs.frozen
class Line:
    """One log line of a worker."""

    at: float
    worker: str
    event: str
    turn: str
    epoch: int


class Fleet:
    """All workers on one server. As a context manager, whatever still runs at the end is killed."""

    def __init__(self, url: str, prefix: str, work: Path, **settings: float) -> None:
        self._url = url
        self._work = work
        self._settings = {
            "redis.prefix": prefix,
            "redis.socket_timeout": 1.0,
            "worker.claim_idle": CLAIM_IDLE,
            "worker.heartbeat": HEARTBEAT,
            "turn.batch_gradient": "4",
            "turn.retry_base": 0.05,
            "turn.retry_max": 0.5,
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
        self._started = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, count: int = 1) -> None:
        """Start workers, under names that none has had."""
        for _ in range(count):
            name = f"w{self._started}"
            self._started += 1
            settings = {**self._settings, "worker.name": name}
            assignments = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
            command = [sys.executable, "-m", "turnwire.runtime.cli.main", "worker", "--redis", self._url, *assignments]
            with (self._work / f"{name}.log").open("wb") as lines:
                self.processes[name] = subprocess.Popen(command, cwd=ROOT, stderr=lines)  # noqa: S603  # ourselves

    def kill(self, name: str) -> float:
        """End one as a power cut would; give when."""
        at = time.time()
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        return at

    def signal(self, name: str, number: signal.Signals) -> float:
        """Send a signal to one; give when."""
        at = time.time()
        self.processes[name].send_signal(number)
        return at

    def lines(self, name: str | None = None) -> list[Line]:
        """Give what they logged so far, in the order of time."""
        paths = self._work.glob("w*.log") if name is None else [self._work / f"{name}.log"]
        return sorted((line for path in paths for line in _read(path)), key=lambda line: line.at)

    def live(self, name: str) -> set[str]:
        """Give the turns that one has, as far as it has said."""
        turns: set[str] = set()
        for line in self.lines(name):
            if line.event == "claimed":
                turns.add(line.turn)
            elif line.event in {"fenced", "finished"} or line.event.startswith("turn let go"):
                turns.discard(line.turn)
        return turns

    def up(self) -> list[str]:
        """Name those that have got going; waits for the first one."""
        names: list[str] = []

        def look() -> bool:
            started = {line.worker for line in self.lines() if line.event == "worker started"}
            names[:] = [name for name in self.processes if name in started]
            return bool(names)

        wait_for(look, "a worker is up")
        return names

    def wait_until_up(self) -> None:
        """Wait until every one has said that it is there."""
        for name in self.processes:
            wait_for(
                lambda name=name: any(line.event == "worker started" for line in self.lines(name)), f"{name} is up"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self.processes):
            self.kill(name)


def wait_for(condition: Any, what: str, patience: float = 60.0) -> float:
    """Wait until something is so; give how long that took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + patience:
            raise TimeoutError(f"after {patience:g} s still not so: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


def _read(path: Path) -> Iterator[Line]:
    for text in path.read_text().splitlines():
        with suppress(ValueError, KeyError):  # a line that is not finished yet, or a trace
            said = json.loads(text)
            at = datetime.fromisoformat(said["timestamp"]).timestamp()
            yield Line(at, path.stem, said["event"], said.get("turn", ""), said.get("epoch", 0))
