"""How many emissions a second get from `send` into Redis, beside what redis-benchmark makes of the same entries.

Every delta makes an emission here, so this measures the path of an emission (turn, writer, group commit, Redis) and not
that of a delta. The floor is redis-benchmark: entries of the same size under as many keys, as many in a pipeline as we
had on average, over one connection. It sends one command, worded once, over and over, and looks at no reply: it shows
what the server can take. The log alone, given messages made before and as many at once as a turn's writer hands over,
says how much of the path is the log's. redis-py, with nothing to do but to send one entry over and over, says how near
a client in Python gets to the floor. Python's collector is set as a service sets it (collector.py).
"""

import time
from collections.abc import Callable, Sequence

import attrs
import trio

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.writer import AT_ONCE
from turnwire.messages.event_codec import encode_event
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.bench.redis_floor import run_redis_benchmark, run_redis_py
from turnwire.runtime.bench.workload import turn_events
from turnwire.runtime.collector import collect_rarely
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

TURNS = 200
DELTAS = 400  # of 4.3 characters on average: entries of 1 kB on average, as long as a paragraph
# Every delta is emitted, and none conflated: the bench would otherwise count what was never written.
OPTIONS = TurnOptions(batch_gradient=(1,), outbox_limit=10_000, patience=float("inf"), retry_attempts=None)


@attrs.frozen(kw_only=True)
class RedisPath:
    """What the path of an emission costs."""

    emissions: int
    entry_bytes: int
    """Mean size of a payload."""
    batch: float
    """Mean number of entries in a pipeline."""
    per_second: float
    cpu_us: float
    """CPU time of this process per emission, all threads together."""
    log_per_second: float
    log_cpu_us: float
    """The same of the log alone: as many tasks as turns append messages that are there already, many at once."""
    redis_py_per_second: float = 0.0
    """What plain redis-py does in a second, with entries that are there already."""
    benchmark_per_second: float | None = None
    """What redis-benchmark does in a second; None where it is not installed."""

    @property
    def ratio(self) -> float | None:
        """Our share of what redis-benchmark does."""
        return self._share(self.per_second)

    @property
    def log_ratio(self) -> float | None:
        """The log's share of what redis-benchmark does."""
        return self._share(self.log_per_second)

    @property
    def redis_py_ratio(self) -> float | None:
        """The share of redis-py's own pipelines."""
        return self._share(self.redis_py_per_second)

    def _share(self, per_second: float) -> float | None:
        return None if self.benchmark_per_second is None else per_second / self.benchmark_per_second


def measure_path(url: str, prefix: str, *, repeats: int = 3, progress: Callable[[], None] = lambda: None) -> RedisPath:
    """Run all of them, one after the other, `repeats` times; the best run of each counts."""
    events = [tuple(map(encode_event, turn_events(turn, DELTAS))) for turn in range(TURNS)]
    runs: list[RedisPath] = []
    plain: list[float] = []
    floors: list[float] = []
    for number in range(repeats):
        with collect_rarely():
            found = trio.run(_time_path, url, f"{prefix}-{number}", events)
        runs.append(found)
        like_ours = {"payload_bytes": found.entry_bytes, "pipeline": round(found.batch), "keys": TURNS}
        plain.append(run_redis_py(url, f"{prefix}-plain", **like_ours))
        floor = run_redis_benchmark(url, f"{prefix}-floor", **like_ours)
        floors.extend([floor] if floor is not None else [])
        progress()
    best, best_log = max(runs, key=lambda run: run.per_second), max(runs, key=lambda run: run.log_per_second)
    return attrs.evolve(
        best,
        log_per_second=best_log.log_per_second,
        log_cpu_us=best_log.log_cpu_us,
        redis_py_per_second=max(plain),
        benchmark_per_second=max(floors, default=None),
    )


async def _time_path(url: str, prefix: str, events: Sequence[Sequence[bytes]]) -> RedisPath:
    async with open_redis_log(url, options=RedisLogOptions(prefix=prefix)) as log:
        await log.ping()
        async with open_runtime(sink=log, options=OPTIONS) as runtime:
            began, cpu = time.perf_counter(), time.process_time()
            turns = [runtime.open_turn(turn_id=f"run_{turn:016x}", thread_id="th") for turn in range(len(events))]
            for number in range(len(events[0])):
                for turn, mine in zip(turns, events, strict=True):
                    await turn.send(mine[number])
            for turn in turns:
                await turn.aclose()
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        emissions, rounds = log.counts.appended, log.counts.rounds
        entries = await log.read("run_0000000000000000")  # all turns are alike
        log_seconds, log_cpu = await _time_log(log, [entry.message for entry in entries], len(events))
    written = len(entries) * len(events)
    return RedisPath(
        emissions=emissions,
        entry_bytes=sum(len(entry.message.payload) for entry in entries) // len(entries),
        batch=emissions / rounds,
        per_second=emissions / seconds,
        cpu_us=cpu / emissions * 1e6,
        log_per_second=written / log_seconds,
        log_cpu_us=log_cpu / written * 1e6,
    )


async def _time_log(log: RedisLog, messages: Sequence[StreamMessage], turns: int) -> tuple[float, float]:
    """Write one turn's messages again, as those of many other turns; give seconds and seconds of CPU."""
    copies = [
        [
            attrs.evolve(message, turn_id=f"alone_{turn:x}", event_id=f"alone_{turn:x}:1-{number}")
            for number, message in enumerate(messages, 1)
        ]
        for turn in range(turns)
    ]

    async def append_all(mine: Sequence[StreamMessage]) -> None:
        while mine:
            mine = mine[await log.append_many(mine[:AT_ONCE]) :]

    began, cpu = time.perf_counter(), time.process_time()
    async with trio.open_nursery() as nursery:
        for mine in copies:
            nursery.start_soon(append_all, mine)
    return time.perf_counter() - began, time.process_time() - cpu
