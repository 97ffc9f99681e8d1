"""Who reads what: the feeds that are in use, and how many readers there may be."""

from typing import Generic, TypeVar

from turnwire.messages.errors import TooManyReadersError
from turnwire.runtime.logs.feeds import Feed, RawFeed

MAX_READERS = 10_000
MAX_READERS_PER_LOG = 1_000

_F = TypeVar("_F", Feed, RawFeed)


class Headcount:
    """How many readers there are and may be, of outputs and of raw events together."""

    def __init__(self, *, most: int = MAX_READERS, most_each: int = MAX_READERS_PER_LOG) -> None:
        if most < 1 or most_each < 1:
            raise ValueError(f"there must be room for a reader; got {most} in all, {most_each} of one log")
        self.most = most
        self.most_each = most_each
        self.readers = 0


class Readership(Generic[_F]):
    """Feeds of one kind by name, each there as long as it has readers."""

    def __init__(self, heads: Headcount) -> None:
        self._heads = heads
        self.feeds: dict[str, _F] = {}

    def join(self, name: str, new: _F) -> _F:
        """Count one reader more; `new` is used if this log has no feed yet."""
        feed = self.feeds.get(name, new)
        heads = self._heads
        if heads.readers >= heads.most or feed.readers >= heads.most_each:
            limit = f"{heads.most} in all, {heads.most_each} of one log"
            raise TooManyReadersError(f"as many readers as there may be ({limit}); {name} gets no other")
        self.feeds[name] = feed
        feed.readers += 1
        heads.readers += 1
        return feed

    def leave(self, name: str) -> None:
        """Count one reader less; the last one takes the feed with it."""
        feed = self.feeds[name]
        feed.readers -= 1
        self._heads.readers -= 1
        if not feed.readers:
            del self.feeds[name]
