"""Whether a delta costs more as the text grows: one item, ever longer, with the emitted bytes taken off.

Full-state emission writes the whole text again and again; that is the format's price and grows with the text. What is
left when it is taken off must not.
"""

import time
from collections.abc import Callable, Iterator

import attrs
import trio

from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import Message, StreamMessage
from turnwire.runtime.bench.workload import encoded, turn_events
from turnwire.runtime.host import open_runtime

LENGTHS = (10_000, 40_000, 160_000)


@attrs.frozen(kw_only=True)
class GrowthRow:
    """µs per delta at one length: all of it, and without what the emissions' text cost to join and encode."""

    deltas: int
    us_per_delta: float
    us_without_bytes: float


def measure_growth(*, repeats: int = 3, progress: Callable[[], None] = lambda: None) -> Iterator[GrowthRow]:
    """Measure each length; best of several runs."""
    for deltas in LENGTHS:
        data = encoded([tuple(turn_events(0, deltas))])[0]
        whole = emitting = float("inf")
        for _ in range(repeats):
            sizes: list[int] = []
            whole = min(whole, trio.run(_send_all, data, sizes))
            emitting = min(emitting, _cost_of_bytes(sizes))
            progress()
        yield GrowthRow(
            deltas=deltas,
            us_per_delta=whole / deltas * 1e6,
            us_without_bytes=(whole - emitting) / deltas * 1e6,
        )


async def _send_all(data: tuple[bytes, ...], sizes: list[int]) -> float:
    async def sink(message: StreamMessage) -> None:
        sizes.append(len(message.payload))

    async with open_runtime(sink=sink) as runtime:
        started = time.perf_counter()
        async with runtime.open_turn(turn_id="run_0000000000000000", thread_id="th") as turn:
            for event in data:
                await turn.send(event)
        return time.perf_counter() - started


def _cost_of_bytes(sizes: list[int]) -> float:
    """Join and encode texts of these sizes, as the emissions did."""
    half = "x" * (max(sizes, default=0) // 2)
    started = time.perf_counter()
    for size in sizes:
        text = "".join((half[: size // 2], half[: size - size // 2]))
        encode_output(Message(turn_id="t", thread_id="t", item_id="i", status="update", content=text, origin="agent"))
    return time.perf_counter() - started
