"""What the queue of turns says, and the words in which Redis is told. No connection, no await.

An announcement is an entry of one stream (`codex:turns`); workers read it as a consumer group. Beside it stand the keys
by which others find a turn: run → turn, turn → run, turn → thread, the thread's sorted set of turns, and the one of all
recent turns. They are written before the entry, so that whoever sees the entry finds them.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import attrs

from turnwire.messages.entries import EntryId
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.lane import Command, Reply
from turnwire.runtime.logs.redis.wire import parse_id

Kind: TypeAlias = Literal["events", "engine"]
"""Who makes the turn's events: somebody else, who writes them to log A; or the worker itself, by its engine."""

GROUP = "workers"
RECENT_TURNS = 10_000  # listed at most: some megabyte of ids
KINDS: tuple[Kind, ...] = ("events", "engine")
_RUN, _TURN, _THREAD, _KIND = "run_id", "turn_id", "thread_id", "kind"


def _not_empty(_instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{attribute.name} must be a text that is not empty, not {value!r}")


def _known_kind(_instance: object, _attribute: object, value: object) -> None:
    if value not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {value!r}")


@attrs.frozen(kw_only=True)
class Announcement:
    """There is a turn to be worked on."""

    run_id: str = attrs.field(validator=_not_empty)
    turn_id: str = attrs.field(validator=_not_empty)
    thread_id: str = attrs.field(validator=_not_empty)
    kind: Kind = attrs.field(default="events", validator=_known_kind)


@attrs.frozen(kw_only=True)
class Ticket:
    """An announcement that was taken from the queue. Its id says when it was made: milliseconds since the epoch."""

    id: EntryId
    announcement: Announcement


def announce(keys: Keys, turn: Announcement, *, now_ms: int, expire_ms: int) -> list[Command]:
    """Word the commands that announce a turn; the reply to the last one is the queue entry's id."""
    thread = keys.thread(turn.thread_id)
    fields = (_RUN, turn.run_id, _TURN, turn.turn_id, _THREAD, turn.thread_id, _KIND, turn.kind)
    return [
        *remember(keys, turn, expire_ms=expire_ms),
        ("ZADD", thread, "NX", now_ms, turn.turn_id),
        # A thread that never rests would list turns whose logs are long gone: a turn is shorter than its logs stay.
        ("ZREMRANGEBYSCORE", thread, "-inf", now_ms - 2 * expire_ms),
        ("PEXPIRE", thread, expire_ms),
        ("ZADD", keys.recent, "NX", now_ms, turn.turn_id),
        ("ZREMRANGEBYSCORE", keys.recent, "-inf", now_ms - 2 * expire_ms),
        ("ZREMRANGEBYRANK", keys.recent, 0, -RECENT_TURNS - 1),
        ("PEXPIRE", keys.recent, expire_ms),
        ("XADD", keys.queue, "*", *fields),
    ]


def remember(keys: Keys, turn: Announcement, *, expire_ms: int) -> list[Command]:
    """Word the commands by which a turn is found from its run, and its run and thread from it, for so long from now."""
    return [
        ("SET", keys.turn_of(turn.run_id), turn.turn_id, "PX", expire_ms),
        ("SET", keys.run_of(turn.turn_id), turn.run_id, "PX", expire_ms),
        ("SET", keys.thread_of(turn.turn_id), turn.thread_id, "PX", expire_ms),
    ]


def dismiss(keys: Keys, ticket_id: EntryId) -> list[Command]:
    """Word the commands that take an announcement out of the queue for good.

    In this order: what is pending without an entry is cleared away by whoever finds it; an entry that nobody has
    pending would stay for ever.
    """
    return [("XDEL", keys.queue, str(ticket_id)), ("XACK", keys.queue, GROUP, str(ticket_id))]


def parse_tickets(entries: Reply) -> tuple[list[Ticket], list[EntryId]]:
    """Read queue entries; give the tickets, and the ids of entries that are none."""
    tickets: list[Ticket] = []
    malformed: list[EntryId] = []
    for entry in cast("Sequence[tuple[bytes, list[bytes] | None] | None]", entries or ()):
        if entry is None or (fields := entry[1]) is None:
            continue  # deleted meanwhile: older servers give just its id, or nothing in its place
        raw_id = entry[0]
        entry_id = parse_id(raw_id)
        try:
            words = [word.decode() for word in fields]
            named: dict[str, Any] = dict(zip(words[::2], words[1::2], strict=True))
            turn = Announcement(
                run_id=named[_RUN], turn_id=named[_TURN], thread_id=named[_THREAD], kind=named.get(_KIND, "events")
            )
        except (KeyError, ValueError):
            malformed.append(entry_id)
        else:
            tickets.append(Ticket(id=entry_id, announcement=turn))
    return tickets, malformed
