"""How long an emission takes from the `send` that caused it until a reader of the log has it, at a steady pace."""

import time
from collections.abc import Callable

import attrs
import trio

from turnwire.messages.events import ItemDelta
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Message
from turnwire.runtime.bench.percentiles import percentiles
from turnwire.runtime.bench.workload import Shape, arrivals, encoded, turn_events
from turnwire.runtime.host import Runtime, open_runtime
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

PER_SECOND = 2_000
TURNS = 200
SECONDS = 8.0
TICK = 0.002  # seconds: events are sent as they would come from sockets, a few at a time


@attrs.frozen
class ReadLatency:
    """Milliseconds from `send` until `follow` gives the entry."""

    p50: float
    p99: float
    emissions: int


def measure_read_latency(
    url: str, prefix: str, *, seconds: float = SECONDS, progress: Callable[[], None] = lambda: None
) -> ReadLatency:
    """Send events at a steady pace to turns that are all followed, and time each text's way to its reader."""
    shape = Shape("", TURNS, round(PER_SECOND * seconds / TURNS), 1)
    return trio.run(_run, url, prefix, shape, progress)


async def _run(url: str, prefix: str, shape: Shape, progress: Callable[[], None]) -> ReadLatency:
    options = RedisLogOptions(prefix=prefix)
    watch = _Watch(shape)
    # The readers' log is one of its own, as in another process: nothing takes a short way.
    async with (
        open_redis_log(url, options=options) as log,
        open_redis_log(url, options=options) as readers_log,
        trio.open_nursery() as readers,
    ):
        for turn in range(shape.turns):
            readers.start_soon(watch.follow, readers_log, turn)
        async with open_runtime(sink=log) as runtime:
            await watch.send(runtime, progress)
    p50, p99 = percentiles(watch.waits)
    return ReadLatency(p50 * 1000, p99 * 1000, len(watch.waits))


class _Watch:
    """Knows when which length of a turn's text was sent, so that each state read can be traced to its cause."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._sent: list[dict[int, float]] = [{} for _ in range(shape.turns)]
        self.waits: list[float] = []

    async def send(self, runtime: Runtime, progress: Callable[[], None]) -> None:
        events = [tuple(turn_events(turn, self._shape.deltas)) for turn in range(self._shape.turns)]
        owners, data = arrivals(self._shape, encoded(events))
        growth = [
            len(event.payload.delta_content) if isinstance(event.payload, ItemDelta) else 0
            for event in arrivals(self._shape, events)[1]
        ]
        turns = [runtime.open_turn(turn_id=_name(turn), thread_id="th") for turn in range(self._shape.turns)]
        lengths = [0] * self._shape.turns
        begun = trio.current_time()
        for number, (turn, event) in enumerate(zip(owners, data, strict=True)):
            due = begun + number / PER_SECOND
            if due > trio.current_time() + TICK:
                await trio.sleep_until(due)
                progress()
            if growth[number]:
                lengths[turn] += growth[number]
                self._sent[turn][lengths[turn]] = time.perf_counter()
            await turns[turn].send(event)
        for open_turn in turns:
            await open_turn.aclose()

    async def follow(self, log: RedisLog, turn: int) -> None:
        async for entry in log.follow(_name(turn)):
            read_at = time.perf_counter()
            output = decode_output(entry.message.payload)
            # A complete state comes with the message's end, not with its last delta.
            if isinstance(output, Message) and output.status in {"create", "update"}:
                self.waits.append(read_at - self._sent[turn][len(output.content)])


def _name(turn: int) -> str:
    return f"run_{turn:016x}"
