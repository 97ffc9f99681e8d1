"""What a reader of a turn's log needs, however late or slow it is. No clock, no await.

Every entry carries the whole state of its item, so a reader that is behind loses nothing when states in between are
left out. What stays, always, in the order of the log:

- the turn's own events;
- of each item its first entry (so that items are first seen in the order in which they came) and its newest.

Beside those the last few superseded states are kept, so that a reader who keeps up sees every single one. A reader is
then nothing but a place in this list: it costs no memory of its own, and whether it is conflated depends on itself
alone.
"""

from bisect import bisect_right
from collections import deque

from turnwire.messages.entries import START, Entry, EntryId
from turnwire.messages.peek import peek_output

KEEP_STATES = 64  # superseded states: what a reader may be late by and still see everything
KEEP_BYTES = 1024 * 1024  # of payload in them: a long text's states are large and soon outdated


class CondensedLog:
    """The entries of one turn that are still worth reading."""

    __slots__ = ("_entries", "_ids", "_newest", "_superseded", "_superseded_bytes", "last_id", "terminal_id")

    def __init__(self) -> None:
        self._ids: list[EntryId] = []
        self._entries: dict[EntryId, Entry] = {}
        self._newest: dict[str, tuple[EntryId, bool]] = {}  # item → its newest entry, and whether that is its first
        self._superseded: deque[EntryId] = deque()
        self._superseded_bytes = 0
        self.last_id = START
        """The newest entry's."""
        self.terminal_id: EntryId | None = None
        """The entry that ended the turn; nothing follows it."""

    def __len__(self) -> int:
        """How many entries are kept."""
        return len(self._ids)

    def push(self, entry: Entry) -> None:
        """Take in the entry that follows the last one. One that does not follow it is known already."""
        if entry.id <= self.last_id or self.terminal_id is not None:
            return
        self.last_id = entry.id
        self._ids.append(entry.id)
        self._entries[entry.id] = entry
        seen = peek_output(entry.message.payload)
        if seen.is_terminal:
            self.terminal_id = entry.id
        if seen.item_id is not None:
            before = self._newest.get(seen.item_id)
            self._newest[seen.item_id] = (entry.id, before is None)
            if before is not None and not before[1]:
                self._supersede(before[0])

    def after(self, cursor: EntryId) -> Entry | None:
        """Give the next entry for a reader who has got as far as `cursor`."""
        index = bisect_right(self._ids, cursor)
        return self._entries[self._ids[index]] if index < len(self._ids) else None

    def _supersede(self, entry_id: EntryId) -> None:
        self._superseded.append(entry_id)
        self._superseded_bytes += len(self._entries[entry_id].message.payload)
        while self._superseded and (len(self._superseded) > KEEP_STATES or self._superseded_bytes > KEEP_BYTES):
            oldest = self._superseded.popleft()
            self._superseded_bytes -= len(self._entries.pop(oldest).message.payload)
            del self._ids[bisect_right(self._ids, oldest) - 1]
