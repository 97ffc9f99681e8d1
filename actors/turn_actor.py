"""The actor of one turn: drains its channel into the rules, and looks after its item tasks and its writer.

Everything that decides is in the core; this room only waits and starts tasks. `catch_up` is synchronous, so whoever
calls it (the actor when woken, an item's task at its deadline, a host that asks for the buffers) finds and leaves the
turn in one piece.

```
turn <id>          parks until woken; drains the channel; ends when the rules say that the turn has ended
├─ item <id>       one per live item that is not held: sleeps until its deadline, then catches up
└─ writer          while there is something to write
```
"""

import logging
from collections.abc import Callable
from math import inf
from typing import assert_never, cast

import attrs
import trio

from turnwire.actors.commands import CloseTurn, Command, FailTurn, FlushTurn
from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered
from turnwire.actors.core.retry import RetryPolicy
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.actors.deliveries import Deliveries
from turnwire.actors.groups import leaves
from turnwire.actors.item import attend_item
from turnwire.actors.mailbox import TO_LOOK, TO_WRITE, TO_WRITE_ON, Mailbox, Reason
from turnwire.actors.parking import ParkingSpace
from turnwire.actors.ports import EventIds, Outlet, Timestamps
from turnwire.actors.writer import run_writer
from turnwire.messages.errors import FencedError, ProtocolError, RetryExhaustedError, TurnwireError

log = logging.getLogger("turnwire.turn")


