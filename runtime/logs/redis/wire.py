"""Entries as Redis keeps them: fields out, fields in. The only room that knows their names."""

from collections.abc import Sequence
from typing import Any, cast

from redis.exceptions import ResponseError

from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.redis.lane import Command, Reply

FENCE = b"fence"
_EVENT_ID, _TIMESTAMP, _TURN_ID, _PAYLOAD, _EVENT = b"eventId", b"timestamp", b"turnId", b"payload", b"event"


def pack_outputs(key: str, messages: Sequence[StreamMessage]) -> list[bytes]:
    """Word the commands that append outputs of one turn under the ids that their event ids name, as they are sent.

    By hand: what all entries of a turn have in common is put together once. Raises UnicodeEncodeError for text that
    UTF-8 cannot carry.
    """
    name, turn_id = key.encode(), messages[0].turn_id.encode()
    head = b"*11\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n$" % (len(name), name)
    middle = b"\r\n$6\r\nturnId\r\n$%d\r\n%b\r\n$7\r\npayload\r\n$" % (len(turn_id), turn_id)
    prefix = len(turn_id) + 1
    commands: list[bytes] = []
    for message in messages:
        event_id, timestamp, payload = message.event_id.encode(), b"%d" % message.timestamp, message.payload.encode()
        entry_id = event_id[prefix:]
        commands.append(
            b"%b%d\r\n%b\r\n$7\r\neventId\r\n$%d\r\n%b\r\n$9\r\ntimestamp\r\n$%d\r\n%b%b%d\r\n%b\r\n"
            % (
                *(head, len(entry_id), entry_id, len(event_id), event_id),
                *(len(timestamp), timestamp, middle, len(payload), payload),
            )
        )
    return commands


def add_event(key: str, event: bytes) -> Command:
    """Word the command that appends a raw event, under an id that Redis gives."""
    return ("XADD", key, "*", _EVENT, event)


def add_fence(key: str, epoch: int, token: str) -> Command:
    """Word the command that puts up the fence of an epoch, saying whose it is."""
    return ("XADD", key, str(EntryId(epoch, 0)), FENCE, token)


def look_up(key: str, entry_id: EntryId) -> Command:
    """Word the command that gives the one entry with this id, if it is there."""
    return ("XRANGE", key, str(entry_id), str(entry_id))


def read_range(key: str, after: EntryId, limit: int) -> Command:
    """Word the command that gives the entries after an id."""
    return ("XRANGE", key, f"({after}", "+", "COUNT", limit)


def is_stale_id(reply: Reply) -> bool:
    """Did Redis refuse an entry because its id is not greater than the last one?"""
    return isinstance(reply, ResponseError) and "equal or smaller" in str(reply)


def is_wrong_type(reply: Reply) -> bool:
    """Did Redis refuse because something else is kept under this key?"""
    return isinstance(reply, ResponseError) and str(reply).startswith("WRONGTYPE")


def refusal(reply: Reply) -> ResponseError | None:
    """Give the error, if the reply is one."""
    return reply if isinstance(reply, ResponseError) else None


def parse_id(text: bytes) -> EntryId:
    """Read an id that Redis wrote."""
    major, _, minor = text.partition(b"-")
    return EntryId(int(major), int(minor))


def parse_entries(reply: Reply) -> list[tuple[EntryId, dict[bytes, bytes]]]:
    """Read the reply to a range: ids and fields."""
    entries = cast("list[tuple[bytes, list[bytes]]]", reply or ())
    return [(parse_id(entry_id), _pairs(fields)) for entry_id, fields in entries]


def parse_streams(reply: Reply) -> list[tuple[str, list[tuple[EntryId, dict[bytes, bytes]]]]]:
    """Read the reply to an XREAD: entries by key."""
    streams = cast("list[tuple[bytes, Any]]", reply or ())
    return [(key.decode(), parse_entries(entries)) for key, entries in streams]


def last_id(reply: Reply) -> EntryId | None:
    """Read the last id that a stream has had from its XINFO: START for one that is not there, None if Redis refuses."""
    if isinstance(reply, ResponseError):
        return START if "no such key" in str(reply) else None
    facts = cast("list[Any]", reply)
    return parse_id(facts[facts.index(b"last-generated-id") + 1])


def last_fence(reply: Reply) -> str | None:
    """Read from a stream's XINFO who put up the fence that is the last thing in it; None if that is no fence."""
    if isinstance(reply, ResponseError):
        return None
    facts = cast("list[Any]", reply)
    entry = facts[facts.index(b"last-entry") + 1]
    return None if entry is None or parse_id(entry[0]) != last_id(reply) else fence_of([entry])


def to_entry(entry_id: EntryId, fields: dict[bytes, bytes]) -> Entry | None:
    """Make an output's entry; None for a fence, which is not for readers, and for what is no entry of ours."""
    if _PAYLOAD not in fields:
        return None
    try:
        message = StreamMessage(
            event_id=fields[_EVENT_ID].decode(),
            timestamp=int(fields[_TIMESTAMP]),
            turn_id=fields[_TURN_ID].decode(),
            payload=fields[_PAYLOAD].decode(),
        )
    except (KeyError, ValueError):
        return None
    return Entry(id=entry_id, message=message)


def to_raw_entry(entry_id: EntryId, fields: dict[bytes, bytes]) -> RawEntry | None:
    """Make a raw event's entry; None for what is no entry of ours."""
    event = fields.get(_EVENT)
    return None if event is None else RawEntry(id=entry_id, event=event)


def event_id_of(reply: Reply) -> str | None:
    """Read which event an entry that was looked up is; None if there is no such entry."""
    entries = [] if isinstance(reply, ResponseError) else parse_entries(reply)
    return entries[0][1].get(_EVENT_ID, b"").decode(errors="replace") if entries else None


def fence_of(reply: Reply) -> str | None:
    """Read who put up the fence that was looked up; None if there is none."""
    entries = [] if isinstance(reply, ResponseError) else parse_entries(reply)
    return entries[0][1].get(FENCE, b"").decode(errors="replace") if entries else None


def _pairs(fields: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(fields[::2], fields[1::2], strict=True))
