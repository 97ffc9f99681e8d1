"""Who knows which turns there are: announced here, found again by run, turn, thread or as one of the recent ones."""

from collections.abc import Sequence
from typing import Protocol

import attrs

from turnwire.messages.runs import RunInput
from turnwire.runtime.queue.announcement import Announcement

LONGEST_TIME = 15  # digits of milliseconds since the epoch: as far as a score in Redis tells them apart


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
        """Remember a turn, list it, and tell the workers. Twice is fine.

        `run` is the input of an engine's turn, which the store of threads has by now: should that turn out to be lost
        together with the announcement, both are made again. Raises TooManyTurnsError where as many as there may be wait
        for a worker.
        """
        ...

    async def turn_of(self, run_id: str) -> str | None:
        """Say which turn a run belongs to; None for a run that nobody announced, or that ended long ago."""
        ...

    async def run_of(self, turn_id: str) -> str | None:
        """Say under which run a turn's events are kept."""
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
