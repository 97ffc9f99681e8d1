"""What a log is made of: entries, each under an id that says where it stands."""

import re
from typing import NamedTuple

import attrs

from turnwire.messages.outputs import StreamMessage

_ID = re.compile(r"(0|[1-9][0-9]{0,19})-(0|[1-9][0-9]{0,19})", re.ASCII)
LARGEST = 2**64 - 1  # what Redis keeps each half of an id in


class EntryId(NamedTuple):
    """Where an entry stands in its log: `<major>-<minor>`, ordered by both.

    In a turn's log of outputs the two are the epoch (how many owners the turn has had) and the number of the emission;
    in a log of raw events they are whatever the log gave.
    """

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}-{self.minor}"

    @classmethod
    def parse(cls, text: str) -> "EntryId":
        """Read an id. Raises ValueError that says what an id looks like."""
        match = _ID.fullmatch(text)
        if match is None or max(entry_id := cls(int(match[1]), int(match[2]))) > LARGEST:
            raise ValueError(f"an entry id is two whole numbers, such as 1-7; got {text!r}")
        return entry_id


START = EntryId(0, 0)
"""Before every entry: reading after it gives all there is."""


@attrs.frozen(kw_only=True)
class Entry:
    """One output in a turn's log."""

    id: EntryId
    message: StreamMessage
    rewound: bool = False
    """Forget what you have read of this turn: the log lost some of it, and tells it anew from here."""


@attrs.frozen(kw_only=True)
class RawEntry:
    """One StreamEvent in a run's log, as the JSON it came as."""

    id: EntryId
    event: bytes


def id_of(message: StreamMessage) -> EntryId:
    """Give the entry id that a message's event id names: `<turn_id>:<epoch>-<seq>`.

    Raises ValueError when the event id is made otherwise: a log could not tell a repeated message from a new one.
    """
    turn_id, _, entry_id = message.event_id.rpartition(":")
    if turn_id != message.turn_id:
        raise ValueError(f"a log needs event ids like {message.turn_id}:1-7; got {message.event_id!r}")
    return EntryId.parse(entry_id)
