"""A whole turn, run for a test: events in, and all that its readers were told, with the time of each."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import Any, TypeAlias

import attrs
import trio

from turnwire.actors.backend import require_trio
from turnwire.actors.core.options import TurnOptions
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ResponseStart, StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.runtime.host import open_runtime
from turnwire.runtime.record import Recorded, play_turn

TURN, THREAD = "turn-1", "thread-1"  # for a stream that names none itself

Events: TypeAlias = AsyncIterable[StreamEvent | bytes | str] | Iterable[StreamEvent | bytes | str] | Iterable[Recorded]
"""What a turn can be made of: a stream, a list of events, or a recording, which is played in its own time."""


@attrs.frozen(kw_only=True)
class CollectedTurn:
    """What a turn came to."""

    messages: tuple[StreamMessage, ...]
    """Each message that the sink was given, in order."""
    times: tuple[float, ...]
    """When, in seconds of Trio's clock since the turn was opened: exact under a mock clock."""
    snapshot: TurnSnapshot
    """What a reader knows at the end."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the messages say."""
        return tuple(decode_output(message.payload) for message in self.messages)


async def collect_turn(
    events: Events, *, options: TurnOptions | None = None, turn_id: str | None = None, thread_id: str | None = None
) -> CollectedTurn:
    """Run a turn from its events to its last emission. Its ids are those of its response_start, unless given."""
    require_trio("collect_turn", instead="mark the test for pytest-trio, or run it with trio.run")
    stream = _as_stream(events)
    first = await anext(stream, None)
    begun = decode_event(first) if isinstance(first, bytes | str) else first
    start = begun.payload if begun is not None and isinstance(begun.payload, ResponseStart) else None
    messages: list[StreamMessage] = []
    times: list[float] = []
    opened_at = trio.current_time()

    async def sink(message: StreamMessage) -> None:
        messages.append(message)
        times.append(trio.current_time() - opened_at)

    async with open_runtime(sink=sink, options=options) as runtime:
        snapshot = await runtime.run_turn(
            _with_first(first, stream),
            turn_id=turn_id or (start.turn_id if start else TURN),
            thread_id=thread_id or (start.thread_id if start else THREAD),
        )
    return CollectedTurn(messages=tuple(messages), times=tuple(times), snapshot=snapshot)


async def _as_stream(events: Events) -> AsyncGenerator[StreamEvent | bytes | str, None]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
        return
    several = list[Any](events)
    if several and isinstance(several[0], Recorded):
        async for played in play_turn(several):
            yield played
    else:
        for event in several:
            yield event


async def _with_first(
    first: StreamEvent | bytes | str | None, rest: AsyncGenerator[StreamEvent | bytes | str, None]
) -> AsyncGenerator[StreamEvent | bytes | str, None]:
    try:
        if first is not None:
            yield first
        async for event in rest:
            yield event
    finally:
        await rest.aclose()
