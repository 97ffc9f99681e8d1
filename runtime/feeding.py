"""A whole turn from a stream of events, on whatever loop the stream and the turn are awaited."""

from collections.abc import AsyncIterable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from turnwire.actors.stream_ends import closing
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot


class FedTurn(Protocol):
    """What a stream needs of its turn."""

    async def send(self, event: StreamEvent | bytes | str) -> None:
        """Take one event."""
        ...

    def snapshot(self) -> TurnSnapshot:
        """Give what a reader knows by now."""
        ...


async def feed_turn(
    events: AsyncIterable[StreamEvent | bytes | str],
    open_turn: Callable[[], AbstractAsyncContextManager[FedTurn]],
    on_invalid: Callable[[InvalidEventError], object] | None = None,
) -> TurnSnapshot:
    """Open a turn, send it every event, close it, and give what a reader then knows.

    A malformed event raises, unless `on_invalid` is there to take note of it. The stream is closed at the end, if it
    can be: it is not left half read for the garbage collector.
    """
    async with closing(events), open_turn() as turn:
        async for event in events:
            try:
                await turn.send(event)
            except InvalidEventError as exc:
                if on_invalid is None:
                    raise
                on_invalid(exc)
    return turn.snapshot()
