"""Readers of a log that is still being written: what is there first, then what comes, then the end.

`async for entry in log.follow(turn_id)` is all there is to it. Whoever may stop reading early does it inside
`async with log.follow(turn_id) as entries`, which lets go of the log at once.
"""

from collections import deque
from types import TracebackType
from typing import Self

import attrs
import trio

from turnwire.actors.backend import ITERATED_INSTEAD, require_trio
from turnwire.messages.entries import LARGEST, START, Entry, EntryId, RawEntry
from turnwire.messages.peek import peek_event
from turnwire.runtime.logs.feeds import Feed, FeedSource, RawFeed

PAGE = 256  # raw events that a reader who is behind takes from the log at once
PAUSE_EVERY = 16  # entries given without waiting: others get their turn too


class _Reader:
    """A place in a log, held until it is let go."""

    def __init__(self, source: FeedSource, name: str, after: EntryId) -> None:
        self._source = source
        self._name = name
        self._is_closed = False
        self._given = 0
        self.cursor = after
        """The last entry that was given: read on from here another time with `after=`."""

    def __aiter__(self) -> Self:
        require_trio("a log's reader", instead=ITERATED_INSTEAD)
        return self

    async def __aenter__(self) -> Self:
        require_trio("a log's reader", instead=ITERATED_INSTEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._is_closed:  # a loop that was left early and forgot us must not keep the log reading for nobody
            self._is_closed = True
            self._leave()

    def close(self) -> None:
        """Stop reading; a task that waits for the next entry is told that there is none. Twice is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._leave()
            self._tell()

    def _leave(self) -> None:
        raise NotImplementedError

    def _tell(self) -> None:
        raise NotImplementedError

    def _raise_failure(self, feed: Feed | RawFeed) -> None:
        if feed.failure is not None:
            self.close()
            kind, problem = feed.failure
            raise kind(problem)

    async def _pace(self) -> None:
        if self._is_closed:
            raise StopAsyncIteration
        self._given += 1
        if self._given % PAUSE_EVERY:
            await trio.lowlevel.checkpoint_if_cancelled()
        else:
            await trio.lowlevel.checkpoint()


class Follower(_Reader):
    """Reads a turn's outputs. One that is behind gets each item's first and newest state and skips those between."""

    _feed: Feed | None = None
    _generation = 0
    _is_rewound = False

    async def __anext__(self) -> Entry:
        """Give the next entry; ends after the turn's terminal."""
        await self._pace()
        feed = self._join()
        while True:
            if (entry := self.take_nowait()) is not None:
                return entry
            if not self._is_closed:
                self._raise_failure(feed)
                await feed.news.wait()
            if self._is_closed:
                raise StopAsyncIteration

    def take_nowait(self) -> Entry | None:
        """Give the next entry if it is there already; None: wait for it, or there is none any more."""
        if self._is_closed:
            return None
        feed = self._join()
        if feed.is_loaded:  # not before: what is superseded further on would be told in vain
            self._look_back(feed)
            if (entry := feed.condensed.after(self.cursor)) is not None:
                return self._give(feed, entry)
            if self.cursor == feed.condensed.terminal_id:
                self.close()  # it had been read to its end before
        return None

    def _join(self) -> Feed:
        if self._feed is None:
            self._feed = self._source.join(self._name)
            self._generation = self._feed.generation
        return self._feed

    def _look_back(self, feed: Feed) -> None:
        """Notice that the log does not reach as far as we had read: then all of it is told again."""
        if feed.generation != self._generation or self.cursor > feed.condensed.last_id:
            self._generation = feed.generation
            self._is_rewound = self._is_rewound or self.cursor > START
            self.cursor = START

    def _give(self, feed: Feed, entry: Entry) -> Entry:
        self.cursor = entry.id
        if entry.id == feed.condensed.terminal_id:
            self.close()
        if self._is_rewound:
            self._is_rewound = False
            return attrs.evolve(entry, rewound=True)
        return entry

    def _leave(self) -> None:
        if self._feed is not None:
            self._source.leave(self._name)

    def _tell(self) -> None:
        if self._feed is not None:
            self._feed.news.tell()


class RawFollower(_Reader):
    """Reads a run's events, every single one. One that is behind reads the log itself, page by page."""

    _feed: RawFeed | None = None
    _generation = 0
    _page: deque[RawEntry]

    def __init__(self, source: FeedSource, name: str, after: EntryId) -> None:
        super().__init__(source, name, after)
        self._page = deque()

    async def __anext__(self) -> RawEntry:
        """Give the next event; ends after the one that ends the turn."""
        await self._pace()
        while (entry := self.take_nowait()) is None:
            await self._turn_page()
            if self._is_closed:
                raise StopAsyncIteration
        return entry

    def take_nowait(self) -> RawEntry | None:
        """Give the next event if it was read already; None: wait for it, or there is none any more."""
        if self._is_closed or not self._page:
            return None
        entry = self._page.popleft()
        self.cursor = entry.id
        if peek_event(entry.event).is_terminal:
            self.close()
        return entry

    async def _turn_page(self) -> None:
        feed = self._feed
        if feed is not None:
            if feed.generation != self._generation:
                self._generation = feed.generation
                self.cursor = min(self.cursor, feed.position)
            entries = feed.after(self.cursor)
            if entries is not None:
                self._page.extend(entries)
                if not entries:
                    self._raise_failure(feed)
                    await feed.news.wait()
                return
        page = await self._source.read_events(self._name, after=self.cursor, limit=PAGE)
        if self._is_closed:
            return  # meanwhile: whoever closed us believes that we have let go
        self._page.extend(page)
        if feed is not None:
            if not page:  # the log has lost what the feed once had: there is nothing to read before that is noticed
                self._raise_failure(feed)
                await feed.news.wait()
        elif not page and self.cursor > START and not await self._is_there(self.cursor):
            self.cursor = START  # ahead of the log, or of another one: all of it is told again
        elif len(page) < PAGE and not self._is_closed:
            last = page[-1].id if page else self.cursor
            self._feed = feed = self._source.join_raw(self._name, last)
            self._generation = feed.generation

    async def _is_there(self, entry_id: EntryId) -> bool:
        before = EntryId(entry_id.major, entry_id.minor - 1) if entry_id.minor else EntryId(entry_id.major - 1, LARGEST)
        found = await self._source.read_events(self._name, after=before, limit=1)
        return bool(found) and found[0].id == entry_id

    def _leave(self) -> None:
        if self._feed is not None:
            self._source.leave_raw(self._name)

    def _tell(self) -> None:
        if self._feed is not None:
            self._feed.news.tell()
