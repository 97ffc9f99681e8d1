"""One view of a log that any number of readers share. A log fills it; readers only keep their place in it."""

from collections import deque
from typing import Protocol, TypeAlias

import trio

from turnwire.actors.core.condensed import CondensedLog
from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.errors import TurnwireError

WINDOW_ENTRIES = 256  # raw events kept for readers who are at the end; who is later reads the log itself
WINDOW_BYTES = 1024 * 1024


Failure: TypeAlias = tuple[type[TurnwireError], str]
"""Why nothing more will come, as each reader is to be told."""


class News:
    """Wakes all who wait for something new."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: trio.Event | None = None  # made by the first who waits

    def tell(self) -> None:
        """Wake them."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Wait to be told."""
        if self._event is None:
            self._event = trio.Event()
        await self._event.wait()


class Feed:
    """What a turn's log of outputs says, as far as it was read."""

    __slots__ = ("condensed", "failure", "generation", "is_loaded", "news", "position", "readers")

    def __init__(self) -> None:
        self.condensed = CondensedLog()
        self.position = START
        """How far the log was read, what is not for readers included."""
        self.is_loaded = False
        """Was the log read to its end once?"""
        self.generation = 0
        """How often the log turned out to have lost what was read of it."""
        self.failure: Failure | None = None
        self.readers = 0
        self.news = News()

    def push(self, entry: Entry) -> None:
        """Take in the next entry."""
        self.condensed.push(entry)

    def reset(self) -> None:
        """Begin anew: the log is not the one that was read."""
        self.condensed = CondensedLog()
        self.position = START
        self.is_loaded = False
        self.generation += 1


class RawFeed:
    """The end of a run's log of events."""

    __slots__ = ("_bytes", "_window", "failure", "floor", "generation", "news", "position", "readers")

    def __init__(self, position: EntryId) -> None:
        self.position = position
        self.floor = position
        """Everything after this is in the window."""
        self.generation = 0
        self.failure: Failure | None = None
        self.readers = 0
        self.news = News()
        self._window: deque[RawEntry] = deque()
        self._bytes = 0

    def push(self, entry: RawEntry) -> None:
        """Take in the next entry."""
        self.position = entry.id
        self._window.append(entry)
        self._bytes += len(entry.event)
        while len(self._window) > WINDOW_ENTRIES or (self._bytes > WINDOW_BYTES and len(self._window) > 1):
            dropped = self._window.popleft()
            self._bytes -= len(dropped.event)
            self.floor = dropped.id

    def after(self, cursor: EntryId) -> list[RawEntry] | None:
        """Give what follows the cursor; None when the window no longer reaches back so far."""
        if cursor < self.floor:
            return None
        if cursor >= self.position:
            return []
        return [entry for entry in self._window if entry.id > cursor and entry.event]  # empty: no event of ours

    def reset(self, position: EntryId) -> None:
        """Begin anew from here: the log has lost what came after."""
        self._window.clear()
        self._bytes = 0
        self.position = self.floor = position
        self.generation += 1


class FeedSource(Protocol):
    """A log, as its readers need it."""

    def join(self, turn_id: str) -> Feed:
        """Count one reader more, and give the feed that they share."""
        ...

    def leave(self, turn_id: str) -> None:
        """Count one reader less."""
        ...

    def join_raw(self, run_id: str, position: EntryId) -> RawFeed:
        """Count one raw reader more; a feed that is made now begins after `position`."""
        ...

    def leave_raw(self, run_id: str) -> None:
        """Count one raw reader less."""
        ...

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        """Read raw events from the log itself."""
        ...
