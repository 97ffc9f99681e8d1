"""A worker: takes turns from the queue, works on each, takes over those of workers that died, and hands its own over.

```
run_worker
├─ log               connections, group commit, shared reader     (outlives all below)
├─ runtime           the actors of the turns
└─ worker
   ├─ turn tasks     one per turn taken: turn_work.py
   ├─ keeper         supervised: keeps claims alive, takes over what others let fall
   ├─ silence        supervised: ends turns whose producer went silent
   └─ taker          supervised: takes new turns                  (innermost: first to stop)
```

A lost connection ends none of them: they try again until Redis is back. A supervised task that fails otherwise is
started again within its budget; past that the failure goes up and ends the worker, which still hands its turns over.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from math import inf

import trio

from turnwire.actors.core.retry import retry_delay
from turnwire.actors.parking import ParkingSpace
from turnwire.actors.supervisor import run_supervised
from turnwire.messages.entries import EntryId
from turnwire.messages.errors import LogUnavailableError, TurnwireError
from turnwire.runtime.host import Runtime
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.observe import get_logger
from turnwire.runtime.queue.announcement import Ticket
from turnwire.runtime.queue.interface import WorkQueue
from turnwire.runtime.settings import Settings
from turnwire.runtime.worker.claim import Claim
from turnwire.runtime.worker.counts import WorkerCounts
from turnwire.runtime.worker.turn_work import EngineWork, TurnWork

log = get_logger("turnwire.worker")

AT_ONCE = 16  # turns taken in one go: few, so that workers that start together share what is there
LAST_WORDS = 2.0  # seconds: the longest that handing over may take, when Redis does not answer
FIRST_WORDS = 0.1  # seconds: the least that it gets, however short the grace time


class Worker:
    """Works until told to stop."""

    def __init__(
        self,
        turn_log: TurnLog,
        runtime: Runtime,
        queue: WorkQueue,
        settings: Settings,
        *,
        engine: EngineWork | None = None,
    ) -> None:
        self.counts = WorkerCounts()
        self.queue = queue
        self._settings = settings.worker
        self._most = settings.limits.turns
        # The last part of the grace time is for handing over, so that all of it is over when the grace time is.
        self._patience = max(FIRST_WORDS, min(LAST_WORDS, settings.worker.grace / 5))
        self._work = TurnWork(
            turn_log,
            runtime,
            queue,
            settings.turn_options,
            self.counts,
            stall_timeout=settings.worker.stall_timeout,
            engine=engine,
        )
        self._claims: dict[str, Claim] = {}
        self._turns: trio.Nursery | None = None
        self._has_ended = ParkingSpace()  # a turn has: there is room again
        self._idle = trio.Event()
        self._is_stopping = False
        self._is_reached = True
        self._reached_since = -inf
        self._stop = trio.Event()

    @property
    def live(self) -> int:
        """Turns that are worked on now."""
        return len(self._claims)

    @property
    def oldest_claim(self) -> float:
        """Seconds since the oldest turn that is worked on now was taken."""
        return max((trio.current_time() - claim.taken_at for claim in self._claims.values()), default=0.0)

    @property
    def is_connected(self) -> bool:
        """Did the queue answer when it was last asked?"""
        return self._is_reached

    def stop(self) -> None:
        """Take no more turns; `run` returns when those there are have ended or were handed over, in the grace time."""
        self._stop.set()

    def stop_at_once(self) -> None:
        """Do not wait for turns to end: hand them over."""
        self._stop.set()
        self._idle.set()

    async def run(self) -> None:
        """Be the worker. Raises what a long-lived task failed with, past its restart budget."""
        log.info("worker started", worker=self.queue.name)
        left = 0
        try:
            async with trio.open_nursery() as self._turns:
                try:
                    await self._run_loops()
                finally:
                    left = self.live  # before they are cancelled, which takes them off our list
                self._turns.cancel_scope.cancel()
        finally:
            await self._hand_over(left)
            log.info("worker ended", worker=self.queue.name, **self._facts())

    async def _run_loops(self) -> None:
        async with trio.open_nursery() as loops:
            self._supervise(loops, "keeper", self._keep)
            self._supervise(loops, "silence", self._watch_silence)
            async with trio.open_nursery() as taking:
                self._supervise(taking, "taker", self._take)
                await self._stop.wait()
                self._is_stopping = True
                log.info("worker stops", worker=self.queue.name, **self._facts())
                taking.cancel_scope.cancel()
            if self._claims:
                with trio.move_on_after(max(0.0, self._settings.grace - self._patience)):
                    await self._idle.wait()
            loops.cancel_scope.cancel()

    def _supervise(self, nursery: trio.Nursery, name: str, body: Callable[[], Awaitable[object]]) -> None:
        run = partial(run_supervised, body, name=f"worker's {name}", budget=self._settings.restart_budget)
        nursery.start_soon(run, name=name)

    # Long-lived tasks

    async def _take(self) -> None:
        """Take turns, never more than there is room for."""
        async with self.queue.open_reading():
            failed = 0
            while True:
                while (room := self._most - len(self._claims)) <= 0:
                    await self._has_ended.wait()
                try:
                    tickets = await self.queue.take(min(room, AT_ONCE))
                except LogUnavailableError as exc:
                    if not failed:  # once per outage: the rest is said by the keeper
                        log.warning("queue cannot be read", error=str(exc))
                    await trio.sleep(retry_delay(failed, base=0.05, longest=1.0))
                    failed += 1
                    continue
                failed = 0
                for ticket in tickets:
                    self._start(ticket)

    async def _keep(self) -> None:
        """Keep claims alive, and take over what others let fall."""
        failed = 0
        while True:
            try:
                await self.queue.keep(self._ids())
                self._note_reached()
                await self._take_over()
                failed = 0
                await trio.sleep(self._settings.heartbeat)
            except LogUnavailableError as exc:
                if self._is_reached:
                    self.counts.disconnects += 1
                    log.warning("queue cannot be reached", error=str(exc))
                self._is_reached = False
                await trio.sleep(retry_delay(failed, base=0.05, longest=min(1.0, self._settings.heartbeat)))
                failed += 1

    async def _take_over(self) -> None:
        # After an outage of the server nobody has been heard of for long. So all get the idle time to speak first.
        is_time = trio.current_time() >= self._reached_since + self._settings.claim_idle
        if is_time and not self._is_stopping and (room := self._most - len(self._claims)) > 0:
            for ticket in await self.queue.take_over(room):
                log.info("took over", turn=ticket.announcement.turn_id, entry=str(ticket.id))
                self._start(ticket)
            await self.queue.forget_gone_workers()

    async def _watch_silence(self) -> None:
        """End turns whose producer has been silent for too long; an outage of Redis is not the producer's silence."""
        stall = self._settings.stall_timeout
        while True:
            now, next_at = trio.current_time(), inf
            for claim in self._claims.values():
                due_at = max(claim.heard_at, self._reached_since) + stall
                if due_at <= now and self._is_reached:
                    claim.stall()
                elif not claim.is_stalled:
                    next_at = min(next_at, max(due_at, now + 1.0) if due_at <= now else due_at)
            await trio.sleep_until(min(next_at, now + stall))

    # Turns

    def _start(self, ticket: Ticket) -> None:
        turn = ticket.announcement
        claim = self._claims.get(turn.turn_id)
        if claim is not None:
            if ticket.id not in claim.ids:
                self.counts.repeated += 1
                claim.ids.append(ticket.id)  # announced twice: both are kept, and go when the turn has ended
            return
        claim = self._claims[turn.turn_id] = Claim.of(ticket, now=trio.current_time())
        assert self._turns is not None  # noqa: S101  # only tasks inside `run` start turns
        self._turns.start_soon(self._run_turn, claim, name=f"work on turn {turn.turn_id}")

    async def _run_turn(self, claim: Claim) -> None:
        try:
            await self._work.run(claim)
        finally:
            del self._claims[claim.turn.turn_id]
            self._has_ended.call()
            if self._is_stopping and not self._claims:
                self._idle.set()

    async def _hand_over(self, left: int) -> None:
        """Have others take at once what is left of ours. If Redis does not answer, they do after the idle time."""
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._give_up_later, name="patience with the queue")
                try:
                    self.counts.handed_over += await self.queue.hand_over()
                except TurnwireError as exc:
                    if left:
                        log.warning("turns could not be handed over; others wait for the idle time", error=str(exc))
                nursery.cancel_scope.cancel()

    async def _give_up_later(self) -> None:
        await trio.sleep(self._patience)
        self.queue.abort()  # a thread that waits for an answer cannot be cancelled otherwise

    def _ids(self) -> list[EntryId]:
        return [entry_id for claim in self._claims.values() for entry_id in claim.ids]

    def _note_reached(self) -> None:
        if not self._is_reached:
            self._is_reached = True
            self._reached_since = trio.current_time()
            log.info("queue is back")

    def _facts(self) -> dict[str, int]:
        counts = self.counts
        return {
            "live": self.live,
            "claimed": counts.claimed,
            "recovered": counts.recovered,
            "fenced": counts.fenced,
            "finished": counts.finished,
            "handed_over": counts.handed_over,
        }
