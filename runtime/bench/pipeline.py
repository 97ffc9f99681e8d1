"""How much a turn costs from its way in to the sink, beside the floor, in one run."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

import attrs
import orjson
import trio

from turnwire.messages.events import StreamEvent
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.bench.floor import Floor
from turnwire.runtime.bench.workload import Shape, arrivals, encoded, turn_events
from turnwire.runtime.collector import collect_rarely
from turnwire.runtime.host import open_runtime

SHAPES = (
    Shape("(a) 1 turn × 20,000 deltas", 1, 20_000, 1),
    Shape("(b) 1,000 turns × 200 deltas, in rotation", 1_000, 200, 1),
    Shape("(c) 1,000 turns × 200 deltas, bursts of 8", 1_000, 200, 8),
    Shape("(d) 10,000 turns × 20 deltas, in rotation", 10_000, 20, 1),
)
SOURCES = ("bytes", "decoded", "bytes, service")
"""Where the events come from. A service keeps Python's collector out of the way (collector.py); the floor's too."""


@attrs.frozen(kw_only=True)
class PipelineRow:
    """One line of the table: best times of several runs, alternating with the floor's."""

    name: str
    source: str
    events: int
    emissions: int
    us_per_event: float
    floor_us_per_event: float

    @property
    def ratio(self) -> float:
        """How many times the floor."""
        return self.us_per_event / self.floor_us_per_event

    @property
    def events_per_second(self) -> float:
        """How many events fit into a second."""
        return 1e6 / self.us_per_event


class CountingSink:
    """A sink in memory: counts what it takes."""

    def __init__(self) -> None:
        self.emissions = 0
        self.bytes = 0

    async def __call__(self, message: StreamMessage) -> None:
        """Take one message."""
        self.emissions += 1
        self.bytes += len(message.payload)


def measure(shape: Shape, *, repeats: int = 3, progress: Callable[[], None] = lambda: None) -> Iterator[PipelineRow]:
    """Measure one shape: from JSON bytes, from events that were decoded before, from bytes in a service."""
    turns = tuple(tuple(turn_events(turn, shape.deltas)) for turn in range(shape.turns))
    wire = encoded(turns)
    for source in SOURCES:
        events = turns if source == "decoded" else wire
        best, best_floor, sink = float("inf"), float("inf"), CountingSink()
        with collect_rarely() if source == "bytes, service" else nullcontext():
            for _ in range(repeats):
                best_floor = min(best_floor, _time_floor(shape, wire, source))
                sink = CountingSink()
                best = min(best, trio.run(_time_turns, shape, events, sink))
                progress()
        yield PipelineRow(
            name=shape.name,
            source=source,
            events=shape.events,
            emissions=sink.emissions,
            us_per_event=best / shape.events * 1e6,
            floor_us_per_event=best_floor / shape.events * 1e6,
        )


def _time_floor(shape: Shape, wire: Sequence[Sequence[bytes]], source: str) -> float:
    _, data = arrivals(shape, wire)
    floor = Floor()
    if source != "decoded":
        started = time.perf_counter()
        floor.run_bytes(data)
        return time.perf_counter() - started
    decoded = tuple(orjson.loads(event) for event in data)
    started = time.perf_counter()
    floor.run_decoded(decoded)
    return time.perf_counter() - started


async def _time_turns(shape: Shape, events: Sequence[Sequence[bytes | StreamEvent]], sink: CountingSink) -> float:
    owners, data = arrivals(shape, events)
    async with open_runtime(sink=sink) as runtime:
        started = time.perf_counter()
        turns = [runtime.open_turn(turn_id=f"run_{turn:016x}", thread_id="th") for turn in range(shape.turns)]
        for turn, event in zip(owners, data, strict=True):
            await turns[turn].send(event)
        for open_turn in turns:
            await open_turn.aclose()
        return time.perf_counter() - started
