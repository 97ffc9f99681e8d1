"""One turn from its claim to its acknowledgement: the body of a worker's turn task.

1. The fence: `log.claim`. Refused means that another has the turn: stop quietly, and do not acknowledge.
2. Log B is folded and log A is read, page by page, through the rules; what readers are owed goes out first.
3. Then live: events as they come, until the turn has its terminal, by an event or for a reason of ours.
4. The terminal is in log B: log A gets its time to live, and the queue entry goes.

Killed anywhere before the end of 4, the next owner begins at 1. A turn that fails without a terminal is let go: its
entry stays in the queue, nobody keeps it alive, and so it is taken up again after the idle time.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from typing import TypeAlias, TypeVar

import trio

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered, Recovery
from turnwire.actors.core.retry import retry_delay
from turnwire.actors.engine_ports import Publish
from turnwire.actors.persist import persist
from turnwire.actors.ports import make_event_id
from turnwire.actors.turn import Turn
from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.errors import (
    FencedError,
    InvalidEventError,
    LogUnavailableError,
    TooManyReadersError,
    TurnwireError,
)
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import SnapshotFold, TurnSnapshot
from turnwire.messages.outputs import TurnFailure
from turnwire.runtime.host import Runtime
from turnwire.runtime.logs import TurnLog
from turnwire.runtime.logs.paging import output_of, read_through
from turnwire.runtime.observe import get_logger
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.queue.interface import WorkQueue
from turnwire.runtime.queue.words import close_event
from turnwire.runtime.worker.claim import Claim
from turnwire.runtime.worker.counts import WorkerCounts

log = get_logger("turnwire.worker")

_T = TypeVar("_T")

EngineWork: TypeAlias = Callable[[Announcement, Publish], Awaitable[object]]
"""Runs the agent loop of a turn: publishes its events to log A, where everybody finds them, this worker included."""

CRASHED = TurnFailure(code="INTERNAL_ERROR", message="the turn failed for an internal reason")
ENGINE_LOST = TurnFailure(code="ENGINE_LOST", message="the worker that ran this turn's model is gone")
NO_ENGINE = TurnFailure(code="NO_ENGINE", message="the worker that took this turn has no engine to run it with")


class TurnWork:
    """Works on turns, each in a task of its own."""

    def __init__(
        self,
        turn_log: TurnLog,
        runtime: Runtime,
        queue: WorkQueue,
        options: TurnOptions,
        counts: WorkerCounts,
        *,
        stall_timeout: float,
        engine: EngineWork | None = None,
    ) -> None:
        self._log = turn_log
        self._runtime = runtime
        self._queue = queue
        self._options = options
        self._counts = counts
        self._stall_timeout = stall_timeout
        self._engine = engine

    async def run(self, claim: Claim) -> None:
        """Be a turn's task. Whatever goes wrong stays in it."""
        facts = log.bind(turn=claim.turn.turn_id, run=claim.turn.run_id)
        try:
            await self._work(claim)
        except FencedError:
            self._counts.fenced += 1
            facts.info("fenced")
        except Exception as exc:  # noqa: BLE001  # it is this turn's alone
            self._counts.let_go += 1
            facts.error("turn let go; it is tried again after the idle time", error=repr(exc), exc_info=exc)
        else:
            self._counts.finished += 1
            facts.info("finished", seconds=round(trio.current_time() - claim.taken_at, 3))

    async def _work(self, claim: Claim) -> None:
        turn = claim.turn
        epoch = await _persist(partial(self._log.claim, turn.turn_id))
        self._counts.claimed += 1
        self._counts.recovered += epoch > 1
        age = max(0.0, time.time() - claim.announced_ms / 1000)
        log.info("claimed", turn=turn.turn_id, run=turn.run_id, epoch=epoch, age=round(age, 3))
        # The first owner finds nothing: whoever writes to log B puts up a fence before.
        shown = await self._read_shown(turn.turn_id) if epoch > 1 else TurnSnapshot()
        if shown.terminal is None:
            try:
                after, resume = await self._replay(turn, shown, epoch)
            except TurnwireError:
                raise
            except Exception:  # the rules cannot read this turn, and no other owner's could
                log.exception("turn crashed in its replay", turn=turn.turn_id)
                after, resume = START, self._end_at_once(turn, shown, CRASHED)
            await self._run_turn(claim, resume, epoch, age, after)
        else:
            await _persist(partial(self._log.expire, turn.turn_id))
        await _persist(partial(self._log.expire_events, turn.run_id))
        await _persist(partial(self._queue.finish, turn, claim.ids))

    # Before it is live

    async def _read_shown(self, turn_id: str) -> TurnSnapshot:
        fold = SnapshotFold()

        async def read(*, after: EntryId, limit: int) -> Sequence[Entry]:
            return await _persist(partial(self._log.read, turn_id, after=after, limit=limit))

        def take(entry: Entry) -> None:
            if (output := output_of(entry, log)) is not None:
                fold.push(output)

        await read_through(read, take)
        return fold.snapshot()

    async def _replay(self, turn: Announcement, shown: TurnSnapshot, epoch: int) -> tuple[EntryId, Recovered]:
        """Read all of log A; give where it ends, and the turn as it goes on."""
        recovery = Recovery(turn.turn_id, turn.thread_id, self._options, shown)

        async def read(*, after: EntryId, limit: int) -> Sequence[RawEntry]:
            return await _persist(partial(self._log.read_events, turn.run_id, after=after, limit=limit))

        def take(entry: RawEntry) -> None:
            try:
                recovery.push(entry.event)
            except InvalidEventError as exc:
                self._complain(turn, exc)

        last = await read_through(read, take)
        lost = None
        if turn.kind == "engine" and epoch > 1:
            lost = ENGINE_LOST
        elif turn.kind == "engine" and self._engine is None:
            lost = NO_ENGINE
        return START if last is None else last.id, recovery.finish(now=trio.current_time(), lost=lost)

    def _end_at_once(self, turn: Announcement, shown: TurnSnapshot, why: TurnFailure) -> Recovered:
        recovery = Recovery(turn.turn_id, turn.thread_id, self._options, shown)
        return recovery.finish(now=trio.current_time(), lost=why)

    # Live

    async def _run_turn(self, claim: Claim, resume: Recovered, epoch: int, age: float, after: EntryId) -> None:
        """Run the turn until its terminal is in log B. Raises what it failed with if that is not so."""
        is_live = not resume.machine.ended
        turn = self._runtime.open_turn(
            turn_id=claim.turn.turn_id,
            thread_id=claim.turn.thread_id,
            resume=resume,
            event_ids=partial(make_event_id, epoch=epoch),
            age=age,
        )
        try:
            async with trio.open_nursery() as nursery:
                if is_live:
                    nursery.start_soon(self._feed, claim, turn, after, name=f"events of turn {turn.turn_id}")
                    if claim.turn.kind == "engine" and self._engine is not None:
                        nursery.start_soon(self._drive, claim, turn, self._engine, name=f"engine of {turn.turn_id}")
                with contextlib.suppress(TurnwireError):
                    await turn.wait_end()
                nursery.cancel_scope.cancel()
        finally:
            turn.cancel()  # nothing, if it has ended
            with trio.CancelScope(shield=True), contextlib.suppress(TurnwireError):
                await turn.wait_end()  # what it has sent is seen through; then nothing of it is left
            claim.reader = None
        terminal = turn.snapshot().terminal
        if terminal is None:
            await turn.wait_end()
            raise LogUnavailableError(f"turn {turn.turn_id} has ended without a terminal")

    async def _feed(self, claim: Claim, turn: Turn, after: EntryId) -> None:
        """Hand the turn its events as they come, until it takes no more."""
        failed = 0
        while turn.is_open:
            claim.heard_at = trio.current_time()
            claim.reader = reader = self._log.follow_events(claim.turn.run_id, after=after)
            try:
                async with reader:
                    async for entry in reader:
                        failed = 0
                        claim.heard_at = inf
                        await self._send(claim, turn, entry.event)
                        claim.heard_at = trio.current_time()
            except (LogUnavailableError, TooManyReadersError) as exc:
                log.warning("events cannot be read for now", turn=turn.turn_id, error=str(exc))
                await trio.sleep(retry_delay(failed, base=0.05, longest=1.0))
                failed += 1
            except TurnwireError:
                return  # the turn has failed: whoever waits for its end knows why
            after = reader.cursor
            if claim.is_stalled:
                self._counts.stalled += 1
                reason = f"no event came for {self._stall_timeout:g} s"
                log.warning("stalled", turn=turn.turn_id, run=claim.turn.run_id)
                await _end(turn, "TURN_STALLED", reason)
                return
            turn.catch_up()  # a reader ends at what looks like an end; if the turn does not agree, there is more

    async def _send(self, claim: Claim, turn: Turn, event: bytes) -> None:
        try:
            await turn.send(event)
        except InvalidEventError as exc:
            self._complain(claim.turn, exc)

    def _complain(self, turn: Announcement, exc: InvalidEventError) -> None:
        self._counts.invalid_events += 1
        log.warning("invalid event", turn=turn.turn_id, run=turn.run_id, error=str(exc))

    async def _drive(self, claim: Claim, turn: Turn, engine: EngineWork) -> None:
        """Run the engine. It is cancelled when the turn ends, by a stop in log A too."""
        run_id = claim.turn.run_id

        async def publish(events: Sequence[StreamEvent | bytes]) -> None:
            await _persist(partial(self._log.append_events, run_id, events))

        try:
            await engine(claim.turn, publish)
        except Exception:  # an engine's failure is its turn's end, and no other's
            log.exception("engine failed", turn=turn.turn_id)
            await _end(turn, CRASHED.code, CRASHED.message)
            return
        # It has said all: what it published last is behind this in log A, and so is its end, if it has one.
        await publish([close_event(run_id, "the engine ended without an end of the turn")])


async def _end(turn: Turn, code: str, message: str) -> None:
    with contextlib.suppress(TurnwireError):
        await turn.fail(code, message)


async def _persist(operation: Callable[[], Awaitable[_T]]) -> _T:
    """Do something with a log or the queue, however long it takes until that can be reached."""
    return await persist(operation, on_outage=_say_outage)


def _say_outage(exc: LogUnavailableError) -> None:
    log.warning("Redis is away; trying again", error=str(exc))
