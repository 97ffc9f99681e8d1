"""Who knows which turns there are: announced here, found again by run, turn, thread or as one of the recent ones."""

from collections.abc import Sequence
from typing import Protocol

import attrs

from turnwire.messages.errors import TurnwireError
from turnwire.messages.runs import RunInput
from turnwire.runtime.queue.announcement import Announcement

LONGEST_TIME = 15  # digits of milliseconds since the epoch: as far as a score in Redis tells them apart


class TakenError(TurnwireError):
    """A turn or a run cannot be announced: its id is another's. For whoever chose the id; says whose it is."""


@attrs.frozen
class ListedTurn:
    """A turn as a list has it. `announced_ms` is milliseconds since the epoch."""

    turn_id: str
    announced_ms: int


@attrs.frozen
class RecentTurns:
    """A page of turns, newest first. `before` is the cursor of the next page; None: there is none."""

    turns: tuple[ListedTurn, ...]
    before: str | None


class TurnDirectory(Protocol):
    """Remembers turns for as long as their logs are kept. Every method raises LogUnavailableError while it cannot."""

    async def announce(self, turn: Announcement, run: RunInput | None = None) -> None:
        """Remember a turn, list it, and tell the workers; all of it or nothing. Twice is fine.

        `run` is the input of an engine's turn: the store of threads has it when the worker hears of the turn, and
        should it be lost together with the announcement, both are made again. Raises TakenError for an id that
        another turn or run has, also if that one comes in the same moment and from another process; TooManyTurnsError
        where as many as there may be wait for a worker.
        """
        ...

    async def turn_of(self, run_id: str) -> str | None:
        """Say which turn a run belongs to; None for a run that nobody announced, or that ended long ago."""
        ...

    async def run_of(self, turn_id: str) -> str | None:
        """Say under which run a turn's events are kept."""
        ...

    async def has_input(self, run_id: str) -> bool:
        """Say whether a run was announced with an input: then an engine makes its events, and no producer."""
        ...

    async def thread_of(self, turn_id: str) -> str | None:
        """Say which thread a turn belongs to."""
        ...

    async def threads_of(self, turn_ids: Sequence[str]) -> tuple[str | None, ...]:
        """Say it of many turns at once."""
        ...

    async def turns_of(self, thread_id: str) -> tuple[ListedTurn, ...]:
        """List a thread's turns, oldest first."""
        ...

    async def recent(self, *, before: str | None = None, limit: int = 50) -> RecentTurns:
        """List turns of all threads, newest first, from a cursor on. Raises ValueError for what is no cursor."""
        ...


def check_free(turn: Announcement, *, turn_id: str | None, run_id: str | None, thread_id: str | None) -> bool:
    """Compare an announcement with what is known: the run's turn, the turn's run and thread. Raises TakenError.

    True: it was announced before.
    """
    if thread_id not in (None, turn.thread_id):
        raise TakenError(f"turn {turn.turn_id!r} belongs to thread {thread_id!r}")
    if run_id not in (None, turn.run_id):
        raise TakenError(f"turn {turn.turn_id!r} belongs to run {run_id!r}")
    if turn_id not in (None, turn.turn_id):
        raise TakenError(f"run {turn.run_id!r} belongs to turn {turn_id!r}")
    return None not in (turn_id, run_id, thread_id)


def place_of(turn: ListedTurn) -> tuple[int, str]:
    """Give a turn's place in a list: by time and, within a millisecond, by id, as Redis orders."""
    return turn.announced_ms, turn.turn_id


def cursor_of(turn: ListedTurn) -> str:
    """Word where a page ended."""
    return f"{turn.announced_ms}:{turn.turn_id}"


def parse_cursor(text: str) -> ListedTurn:
    """Read a cursor. Raises ValueError."""
    milliseconds, colon, turn_id = text.partition(":")
    is_time = milliseconds.isascii() and milliseconds.isdecimal() and len(milliseconds) <= LONGEST_TIME
    if not colon or not turn_id or not is_time:
        raise ValueError(f"a cursor is what `before` of an earlier page said; got {text!r}")
    return ListedTurn(turn_id, int(milliseconds))
