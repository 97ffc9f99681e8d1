"""The messages of a conversation, which of them is being made, and views of them that cost nothing. No clock, no await.

Time is counted in moments: each change has one. A view is the list, how long it was and the moment, so taking one
costs the same for one message and for a thousand; what it shows is put together when somebody looks.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast, overload

from turnwire.actors.core.open_message import OpenMessage
from turnwire.actors.core.settled_message import AnyMessage, SettledMessage
from turnwire.messages.ui import Part, Role, ToolCallPart, UIMessage
from turnwire.messages.ui_changes import ConversationChange, MessageChanged, MessageRemoved, MessagesReplaced


class Messages(Sequence[UIMessage]):
    """The messages of a conversation as they were at a moment. Never changes; messages are made when looked at."""

    __slots__ = ("_count", "_list", "_made", "_moment", "_open", "_place")

    def __init__(
        self, messages: list[AnyMessage], moment: int, open_message: OpenMessage | None = None, place: int = -1
    ) -> None:
        self._list = messages
        self._count = len(messages)
        self._moment = moment
        self._open = open_message  # held here too: in the list its settled form takes its place
        self._place = place
        self._made: UIMessage | None = None  # of the open one, once somebody has looked

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> UIMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[UIMessage, ...]: ...

    def __getitem__(self, index: int | slice) -> UIMessage | tuple[UIMessage, ...]:
        if isinstance(index, slice):
            return tuple(self._message(number) for number in range(*index.indices(self._count)))
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(f"message {index} of {self._count}")
        return self._message(number)

    def __iter__(self) -> Iterator[UIMessage]:
        return map(self._message, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Messages | tuple | list):
            return NotImplemented
        return tuple(self) == tuple(cast("Iterable[object]", other))

    __hash__ = None  # type: ignore[assignment]  # as a list: it is equal to lists

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"

    def _message(self, number: int) -> UIMessage:
        if self._open is None or number != self._place:
            return self._list[number].at(self._moment)
        if self._made is None:
            self._made = self._open.at(self._moment)
        return self._made


class MessageList:
    """Owns the messages. What comes after `begin` and before `settle` is one open message."""

    __slots__ = (
        "_changed",
        "_ids",
        "_list",
        "_numbers",
        "_place",
        "_removed",
        "_replaced",
        "_serials",
        "holders",
        "moment",
        "open",
    )

    def __init__(self, messages: Iterable[UIMessage] = ()) -> None:
        self.moment = 0
        self.open: OpenMessage | None = None
        self.holders: dict[str, AnyMessage] = {}
        """The message that holds a tool call, by the call's id."""
        self._list: list[AnyMessage] = []
        self._place = -1
        self._ids: set[str] = set()
        self._numbers = 0
        self._serials = 0
        self._changed: dict[int, AnyMessage] = {}  # by serial, which a message keeps when it settles: so its place too
        self._removed: list[str] = []
        self._replaced = False
        for message in messages:
            self._settle_in(message)

    def tick(self) -> int:
        """Begin a new moment."""
        self.moment += 1
        return self.moment

    def view(self) -> Messages:
        """Give the messages as they are now."""
        return Messages(self._list, self.moment, self.open, self._place)

    def begin(self, message_id: str | None, role: Role, created_at: float | str | None) -> OpenMessage:
        """Open a message at the end; without an id it gets the next free number."""
        name, serial = self._free_id(message_id), self._next_serial()
        self.open = OpenMessage(name, role, serial=serial, moment=self.tick(), created_at=created_at)
        self._ids.add(self.open.id)
        self._place = len(self._list)
        self._list.append(self.open)
        self.touch(self.open)
        return self.open

    def touch(self, message: AnyMessage) -> None:
        """Note that a message has changed."""
        self._changed[message.serial] = message

    def settle(self) -> UIMessage | None:
        """Close the open message, if there is one, and give it."""
        if self.open is None:
            return None
        message = self.open.newest()
        settled = SettledMessage(message, self.moment, self.open.serial)
        self._list[self._place] = settled
        for call_id, holder in self._calls_of(message):
            if holder is self.open:
                self.holders[call_id] = settled
        if settled.serial in self._changed:
            self.touch(settled)
        self.open, self._place = None, -1
        return message

    def remove_open(self) -> None:
        """Take the open message out again."""
        if self.open is None:
            return
        self.tick()
        if self._place == len(self._list) - 1:
            self._list.pop()  # views know it by themselves, and how long the list was
        else:
            self._list = [message for message in self._list if message is not self.open]
        self._ids.discard(self.open.id)
        self._changed.pop(self.open.serial, None)
        self._removed.append(self.open.id)
        self.open, self._place = None, -1

    def append(self, message: UIMessage) -> None:
        """Add a finished message at the end. Raises ValueError if its id is taken."""
        if message.id in self._ids:
            raise ValueError(f"there is a message {message.id} already")
        self.tick()
        self.touch(self._settle_in(message))

    def append_new(self, wish: str, role: Role, parts: tuple[Part, ...], created_at: float | str | None) -> None:
        """Add a finished message at the end, under this id if that is free."""
        self.append(UIMessage(id=self._free_id(wish), role=role, parts=parts, created_at=created_at))

    def replace(self, messages: Iterable[UIMessage]) -> None:
        """Put other messages in the place of all."""
        self.tick()
        self._list, self._ids, self.holders = [], set(), {}
        self.open, self._place = None, -1
        self._changed.clear()
        self._removed.clear()
        self._replaced = True
        for message in messages:
            self._settle_in(message)

    def take_changes(self) -> list[ConversationChange]:
        """Give what has changed since the last time, each message once and as it is now."""
        if self._replaced:
            self._replaced = False
            self._changed.clear()
            self._removed.clear()
            return [MessagesReplaced(messages=tuple(self.view()))]
        changes: list[ConversationChange] = [MessageRemoved(message_id=message_id) for message_id in self._removed]
        changes += (MessageChanged(message=message.newest()) for message in self._changed.values())
        self._changed.clear()
        self._removed.clear()
        return changes

    def _settle_in(self, message: UIMessage) -> SettledMessage:
        settled = SettledMessage(message, self.moment, self._next_serial())
        self._list.append(settled)
        self._ids.add(message.id)
        for call_id, _ in self._calls_of(message):
            self.holders[call_id] = settled
        return settled

    def _calls_of(self, message: UIMessage) -> Iterator[tuple[str, AnyMessage | None]]:
        return ((part.id, self.holders.get(part.id)) for part in message.parts if isinstance(part, ToolCallPart))

    def _next_serial(self) -> int:
        self._serials += 1
        return self._serials

    def _free_id(self, wish: str | None) -> str:
        if wish is not None and wish not in self._ids:
            return wish
        while True:
            self._numbers += 1
            if (name := f"msg-{self._numbers}") not in self._ids:
                return name
