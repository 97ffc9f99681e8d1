"""The queue of turns in memory: with a log in memory and a worker it is the whole service in one process.

It keeps the rules of the queue in Redis. What was taken stays pending until it is finished; what nobody spoke of for
`claim_idle` seconds is given out again, and so a turn that was let go gets another try; what is handed over may be
taken at once, by the worker that comes next. One worker uses it at a time. Producers of the same process announce
without waiting, from any task of the worker's event loop.
"""

import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from turnwire.messages.entries import START, EntryId
from turnwire.messages.errors import TooManyTurnsError
from turnwire.runtime.logs.feeds import News
from turnwire.runtime.queue.announcement import Announcement, Ticket

CLAIM_IDLE = 10.0  # seconds, as the worker's own setting
MAX_TURNS = 10_000  # as many as a process works on by default


@attrs.define(eq=False)
class _Pending:
    ticket: Ticket
    spoken_at: float


class MemoryQueue:
    """Announcements of one process, for as long as it lives."""

    def __init__(self, *, name: str = "embedded", claim_idle: float = CLAIM_IDLE, max_turns: int = MAX_TURNS) -> None:
        if claim_idle <= 0 or max_turns < 1:
            raise ValueError(f"claim_idle must be above 0 and max_turns at least 1; got {claim_idle} and {max_turns}")
        self.name = name
        self._claim_idle = claim_idle
        self._max_turns = max_turns
        self._waiting: deque[Ticket] = deque()
        self._pending: dict[EntryId, _Pending] = {}
        self._announced: set[Announcement] = set()  # all that wait or are pending
        self._last_id = START
        self._news = News()

    def __len__(self) -> int:
        """How many turns were announced and have not ended."""
        return len(self._waiting) + len(self._pending)

    def announce(self, turn: Announcement) -> None:
        """Tell the worker that there is a turn, before its first event. Twice is fine.

        Raises TooManyTurnsError when as many as there may be have not ended yet.
        """
        if turn in self._announced:
            return
        if len(self) >= self._max_turns:
            raise TooManyTurnsError(f"turn {turn.turn_id}: {self._max_turns} turns are announced and have not ended")
        now_ms = round(time.time() * 1000)
        last = self._last_id  # ids are times, as in Redis, and never go back even if the clock does
        self._last_id = EntryId(now_ms, 0) if now_ms > last.major else EntryId(last.major, last.minor + 1)
        self._announced.add(turn)
        self._waiting.append(Ticket(id=self._last_id, announcement=turn))
        self._news.tell()

    @asynccontextmanager
    async def open_reading(self) -> AsyncGenerator[None, None]:
        """Be ready to take, for the length of a block: nothing to prepare here."""
        yield

    async def take(self, most: int) -> list[Ticket]:
        """Take turns that nobody has had, or that were handed over; waits until there is one."""
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            await self._news.wait()
        now = trio.current_time()
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._pending |= {ticket.id: _Pending(ticket, now) for ticket in taken}
        return taken

    async def keep(self, ids: Sequence[EntryId]) -> None:
        """Say that we still work on these."""
        await trio.lowlevel.checkpoint()
        now = trio.current_time()
        for entry_id in ids:
            if (pending := self._pending.get(entry_id)) is not None:
                pending.spoken_at = now

    async def take_over(self, most: int) -> list[Ticket]:
        """Take turns that nobody spoke of for too long: those that were let go."""
        await trio.lowlevel.checkpoint()
        now = trio.current_time()
        idle = [pending for pending in self._pending.values() if pending.spoken_at + self._claim_idle <= now][:most]
        for pending in idle:
            pending.spoken_at = now
        return [pending.ticket for pending in idle]

    async def finish(self, turn: Announcement, ids: Sequence[EntryId]) -> None:  # noqa: ARG002  # as a queue is asked
        """Take a turn whose terminal is in its log out of the queue. Twice is fine."""
        await trio.lowlevel.checkpoint()
        for entry_id in ids:
            if (pending := self._pending.pop(entry_id, None)) is not None:
                self._announced.discard(pending.ticket.announcement)

    async def hand_over(self) -> int:
        """Let the next worker take all that this one has, at once, oldest first; give how many those are."""
        await trio.lowlevel.checkpoint()
        handed = [pending.ticket for _, pending in sorted(self._pending.items(), key=lambda it: it[0])]
        self._pending.clear()
        self._waiting.extendleft(reversed(handed))
        if handed:
            self._news.tell()
        return len(handed)

    async def forget_gone_workers(self) -> None:
        """There is no other worker."""
        await trio.lowlevel.checkpoint()

    def abort(self) -> None:
        """Nobody waits for an answer: memory answers at once."""
