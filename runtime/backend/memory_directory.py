"""The directory of turns in memory: for a service that is one process."""

import time
from collections.abc import Sequence
from math import inf

import attrs
import trio

from turnwire.messages.runs import RunInput
from turnwire.runtime.backend.directory import (
    ListedTurn,
    RecentTurns,
    check_free,
    cursor_of,
    parse_cursor,
    place_of,
)
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.queue.memory import MemoryQueue
from turnwire.runtime.threads import MemoryThreads


@attrs.frozen
class _Known:
    turn: Announcement
    listed: ListedTurn
    forget_at: float
    has_input: bool


class MemoryDirectory:
    """Knows the turns of this process. Each is forgotten `expire_after` seconds after it was announced."""

    def __init__(self, queue: MemoryQueue, *, threads: MemoryThreads | None = None, expire_after: float = inf) -> None:
        """`threads` is where the inputs of engines' turns are kept."""
        self._queue = queue
        self._run_inputs = threads or MemoryThreads()
        self._expire_after = expire_after
        self._turns: dict[str, _Known] = {}  # by turn, oldest first
        self._runs: dict[str, str] = {}
        self._threads: dict[str, dict[str, None]] = {}

    async def announce(self, turn: Announcement, run: RunInput | None = None) -> None:
        """Remember a turn, list it, and tell the worker. Twice is fine."""
        await trio.lowlevel.checkpoint()
        known = self._known(turn.turn_id)
        turn_id = self._runs.get(turn.run_id)
        run_id, thread_id = (None, None) if known is None else (known.turn.run_id, known.turn.thread_id)
        if check_free(turn, turn_id=turn_id, run_id=run_id, thread_id=thread_id):
            return
        self._queue.announce(turn)  # first: it may refuse; nobody takes it before we wait
        if run is not None:
            self._run_inputs.put_input_nowait(run)
        listed = ListedTurn(turn.turn_id, round(time.time() * 1000))
        self._turns[turn.turn_id] = _Known(
            turn, listed, trio.current_time() + self._expire_after, has_input=run is not None
        )
        self._runs[turn.run_id] = turn.turn_id
        self._threads.setdefault(turn.thread_id, {})[turn.turn_id] = None

    async def turn_of(self, run_id: str) -> str | None:
        """Say which turn a run belongs to."""
        await trio.lowlevel.checkpoint()
        self._forget()
        return self._runs.get(run_id)

    async def run_of(self, turn_id: str) -> str | None:
        """Say under which run a turn's events are kept."""
        await trio.lowlevel.checkpoint()
        known = self._known(turn_id)
        return None if known is None else known.turn.run_id

    async def has_input(self, run_id: str) -> bool:
        """Say whether a run was announced with an input."""
        turn_id = await self.turn_of(run_id)
        return turn_id is not None and self._turns[turn_id].has_input

    async def thread_of(self, turn_id: str) -> str | None:
        """Say which thread a turn belongs to."""
        await trio.lowlevel.checkpoint()
        known = self._known(turn_id)
        return None if known is None else known.turn.thread_id

    async def threads_of(self, turn_ids: Sequence[str]) -> tuple[str | None, ...]:
        """Say it of many turns at once."""
        await trio.lowlevel.checkpoint()
        known = map(self._known, turn_ids)
        return tuple(None if it is None else it.turn.thread_id for it in known)

    async def turns_of(self, thread_id: str) -> tuple[ListedTurn, ...]:
        """List a thread's turns, oldest first."""
        await trio.lowlevel.checkpoint()
        self._forget()
        listed = [self._turns[turn_id].listed for turn_id in self._threads.get(thread_id, ())]
        return tuple(sorted(listed, key=place_of))

    async def recent(self, *, before: str | None = None, limit: int = 50) -> RecentTurns:
        """List turns of all threads, newest first, from a cursor on."""
        end = None if before is None else place_of(parse_cursor(before))
        await trio.lowlevel.checkpoint()
        self._forget()
        listed = (known.listed for known in self._turns.values())
        older = sorted((it for it in listed if end is None or place_of(it) < end), key=place_of, reverse=True)
        page = tuple(older[:limit])
        return RecentTurns(page, cursor_of(page[-1]) if len(older) > limit else None)

    def _known(self, turn_id: str) -> _Known | None:
        self._forget()
        return self._turns.get(turn_id)

    def _forget(self) -> None:
        now = trio.current_time()
        while self._turns:
            turn_id, known = next(iter(self._turns.items()))
            if known.forget_at > now:
                return
            del self._turns[turn_id]
            self._runs.pop(known.turn.run_id, None)
            thread = self._threads[known.turn.thread_id]
            thread.pop(turn_id, None)
            if not thread:
                del self._threads[known.turn.thread_id]
