"""How long an emission takes from the `send` that caused it to the sink, at a steady pace over many turns."""

import time
from collections.abc import Callable

import attrs
import trio

from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.bench.percentiles import percentiles
from turnwire.runtime.bench.workload import Shape, arrivals, encoded, turn_events
from turnwire.runtime.host import open_runtime

PER_SECOND = 5_000
TURNS = 100
SECONDS = 4
TICK = 0.002  # seconds: ten events at a time, what a socket would bring at this pace


@attrs.frozen
class Latency:
    """Milliseconds from `send` to the sink."""

    p50: float
    p99: float
    emissions: int


def measure_latency(*, seconds: float = SECONDS, progress: Callable[[], None] = lambda: None) -> Latency:
    """Send events at a steady pace and time the emissions that they cause at once."""
    shape = Shape("", TURNS, round(PER_SECOND * seconds / TURNS), 1)
    return trio.run(_send_steadily, shape, progress)


async def _send_steadily(shape: Shape, progress: Callable[[], None]) -> Latency:
    owners, data = arrivals(shape, encoded([tuple(turn_events(turn, shape.deltas)) for turn in range(shape.turns)]))
    sent: dict[str, float] = {}
    waits: list[float] = []

    async def sink(message: StreamMessage) -> None:
        # The newest event of the turn is the one that caused this emission, or came with it in one tick.
        waits.append(time.perf_counter() - sent[message.turn_id])

    async with open_runtime(sink=sink) as runtime:
        names = [f"run_{turn:016x}" for turn in range(shape.turns)]
        turns = [runtime.open_turn(turn_id=name, thread_id="th") for name in names]
        begun = trio.current_time()
        for number, (turn, event) in enumerate(zip(owners, data, strict=True)):
            due = begun + number / PER_SECOND
            if due > trio.current_time() + TICK:
                await trio.sleep_until(due)
                progress()
            sent[names[turn]] = time.perf_counter()
            await turns[turn].send(event)
        for open_turn in turns:
            await open_turn.aclose()
    p50, p99 = percentiles(waits)
    return Latency(p50 * 1000, p99 * 1000, len(waits))
