"""A conversation as an asyncio host holds it. Nearly all of one is synchronous; only waiting crosses over."""

import asyncio
from functools import partial
from types import TracebackType
from typing import Any

import trio

from turnwire.actors.conversation import CHECKPOINT_EVERY, Conversation
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import ClosedError
from turnwire.runtime.hosting.block import Block


class GuestConversation(Conversation):
    """One open conversation in the hands of an asyncio host. Made by `hosted.open_conversation`.

    Its callbacks are plain functions and are called in the host's thread. `changes()` is read by `hosted.iterate`.
    """

    __slots__ = ("_block",)

    def __init__(self, conversation: Conversation, block: Block[Any]) -> None:
        super().__init__(conversation._actor)  # noqa: SLF001  # all that a conversation is, is its actor
        self._block = block

    async def send(self, event: AnyAguiEvent | bytes | str) -> None:
        """Hand one event over; lets the loop run at least every 64 events. Crosses over only to wait for room."""
        self._left -= 1
        if self._left <= 0:  # first of all: whoever is cancelled here has sent nothing
            self._left = CHECKPOINT_EVERY
            await asyncio.sleep(0)
        try:
            self.send_nowait(event)
        except trio.WouldBlock:
            await self._block.call(partial(super().send, event), name=f"send to conversation {self.thread_id}")

    async def end(self) -> None:
        """End it, whatever has become of it."""
        if not self._actor.ended.is_set():
            await self._block.call(super().end, name=f"end of conversation {self.thread_id}")

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, exc, trace)
        except ClosedError:  # the whole system is closing, and closes the conversation
            if exc is None:
                raise
