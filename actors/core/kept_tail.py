"""What was acknowledged lately, kept until it is surely on the server's disk. No clock, no await.

A server that is killed can lose entries that it had acknowledged. Whoever wrote them is the only one who can put them
back, so it keeps the end of each log that it wrote: for some seconds, and up to some number of bytes in all. Of what
had to go before its seconds were over it still knows the id: should the server lose that, it can at least be said.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from turnwire.messages.entries import EntryId

RECORD_BYTES = 400  # what a record costs beside its commands, roughly
COMMAND_BYTES = 41  # what each command costs beside its own bytes


class Kept:
    """Acknowledged entries of one log under consecutive ids, as the commands that would append them again."""

    __slots__ = ("at", "commands", "id", "is_forgotten", "key", "size")

    def __init__(self, key: str, first: EntryId, commands: Sequence[bytes], *, at: float) -> None:
        self.key = key
        self.id = first
        """Of the first of them."""
        self.commands = commands
        self.at = at
        self.is_forgotten = False
        self.size = RECORD_BYTES + COMMAND_BYTES * len(commands) + sum(map(len, commands))

    @property
    def last(self) -> EntryId:
        """The id of the last of them."""
        return EntryId(self.id.major, self.id.minor + len(self.commands) - 1)


class KeptTail:
    """The ends of all logs that one writer writes."""

    def __init__(self, *, seconds: float, most_bytes: int) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._all: deque[Kept] = deque()
        self._tails: dict[str, deque[Kept]] = {}
        self._dropped: dict[str, tuple[EntryId, float]] = {}
        self._drops: deque[tuple[str, float]] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        """How many records of entries are kept."""
        return len(self._all)

    def add(self, key: str, first: EntryId, commands: Sequence[bytes], *, now: float) -> None:
        """Keep entries that were acknowledged now, the first of which has this id."""
        kept = Kept(key, first, commands, at=now)
        self._all.append(kept)
        tail = self._tails.get(key)
        if tail is None:
            tail = self._tails[key] = deque()
        tail.append(kept)
        self.bytes += kept.size
        self.trim(now=now)

    def trim(self, *, now: float) -> None:
        """Let go of what is old enough, and of the oldest when there is too much."""
        everything, oldest_at = self._all, now - self._seconds
        while everything and (everything[0].at < oldest_at or self.bytes > self._most_bytes):
            kept = everything.popleft()
            if kept.is_forgotten:
                continue
            self.bytes -= kept.size
            tail = self._tails[kept.key]
            tail.popleft()
            if not tail:
                del self._tails[kept.key]
            self._dropped[kept.key] = (kept.last, kept.at)
            self._drops.append((kept.key, kept.at))
        while self._drops and self._drops[0][1] < oldest_at:
            key, at = self._drops.popleft()
            if key not in self._tails and self._dropped.get(key, (None, None))[1] == at:
                del self._dropped[key]

    def forget(self, key: str) -> None:
        """Let go of all of one log: it is not ours to put back."""
        for kept in self._tails.pop(key, ()):
            self.bytes -= kept.size
            kept.is_forgotten = True
            kept.commands = ()
        self._dropped.pop(key, None)

    def tails(self) -> Iterator[tuple[str, tuple[Kept, ...]]]:
        """Give the kept end of each log, oldest entry first."""
        for key, tail in self._tails.items():
            yield key, tuple(tail)

    def keeps(self, key: str) -> bool:
        """Is anything of this log kept?"""
        return key in self._tails

    def newest(self, key: str) -> EntryId | None:
        """Give the last entry of a log that is kept."""
        tail = self._tails.get(key)
        return tail[-1].last if tail else None

    def dropped(self, key: str) -> EntryId | None:
        """Give the newest entry of a log that is no longer kept, if later ones are or it is not old enough."""
        return self._dropped.get(key, (None,))[0]

    def gone(self) -> Iterator[tuple[str, EntryId]]:
        """Give the newest entry of each log of which nothing is kept, although it is not old enough."""
        for key, (entry_id, _) in self._dropped.items():
            if key not in self._tails:
                yield key, entry_id
