"""Changes of a conversation on their way to one reader, who may be as slow as it likes: only newest states wait."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import trio

from turnwire.actors.parking import ParkingSpace
from turnwire.messages.ui_changes import (
    ConversationChange,
    MessageChanged,
    MessageRemoved,
    MessagesReplaced,
    StateChanged,
)


class ChangeFeed(ParkingSpace):
    """An async iterator over changes, for one task. Ends when the conversation ends or it is closed.

    What a change supersedes is taken out, so a reader that was away gets each message once, as it is by then.
    """

    __slots__ = ("__weakref__", "_is_closed", "_waiting")

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[tuple[str, str], ConversationChange] = {}
        self._is_closed = False

    def add(self, changes: Iterable[ConversationChange]) -> None:
        """Let changes join at the end, in place of those they supersede."""
        for change in changes:
            match change:
                case MessagesReplaced():
                    self._waiting = {key: old for key, old in self._waiting.items() if key[0] == "state"}
                    key = ("all", "")
                case MessageChanged():
                    key = ("message", change.message.id)
                case MessageRemoved():
                    key = ("message", change.message_id)
                case StateChanged():
                    key = ("state", "")
            if not (isinstance(change, MessageChanged) and isinstance(self._waiting.get(key), MessageChanged)):
                self._waiting.pop(key, None)  # a newer state of a message keeps its place: it may be a new message
            self._waiting[key] = change
        if self._waiting:
            self.call()

    def close(self) -> None:
        """Take no more. What waits can still be read."""
        self._is_closed = True
        self.call()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConversationChange:
        await trio.lowlevel.checkpoint()  # first of all: whoever is cancelled here has taken nothing out
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            await self.wait()
        return self._waiting.pop(next(iter(self._waiting)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.clear()
        self.close()
