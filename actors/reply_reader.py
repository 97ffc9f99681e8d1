"""Reads one reply of a model to its end, or to where it is broken off; and closes its stream whatever happens."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import trio

from turnwire.actors.engine_ports import ModelStream
from turnwire.actors.stream_ends import read_out
from turnwire.messages.events import StreamEvent

log = logging.getLogger("turnwire.engine")

LINGER = 1.0
"""Seconds that a stream has for ending by itself after its terminal: a connection read to its end is used again."""


class ReplyReader:
    """Reads one stream, once."""

    def __init__(self, stream: ModelStream, *, grace: float) -> None:
        self.stream = stream
        self.closing: Sequence[StreamEvent] = ()
        """What the stream had to say to being broken off (C9)."""
        self._grace = grace

    async def run(
        self, take: Callable[[Sequence[StreamEvent]], bool], wait_for_room: Callable[[], Awaitable[object]]
    ) -> None:
        """Hand over what comes. `take` says whether more is wanted; what comes after that is passed over."""
        replies = aiter(self.stream)
        try:
            async for events in replies:
                if not take(events):
                    break
                await wait_for_room()
            await read_out(replies, seconds=LINGER, log=log)
        except trio.Cancelled:
            self._abort()
            raise
        finally:
            with trio.move_on_after(self._grace, shield=True):
                await _close(replies, self.stream)

    def _abort(self) -> None:
        try:
            self.closing = self.stream.abort()
        except Exception:
            log.exception("a model's stream could not be aborted")


async def _close(*closed: object) -> None:
    """Close a stream, and its iterator where that is an async generator: one is not left for the garbage collector."""
    for each in closed:
        aclose = getattr(each, "aclose", None)
        try:
            if aclose is not None:
                await aclose()
        except Exception:
            log.exception("a model's stream could not be closed")
