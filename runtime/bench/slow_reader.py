"""What a slow reader costs the others: a long turn with a fast reader alone, and with one beside it that dawdles.

Each run is a process of its own, so that what the slow reader keeps in memory can be told apart. Both readers are in
the process of the turn: a slow reader elsewhere would prove nothing.
"""

import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import attrs
import trio

from turnwire.actors.turn import Turn
from turnwire.messages.folds import SnapshotFold
from turnwire.messages.output_codec import decode_output, encode_output
from turnwire.runtime.bench.workload import turn_events
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

DELTAS = 100_000
PER_SECOND = 20_000  # deltas: fast for a model, slow enough that a reader who keeps up sees every state
TICK = 0.002  # seconds
PAUSE = 1.0  # seconds that the slow reader takes over each entry
TURN_ID = "run_0000000000000000"
KIB = 1024


@attrs.frozen(kw_only=True)
class Reading:
    """One run."""

    turn_seconds: float
    """From the first event until the turn's last emission was taken."""
    fast_seconds: float
    """From the first event until the fast reader had the terminal."""
    entries: int
    """How many entries the fast reader was given."""
    peak_bytes: int
    """The process's memory at its largest."""
    slow_entries: int = 0
    is_same: bool = True
    """Did the slow reader end up with what the fast one did?"""


@attrs.frozen(kw_only=True)
class SlowReader:
    """Both kinds of run beside each other: the best of each."""

    alone: Reading
    beside: Reading

    @property
    def turn_ratio(self) -> float:
        """How much longer the turn took beside a slow reader."""
        return self.beside.turn_seconds / self.alone.turn_seconds

    @property
    def fast_ratio(self) -> float:
        """How much later the fast reader came to the end."""
        return self.beside.fast_seconds / self.alone.fast_seconds

    @property
    def extra_bytes(self) -> int:
        """What the slow reader added to the memory of the process."""
        return self.beside.peak_bytes - self.alone.peak_bytes


def measure_slow_reader(
    url: str,
    prefix: str,
    *,
    repeats: int = 3,
    deltas: int = DELTAS,
    pause: float = PAUSE,
    progress: Callable[[], None] = lambda: None,
) -> SlowReader:
    """Run with and without, alternating."""
    runs: dict[bool, list[Reading]] = {False: [], True: []}
    for number in range(repeats):
        for slow in (False, True):
            name = f"{prefix}-{number}-{slow:d}"
            command = [sys.executable, "-m", __name__, url, name, str(deltas), str(pause if slow else 0.0)]
            found = subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # ourselves
            runs[slow].append(Reading(**json.loads(found.stdout)))
            progress()
    alone, beside = (min(runs[slow], key=lambda run: run.fast_seconds) for slow in (False, True))
    return SlowReader(alone=alone, beside=attrs.evolve(beside, is_same=all(run.is_same for run in runs[True])))


async def _run(url: str, prefix: str, deltas: int, pause: float) -> Reading:
    async with open_redis_log(url, options=RedisLogOptions(prefix=prefix)) as log:
        await log.ping()
        fast_reader, slow_reader = _Reader(), _Reader(pause=pause)
        async with trio.open_nursery() as readers:
            readers.start_soon(fast_reader.follow, log)
            if pause:
                readers.start_soon(slow_reader.follow, log)
            async with open_runtime(sink=log) as runtime:
                began = time.perf_counter()
                async with runtime.open_turn(turn_id=TURN_ID, thread_id="th") as turn:
                    await _send(turn, deltas)
                turn_seconds = time.perf_counter() - began
    return Reading(
        turn_seconds=turn_seconds,
        fast_seconds=fast_reader.ended_at - began,
        entries=fast_reader.entries,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KIB),
        slow_entries=slow_reader.entries,
        is_same=not pause or slow_reader.digest() == fast_reader.digest(),
    )


async def _send(turn: Turn, deltas: int) -> None:
    begun = trio.current_time()
    for number, event in enumerate(turn_events(0, deltas)):
        due = begun + number / PER_SECOND
        if due > trio.current_time() + TICK:
            await trio.sleep_until(due)
        await turn.send(event)


class _Reader:
    """Follows the turn, folds what it is given, and takes its time over it."""

    def __init__(self, *, pause: float = 0.0) -> None:
        self._pause = pause
        self._fold = SnapshotFold()
        self.entries = 0
        self.ended_at = 0.0

    async def follow(self, log: RedisLog) -> None:
        async for entry in log.follow(TURN_ID):
            self.entries += 1
            self._fold.push(decode_output(entry.message.payload))
            if self._pause:
                await trio.sleep(self._pause)
        self.ended_at = time.perf_counter()

    def digest(self) -> str:
        """What it knows in the end, in short."""
        outputs = "\n".join(map(encode_output, self._fold.snapshot().outputs))
        return hashlib.sha256(outputs.encode()).hexdigest()


if __name__ == "__main__":
    print(json.dumps(attrs.asdict(trio.run(_run, sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))))
