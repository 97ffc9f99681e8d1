"""A turn as an asyncio host holds it: the same words as a Turn's, awaited on the host's loop.

Most of a turn is synchronous, and host and guest share a thread: only what has to wait crosses over.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import trio

from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.turn import CHECKPOINT_EVERY, Turn
from turnwire.messages.errors import ClosedError
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.runtime.hosting.block import Block

_T = TypeVar("_T")


class AnyTurn(Protocol):
    """A turn, whichever loop its host runs. What each of these does is told by `turnwire.actors.turn.Turn`."""

    turn_id: str

    async def send(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn."""
        ...

    def send_nowait(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn, or raise trio.WouldBlock."""
        ...

    async def flush(self) -> None:
        """Have everything up to here emitted and taken."""
        ...

    async def fail(self, code: str, message: str) -> None:
        """End the turn with `turn_error`."""
        ...

    async def wait_end(self) -> TurnSnapshot:
        """Wait for the end."""
        ...

    def snapshot(self) -> TurnSnapshot:
        """Give what a reader knows by now."""
        ...

    def buffers(self) -> dict[str, BufferInfo]:
        """Look at the live items."""
        ...

    @property
    def counts(self) -> dict[str, int]:
        """How often something was ignored."""
        ...

    @property
    def is_open(self) -> bool:
        """Does it take events?"""
        ...

    def cancel(self) -> None:
        """Stop at once."""
        ...

    async def aclose(self) -> None:
        """End the turn."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class GuestTurn:
    """One open turn in the hands of an asyncio host. Made by `hosted.open_turn`; leaving its block closes it."""

    __slots__ = ("_block", "_left", "_turn", "turn_id")

    def __init__(self, turn: Turn, block: Block[Any]) -> None:
        self.turn_id = turn.turn_id
        self._turn = turn
        self._block = block
        self._left = CHECKPOINT_EVERY

    async def send(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn; lets the loop run at least every 64 events, not at each.

        Crosses over only where it has to wait: for room in the turn's channel, or for a raw log.
        """
        self._left -= 1
        if self._left <= 0:  # first of all: whoever is cancelled here has sent nothing
            self._left = CHECKPOINT_EVERY
            await asyncio.sleep(0)
        turn = self._turn
        if turn.gate is None:
            try:
                return turn.send_nowait(event)
            except trio.WouldBlock:
                pass
        return await self._call(partial(turn.send, event), "send to")

    def send_nowait(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn, or raise trio.WouldBlock where `send` would wait."""
        self._turn.send_nowait(event)

    async def flush(self) -> None:
        """Emit all text not yet emitted, and wait until the sink has taken everything up to here."""
        await self._call(self._turn.flush, "flush of")

    async def fail(self, code: str, message: str) -> None:
        """End the turn with `turn_error`, behind everything sent before."""
        await self._call(partial(self._turn.fail, code, message), "failing of")

    async def wait_end(self) -> TurnSnapshot:
        """Wait until the turn has ended and its last emission was taken; give what a reader now knows."""
        return await self._call(self._turn.wait_end, "waiting for")

    def snapshot(self) -> TurnSnapshot:
        """Give what a reader knows by now."""
        return self._turn.snapshot()

    def buffers(self) -> dict[str, BufferInfo]:
        """Look at the live items, everything sent before included."""
        return self._turn.buffers()

    @property
    def counts(self) -> dict[str, int]:
        """How often something was ignored, by what it was; and how many emissions were conflated."""
        return self._turn.counts

    @property
    def is_open(self) -> bool:
        """Does the turn still take events that have an effect?"""
        return self._turn.is_open

    def cancel(self) -> None:
        """Stop the turn at once: nothing is flushed, nothing more reaches the sink, no terminal is made."""
        self._turn.cancel()

    async def aclose(self) -> None:
        """End the turn: flush, then wait until the last emission was accepted or refused. Twice is fine."""
        await self._close(self._turn.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        leave = partial(self._turn.__aexit__, kind, exc, trace)
        try:
            # A cancelled asyncio task may wait for as long as it likes. A turn gives a cancelled host its grace time.
            await self._close(leave, is_cancelled=isinstance(exc, asyncio.CancelledError))
        except ClosedError:  # the whole system is closing, and closes the turn
            if exc is None:
                raise

    async def _close(self, leave: Callable[[], Awaitable[None]], *, is_cancelled: bool = False) -> None:
        if self._turn.actor.ended:
            await leave()  # there is nothing to wait for, so it may run here; also after the system's end
        elif is_cancelled:
            await self._block.clean_up(leave, name=f"closing of turn {self.turn_id}")
        else:
            await self._call(leave, "closing of")

    async def _call(self, work: Callable[[], Awaitable[_T]], what: str) -> _T:
        return await self._block.call(work, name=f"{what} turn {self.turn_id}")
