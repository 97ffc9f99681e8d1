"""A queue of turns in memory, that a test fills and looks into; and a stage with a worker, a log and virtual time."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from tests.kit.turns import brief
from turnwire.messages.entries import EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.events import StreamEvent
from turnwire.runtime.host import Runtime, open_runtime
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.queue.announcement import Announcement, Kind, Ticket
from turnwire.runtime.settings import LimitSettings, Settings, TurnSettings, WorkerSettings
from turnwire.runtime.worker import EngineWork, Worker


class FakeQueue:
    """Keeps announcements in lists."""

    def __init__(self) -> None:
        self.name = "w"
        self.waiting: list[Ticket] = []
        self.fallen: list[Ticket] = []
        """What other workers let fall."""
        self.pending: dict[EntryId, Ticket] = {}
        self.finished: list[EntryId] = []
        self.kept: list[tuple[float, list[EntryId]]] = []
        self.handed_over = 0
        self.is_away = False
        self.broken: Exception | None = None
        self.is_broken_once = False
        self.is_frozen = False
        """Does handing over get no answer?"""
        self._patience_is_over = trio.Event()
        self._numbers = 0
        self._news = trio.Event()

    def announce(self, turn_id: str, *, kind: Kind = "events", age: float = 0.0, fallen: bool = False) -> EntryId:
        """Put a turn in, announced so long ago."""
        self._numbers += 1
        entry_id = EntryId(round((time.time() - age) * 1000), self._numbers)
        turn = Announcement(run_id=f"r{turn_id}", turn_id=turn_id, thread_id="th", kind=kind)
        (self.fallen if fallen else self.waiting).append(Ticket(id=entry_id, announcement=turn))
        self._news.set()
        return entry_id

    @asynccontextmanager
    async def open_reading(self) -> AsyncGenerator[None, None]:
        yield

    async def take(self, most: int) -> list[Ticket]:
        self._check()
        while not self.waiting:
            self._news = trio.Event()
            await self._news.wait()
        return self._hand_out(self.waiting, most)

    async def keep(self, ids: Sequence[EntryId]) -> None:
        await trio.lowlevel.checkpoint()
        self._check()
        self.kept.append((trio.current_time(), list(ids)))

    async def take_over(self, most: int) -> list[Ticket]:
        await trio.lowlevel.checkpoint()
        self._check()
        return self._hand_out(self.fallen, most)

    async def finish(self, turn: Announcement, ids: Sequence[EntryId]) -> None:  # noqa: ARG002  # as a queue is asked
        await trio.lowlevel.checkpoint()
        self._check()
        for entry_id in ids:
            del self.pending[entry_id]
            self.finished.append(entry_id)

    async def hand_over(self) -> int:
        await trio.lowlevel.checkpoint()
        if self.is_frozen:
            await self._patience_is_over.wait()
            raise LogUnavailableError("aborted")
        self._check()
        self.handed_over = len(self.pending)
        return self.handed_over

    def abort(self) -> None:
        self._patience_is_over.set()

    async def forget_gone_workers(self) -> None:
        await trio.lowlevel.checkpoint()

    def _hand_out(self, tickets: list[Ticket], most: int) -> list[Ticket]:
        taken = tickets[:most]
        del tickets[:most]
        self.pending |= {ticket.id: ticket for ticket in taken}
        return taken

    def _check(self) -> None:
        if self.broken is not None:
            broken, self.broken = self.broken, None if self.is_broken_once else self.broken
            raise broken
        if self.is_away:
            raise LogUnavailableError("away")


@attrs.define
class Stage:
    """A worker at work, and what it works with."""

    worker: Worker
    queue: FakeQueue
    log: MemoryLog
    runtime: Runtime

    async def publish(self, turn_id: str, *events: StreamEvent | bytes) -> None:
        """Write to the turn's log A."""
        await self.log.append_events(f"r{turn_id}", events)

    async def told(self, turn_id: str) -> list[str]:
        """Give what log B says, in a few words each."""
        return [brief(output) for output in await self.log.outputs(turn_id)]


@asynccontextmanager
async def open_stage(
    *,
    log: MemoryLog | None = None,
    engine: EngineWork | None = None,
    turns: int = 100,
    turn: dict[str, Any] | None = None,
    **worker: Any,
) -> AsyncGenerator[Stage, None]:
    """Have a worker run for the length of a block; it is told to stop at its end."""
    turn_settings: dict[str, Any] = {"batch_gradient": (10,), **(turn or {})}
    worker_settings: dict[str, Any] = {"claim_idle": 10.0, "heartbeat": 2.5, "grace": 1.0, **worker}
    settings = Settings(
        worker=WorkerSettings(name="w", **worker_settings),
        turn=TurnSettings(**turn_settings),
        limits=LimitSettings(turns=turns),
    )
    queue, memory = FakeQueue(), log or MemoryLog()
    async with open_runtime(sink=memory, options=settings.turn_options) as runtime, trio.open_nursery() as nursery:
        at_work = Worker(memory, runtime, queue, settings, engine=engine)
        nursery.start_soon(at_work.run)
        yield Stage(at_work, queue, memory, runtime)
        at_work.stop()