class TurnActor(ParkingSpace):
    """Runs one turn from its first event to its last emission."""

    __slots__ = (
        "__weakref__",
        "_is_held_up",
        "_is_news_in",
        "_is_writing",
        "_last_words",
        "_nursery",
        "_on_end",
        "_outlet",
        "_waiters",
        "deliveries",
        "ended",
        "expires_at",
        "failure",
        "is_cancelled",
        "machine",
        "mailbox",
        "options",
        "turn_id",
        "undelivered",
    )

    def __init__(
        self,
        turn_id: str,
        thread_id: str,
        options: TurnOptions,
        outlet: Outlet,
        *,
        timestamps: Timestamps,
        event_ids: EventIds,
        on_end: "Callable[[TurnActor], None]",
        resume: Recovered | None = None,
        age: float = 0.0,
    ) -> None:
        super().__init__()
        self.turn_id = turn_id
        self.options = options
        self.machine = TurnMachine(turn_id, thread_id, options) if resume is None else resume.machine
        self.deliveries = Deliveries(
            turn_id,
            self.machine.outbox,
            () if resume is None else resume.shown.outputs,
            timestamps=timestamps,
            event_ids=event_ids,
        )
        self.failure: TurnwireError | None = None
        self.undelivered = 0
        self.ended = False
        self.expires_at = trio.current_time() + options.deadline - age
        self.mailbox = Mailbox(options, self.machine.items.live)
        self._outlet = outlet
        self._on_end = on_end
        self._nursery: trio.Nursery | None = None
        self._waiters: trio.Event | None = None
        self.is_cancelled = False
        self._is_held_up = False
        self._is_news_in = False  # is the writer to look before it takes what is next
        self._is_writing = False
        self._last_words: trio.CancelScope | None = None

    # What others call

    def wake(self, reason: Reason = TO_LOOK, *, now: float = inf) -> None:
        """Have the turn catch up soon. When that is likely to write something, the writer does both in one go."""
        nursery = self._nursery
        if self._is_writing and reason == TO_WRITE_ON and self.machine.outbox.is_in_time(now):
            self._is_news_in = True
        elif (
            reason >= TO_WRITE
            and nursery is not None
            and not (self._is_writing or self.machine.ended or _is_over(nursery))
        ):
            self._start_writer(nursery)
        else:
            self.call()

    def cancel(self) -> None:
        """Stop at once: nothing is flushed, nothing more is delivered."""
        self.is_cancelled = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()
        if self._last_words is not None:
            self._last_words.cancel()

    async def wait_ended(self) -> None:
        """Wait until the last emission was taken, or the turn has failed."""
        if not self.ended:
            if self._waiters is None:
                self._waiters = trio.Event()
            await self._waiters.wait()

    def deadline(self, item: ItemBuffer) -> float:
        """Say when this item's timeout is due; inf if none runs."""
        return self.machine.items.deadline(item)

    def expire(self) -> None:
        """End the turn because it has been open too long."""
        self.catch_up(regardless=True)
        reason = f"the turn was open longer than {self.options.deadline:g} s"
        try:
            self.machine.fail("TURN_TIMEOUT", reason, now=trio.current_time())
        except Exception as exc:  # noqa: BLE001  # as in catch_up: whoever calls us is not of this turn
            self._crash(exc)
        self._attend()

    def catch_up(self, *, regardless: bool = False) -> None:
        """Process everything that has come in and everything that is due.

        Stops short when the outbox is full, unless told to go on `regardless`. A crash stays in this turn.
        """
        if self.ended:
            return
        self._is_news_in = False
        try:
            self._drain(trio.current_time(), regardless=regardless)
        except Exception as exc:  # noqa: BLE001  # whatever it is, it is this turn's alone
            self._crash(exc)
        self._attend()

    # The task

    async def run(self) -> None:
        """Be the turn's task: returns when its last emission was taken, or when it has failed."""
        try:
            try:
                async with trio.open_nursery() as self._nursery:
                    if self.is_cancelled:
                        self._nursery.cancel_scope.cancel()
                    self.catch_up()
                    while not self.machine.ended:
                        await (self._wait_for_room() if self._is_held_up else self.wait())
                        self.catch_up()
            except* (RetryExhaustedError, FencedError) as failures:
                self._fail(failures)
            except* Exception as crashes:  # noqa: BLE001  # whatever it is, it is this turn's alone
                self._crash(crashes)
            finally:
                self._nursery = None  # nothing can be started in it any more
                self.mailbox.is_open = False
            if isinstance(self.failure, ProtocolError):
                await self._say_last_words()
        finally:
            self._finish()

    async def _say_last_words(self) -> None:
        """Deliver what was made before the crash, and the turn_error, if that is possible at all."""
        if self.is_cancelled:
            return
        try:
            with trio.CancelScope() as self._last_words:
                await self._run_writer()
        except Exception as exc:  # noqa: BLE001  # the log and the host know of the crash; there is no other ear
            log.warning("turn %s could not tell its sink that it crashed: %r", self.turn_id, exc)

    async def _wait_for_room(self) -> None:
        """Wait until the writer gets on, or until the sink counts as behind."""
        with trio.move_on_at(self.machine.outbox.asks_again_at):
            await self.wait()

    def _drain(self, now: float, *, regardless: bool) -> None:
        machine, outbox = self.machine, self.machine.outbox
        if self._is_held_up and not (outbox.open_at(now) or regardless):
            return
        push_delta, made = machine.push_delta, -1
        while (slots := self.mailbox.take()) is not None:
            try:
                for arrival, event_id, item_id, what in zip(slots, slots, slots, slots, strict=True):
                    if item_id:
                        push_delta(event_id, item_id, what, now=arrival)
                    elif event_id:
                        machine.push(event_id, what, now=arrival)
                    else:
                        self._obey(what, arrival)
                    if outbox.made != made:
                        made = outbox.made
                        if not (outbox.open_at(now) or regardless or machine.ended):
                            self._is_held_up = True
                            return
            finally:
                self.mailbox.put_back(slots)  # what was not looked at: the outbox is full, or the rules crashed
        machine.tick(now=now)
        if self._is_held_up:
            self._is_held_up = False
            machine.items.changed.extend(machine.items.live.values())  # they may have slept through a deadline

    def _obey(self, command: Command, now: float) -> None:
        match command:
            case FlushTurn():
                self.machine.flush(now=now)
                self.deliveries.await_flush(command)
            case FailTurn():
                self.machine.fail(command.code, command.message, now=now)
            case CloseTurn():
                self.machine.close(now=now)
            case _:
                assert_never(command)

    def _attend(self) -> None:
        """Start, wake and end tasks as the rules now have it."""
        machine, nursery = self.machine, self._nursery
        if nursery is None or _is_over(nursery):
            return  # the task has not begun and will see to it, or it is on its way out
        if machine.items.changed:
            for item in machine.items.changed:
                attend_item(item, self, nursery)
            machine.items.changed.clear()
        if not self._is_writing and not machine.outbox.is_empty:
            self._start_writer(nursery)
        self.deliveries.answer_flushes()
        if machine.ended:
            self.mailbox.is_open = False
            self.call()

    def _start_writer(self, nursery: trio.Nursery) -> None:
        self._is_writing = True
        nursery.start_soon(self._write, name=f"writer of turn {self.turn_id}")

    async def _write(self) -> None:
        self.catch_up()
        try:
            await self._run_writer()
        finally:
            self._is_writing = False

    async def _run_writer(self) -> None:
        await run_writer(self.deliveries, self._outlet, self)

    # What the writer calls

    def look(self) -> None:
        """Catch up, if more may be emitted than before: more has come in, or the sink has made room."""
        if self._nursery is not None and (self._is_news_in or self._is_held_up):  # last words are added to by nobody
            self.catch_up()

    def retry_policy(self) -> RetryPolicy:
        """Say how often and how fast to try again, as of now."""
        policy = self.options.retry
        if policy.attempts is None and trio.current_time() >= self.expires_at:
            return attrs.evolve(policy, attempts=0)  # past its deadline a turn no longer waits for its sink
        return policy

    # Ends

    def _crash(self, exc: BaseException) -> None:
        log.error("turn %s crashed", self.turn_id, exc_info=exc)
        what = ", ".join(type(leaf).__name__ for leaf in leaves(exc))
        self.failure = ProtocolError(f"turn {self.turn_id} crashed: {what}")
        self.failure.__cause__ = exc
        self.machine.crash(now=trio.current_time())

    def _fail(self, failures: BaseExceptionGroup[RetryExhaustedError | FencedError]) -> None:
        failure = next(leaves(failures))
        self.failure = cast("RetryExhaustedError | FencedError", failure)
        if isinstance(failure, FencedError):
            log.info("turn %s has another owner now", self.turn_id)
        else:
            log.error("%s", failure)

    def _finish(self) -> None:
        unread = 0
        for _, event_id, _, what in self.mailbox.close():
            unread += bool(event_id)  # a command is no event
            if isinstance(what, FlushTurn):
                what.done.set()
        self.machine.ended = True
        emissions = self.deliveries.end()
        self.undelivered = emissions + unread
        if self.undelivered:
            log.warning("turn %s: %d emissions and %d events not delivered", self.turn_id, emissions, unread)
        self.ended = True
        if self._waiters is not None:
            self._waiters.set()
        self._on_end(self)


def _is_over(nursery: trio.Nursery) -> bool:
    """Has the turn failed or been cancelled? Then nothing is started in it any more."""
    return nursery.cancel_scope.cancel_called
