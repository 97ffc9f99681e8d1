"""What streams tell: a turn's log in some dialect, or a run's raw events, from any place on.

The id of an event is that of its entry. An entry that makes several events names all but the last of them like
`1-7.2~1-6`: the second of entry 1-7, told after entry 1-6. Who was cut off there comes back with that, and gets the
rest.

Dialects of deltas depend on what was told before, and a reader that is behind is not told every state. So that a place
alone says what was told up to it, this holds: at each entry everything was told that the log says up to there. The log
skips nothing but states of items that are still open. If others than the entry's own are, what was skipped of them is
read and told before it.
"""

import re
from collections.abc import AsyncGenerator, Iterable

import attrs

from turnwire.messages.entries import LARGEST, START, Entry, EntryId, RawEntry
from turnwire.messages.peek import OutputPeek, peek_output
from turnwire.runtime.http.sse import frame
from turnwire.runtime.http.tellers import Teller
from turnwire.runtime.logs.interface import TurnLog

MOST_BYTES = 64 * 1024  # handed over at once: what a socket takes in one go, more or less
PAGE = 256  # entries that are taken in silently without a pause
REWOUND = frame(b'{"type":"rewound"}', event="rewound")

_PLACE = re.compile(r"([0-9]+-[0-9]+)(?:\.([1-9][0-9]{0,5})~([0-9]+-[0-9]+))?", re.ASCII)


@attrs.frozen
class Place:
    """How far a reader got: an entry; or so many of an entry's events, told after the entry `before`."""

    entry: EntryId = START
    told: int = 0
    before: EntryId = START

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read the id of an event. Raises ValueError that says what one looks like."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError(f"expected the id of an event, such as 1-7; got {text!r}")
        return cls(EntryId.parse(match[1]), int(match[2] or 0), EntryId.parse(match[3] or str(START)))

    @property
    def whole(self) -> EntryId:
        """The last entry that was told to its end."""
        return self.before if self.told else self.entry


class TurnSource:
    """Tells one turn to one reader."""

    def __init__(self, log: TurnLog, turn_id: str, teller: Teller, place: Place) -> None:
        self._log = log
        self._turn_id = turn_id
        self._teller = teller
        self._place = place
        self._told = place.whole
        self._open: set[str] = set()
        """Items that were told and are not complete."""
        self._follower = log.follow(turn_id, after=place.entry if teller.is_stateful else place.whole)
        self._entry: Entry | None = None

    async def begin(self) -> bytes:
        """Have the teller take in what the reader knows; give the rest of an entry that it knows half of."""
        place = self._place
        if not self._teller.is_stateful or place.entry == START:
            return b""
        async for entry in self._read(START, place.whole):
            await self._teller.tell(entry)
            self._note(entry, peek_output(entry.message.payload))
        if not place.told:
            return b""
        half: Entry | None = None
        async for entry in self._read(place.whole, place.entry):
            half = entry
        return await self._frames(half, skip=place.told) if half is not None and half.id == place.entry else b""

    async def wait(self) -> bool:
        """Wait for the next entry."""
        try:
            self._entry = await self._follower.__anext__()
        except StopAsyncIteration:
            return False
        return True

    async def take(self) -> bytes:
        """Tell that entry, and those that are there already."""
        pieces: list[bytes] = []
        size = 0
        while (entry := self._entry) is not None:
            if entry.rewound:
                self._told = START
                if not self._teller.is_stateful:
                    pieces.append(REWOUND)
            pieces.append(await self._frames(entry))
            size += len(pieces[-1])
            self._entry = self._follower.take_nowait() if size < MOST_BYTES else None
        return b"".join(pieces)

    def finish(self) -> bytes:
        """Say what follows the turn's end."""
        return b"".join(frame(data) for data in self._teller.finish())

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()

    async def _frames(self, entry: Entry, *, skip: int = 0) -> bytes:
        before, seen = self._told, peek_output(entry.message.payload)
        told: list[bytes] = []
        if self._teller.is_stateful:
            for skipped in await self._skipped(entry, seen):
                told += await self._teller.tell(skipped)
        told += await self._teller.tell(entry)
        self._note(entry, seen)
        last = len(told)
        skip = min(skip, last - 1)  # the end of a turn is told in any case: it may have had more to say before
        return b"".join(
            frame(data, id=str(entry.id) if number == last else f"{entry.id}.{number}~{before}")
            for number, data in enumerate(told, start=1)
            if number > skip
        )

    async def _skipped(self, entry: Entry, seen: OutputPeek) -> Iterable[Entry]:
        """Give the newest states of other items between what was told and this entry."""
        is_next = entry.id == EntryId(self._told.major, self._told.minor + 1)
        if is_next or not self._open - {seen.item_id}:
            return ()
        newest: dict[str | None, Entry] = {}
        async for between in self._read(self._told, entry.id):
            if between.id != entry.id:
                item_id = peek_output(between.message.payload).item_id
                newest.pop(item_id, None)
                newest[item_id] = between
        newest.pop(seen.item_id, None)
        return newest.values()

    def _note(self, entry: Entry, seen: OutputPeek) -> None:
        self._told = entry.id
        if seen.item_id is not None and self._teller.is_stateful:
            (self._open.discard if seen.is_final else self._open.add)(seen.item_id)

    async def _read(self, after: EntryId, last: EntryId) -> AsyncGenerator[Entry, None]:
        """Give the entries behind one and up to another; no more than a page of them is in memory."""
        while after < last:
            page = await self._log.read(self._turn_id, after=after, limit=PAGE)
            for entry in page:
                if entry.id > last:
                    return
                yield entry
            if len(page) < PAGE:
                return
            after = page[-1].id


class RawSource:
    """Tells a run's raw events to one reader."""

    def __init__(self, log: TurnLog, run_id: str, place: Place) -> None:
        self._follower = log.follow_events(run_id, after=place.entry)
        self._entry: RawEntry | None = None

    async def begin(self) -> bytes:
        """Nothing is told before the events."""
        return b""

    async def wait(self) -> bool:
        """Wait for the next event."""
        try:
            self._entry = await self._follower.__anext__()
        except StopAsyncIteration:
            return False
        return True

    async def take(self) -> bytes:
        """Tell that event, and those that are there already."""
        pieces: list[bytes] = []
        size = 0
        while (entry := self._entry) is not None:
            pieces.append(frame(entry.event, id=str(entry.id)))
            size += len(pieces[-1])
            self._entry = self._follower.take_nowait() if size < MOST_BYTES else None
        return b"".join(pieces)

    def finish(self) -> bytes:
        """Nothing follows the last event."""
        return b""

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()


def before(entry_id: EntryId) -> EntryId:
    """Give the place right before an entry."""
    if entry_id.minor:
        return EntryId(entry_id.major, entry_id.minor - 1)
    return EntryId(entry_id.major - 1, LARGEST) if entry_id.major else START
