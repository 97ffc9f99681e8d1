"""What streams tell: a turn's log in some dialect, or a run's raw events, from any place on.

The id of an event is that of its entry. An entry that makes several events gives `1-7.1`, `1-7.2`, ... to all but the
last: who was cut off in between comes back with that, and gets the rest of them.
"""

import re

import attrs

from turnwire.messages.entries import LARGEST, START, Entry, EntryId, RawEntry
from turnwire.runtime.http.sse import frame
from turnwire.runtime.http.tellers import Teller
from turnwire.runtime.logs.interface import TurnLog

MOST_BYTES = 64 * 1024  # handed over at once: what a socket takes in one go, more or less
PAGE = 256  # entries that are taken in silently without a pause
REWOUND = frame(b'{"type":"rewound"}', event="rewound")

_PLACE = re.compile(r"([0-9]+-[0-9]+)(?:\.([1-9][0-9]{0,5}))?", re.ASCII)


@attrs.frozen
class Place:
    """How far a reader got: an entry, and how many of its events; 0: all."""

    entry: EntryId = START
    told: int = 0

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read the id of an event. Raises ValueError that says what one looks like."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError(f"expected the id of an event, such as 1-7; got {text!r}")
        return cls(EntryId.parse(match[1]), int(match[2] or 0))


class TurnSource:
    """Tells one turn to one reader."""

    def __init__(self, log: TurnLog, turn_id: str, teller: Teller, place: Place) -> None:
        self._log = log
        self._turn_id = turn_id
        self._teller = teller
        self._place = place
        after = place.entry
        if place.told and not teller.is_stateful:  # from another dialect: the entry is told again
            after = before(after)
        self._follower = log.follow(turn_id, after=after)
        self._entry: Entry | None = None

    async def begin(self) -> bytes:
        """Have the teller take in what the reader knows; give the rest of an entry that it knows half of."""
        if not self._teller.is_stateful or self._place.entry == START:
            return b""
        place, after, rest = self._place, START, b""
        while True:
            page = await self._log.read(self._turn_id, after=after, limit=PAGE)
            for entry in page:
                if entry.id > place.entry:
                    return rest
                told = await self._teller.tell(entry)
                if entry.id == place.entry and place.told:
                    rest = _frames(entry, told, skip=place.told)
            if len(page) < PAGE:
                return rest
            after = page[-1].id

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
            if entry.rewound and not self._teller.is_stateful:
                pieces.append(REWOUND)
            pieces.append(_frames(entry, await self._teller.tell(entry)))
            size += len(pieces[-1])
            self._entry = self._follower.take_nowait() if size < MOST_BYTES else None
        return b"".join(pieces)

    def finish(self) -> bytes:
        """Say what follows the turn's end."""
        return b"".join(frame(data) for data in self._teller.finish())

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()


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


def _frames(entry: Entry, told: list[bytes], *, skip: int = 0) -> bytes:
    last = len(told)
    return b"".join(
        frame(data, id=str(entry.id) if number == last else f"{entry.id}.{number}")
        for number, data in enumerate(told, start=1)
        if number > skip
    )


def before(entry_id: EntryId) -> EntryId:
    """Give the place right before an entry."""
    if entry_id.minor:
        return EntryId(entry_id.major, entry_id.minor - 1)
    return EntryId(entry_id.major - 1, LARGEST) if entry_id.major else START
