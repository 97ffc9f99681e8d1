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
from typing import TypeAlias, cast

import attrs
import trio

from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.outbox import Emission
from turnwire.actors.core.retry import RetryPolicy
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.actors.item import ItemClock
from turnwire.actors.parking import ParkingSpace
from turnwire.actors.ports import EventIds, OnEmit, Timestamps
from turnwire.actors.writer import run_writer
from turnwire.messages.errors import FencedError, ProtocolError, RetryExhaustedError, TurnwireError
from turnwire.messages.event_codec import WireDeltaPayload
from turnwire.messages.events import Payload
from turnwire.messages.folds import SnapshotFold
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import StreamMessage

log = logging.getLogger("turnwire.turn")


@attrs.define(eq=False)
class FlushTurn:
    """Emit what is there; `done` is set when the sink has taken it."""

    done: trio.Event = attrs.field(factory=trio.Event)
    mark: int = 0
    """Serial of the last emission that this flush waits for."""


@attrs.frozen
class CloseTurn:
    """End the turn: the host has no more to say."""


Entry: TypeAlias = tuple[float, str, Payload | WireDeltaPayload | FlushTurn | CloseTurn]
"""One thing sent to a turn: when it arrived, its event id ("" for a command), and what it is."""

Bundle: TypeAlias = list[Entry]
"""What travels through a turn's channel: entries that came while the actor had no reason to look. The last bundle in the
channel is open for more until the actor takes it or it is full; so most events cost an append, not a channel's send."""

BUNDLE_SIZE = 64


class TurnActor:
    """Runs one turn from its first event to its last emission."""

    __slots__ = (
        "__weakref__",
        "_bundle",
        "_clocks",
        "_event_ids",
        "_flushes",
        "_inbox",
        "_is_cancelled",
        "_is_held_up",
        "_is_writing",
        "_nursery",
        "_on_emit",
        "_on_end",
        "_position",
        "_reason",
        "_seq",
        "_timestamps",
        "_waiters",
        "bundle_size",
        "ended",
        "events",
        "expires_at",
        "failure",
        "fold",
        "is_open",
        "machine",
        "open_bundle",
        "options",
        "turn_id",
        "undelivered",
    )

    def __init__(
        self,
        turn_id: str,
        thread_id: str,
        options: TurnOptions,
        on_emit: OnEmit,
        *,
        timestamps: Timestamps,
        event_ids: EventIds,
        on_end: "Callable[[TurnActor], None]",
    ) -> None:
        self.turn_id = turn_id
        self.options = options
        self.machine = TurnMachine(turn_id, thread_id, options)
        self.fold = SnapshotFold()
        self.failure: TurnwireError | None = None
        self.undelivered = 0
        self.is_open = True  # does it take events? Not after its terminal, its failure or its end
        self.ended = False
        self.expires_at = trio.current_time() + options.deadline
        self.bundle_size = min(BUNDLE_SIZE, options.channel_size)
        self.open_bundle: Bundle | None = None
        self.events: trio.MemorySendChannel[Bundle]
        self._inbox: trio.MemoryReceiveChannel[Bundle]
        self.events, self._inbox = trio.open_memory_channel[Bundle](options.channel_size // self.bundle_size)
        self._bundle: Bundle | tuple[()] = ()  # the one being worked through, and how far
        self._position = 0
        self._on_emit = on_emit
        self._timestamps = timestamps
        self._event_ids = event_ids
        self._on_end = on_end
        self._reason = ParkingSpace()
        self._nursery: trio.Nursery | None = None
        self._clocks: dict[str, ItemClock] = {}
        self._flushes: tuple[FlushTurn, ...] = ()
        self._waiters: trio.Event | None = None
        self._is_cancelled = False
        self._is_held_up = False
        self._is_writing = False
        self._seq = 0

    # What others call

    def wake(self, *, to_write: bool = False) -> None:
        """Have the turn catch up soon. When that is likely `to_write` something, the writer does both in one go."""
        if to_write and self._nursery is not None and not self._is_writing and self.is_open:
            self._start_writer(self._nursery)
        else:
            self._reason.call()

    def cancel(self) -> None:
        """Stop at once: nothing is flushed, nothing more is delivered."""
        self._is_cancelled = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

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
        self.machine.fail("TURN_TIMEOUT", reason, now=trio.current_time())
        self._attend()

    def catch_up(self, *, regardless: bool = False) -> None:
        """Process everything that has come in and everything that is due.

        Stops short when the outbox is full, unless told to go on `regardless`. A crash stays in this turn.
        """
        if self.ended:
            return
        try:
            self._drain(trio.current_time(), regardless=regardless)
        except Exception as exc:  # noqa: BLE001  # whatever it is, it is this turn's alone
            self._crash(exc)
        self._attend()

    # The task

    async def run(self) -> None:
        """Be the turn's task: returns when its last emission was taken, or when it has failed."""
        try:
            async with trio.open_nursery() as self._nursery:
                if self._is_cancelled:
                    self._nursery.cancel_scope.cancel()
                await self._work()
        except* (RetryExhaustedError, FencedError) as failures:
            self._fail(failures)
        except* Exception as crashes:
            self._crash(crashes)
        try:
            if isinstance(self.failure, ProtocolError):
                await self._run_writer()  # what was made before the crash, and the turn_error
        except Exception as exc:  # noqa: BLE001  # it has been told to the log and to the host; there is no other ear
            log.warning("turn %s could not tell its sink that it crashed: %r", self.turn_id, exc)
        finally:
            self._finish()

    async def _work(self) -> None:
        outbox = self.machine.outbox
        self.catch_up()
        while not self.machine.ended:
            if self._is_held_up:  # by a full outbox: until the writer gets on, or until the sink counts as behind
                with trio.move_on_at(outbox.asks_again_at):
                    await self._reason.wait()
            else:
                await self._reason.wait()
            self.catch_up()

    def _drain(self, now: float, *, regardless: bool) -> None:
        machine, outbox = self.machine, self.machine.outbox
        push, made = machine.push, -1
        while self._position < len(self._bundle) or self._take_bundle():
            for arrival, event_id, payload in self._bundle[self._position :]:
                if outbox.made != made:
                    if not (outbox.open_at(now) or regardless):
                        self._is_held_up = True
                        return
                    made = outbox.made
                self._position += 1
                if event_id:
                    push(event_id, cast("Payload", payload), now=arrival)
                else:
                    self._obey(payload, arrival)
        machine.tick(now=now)
        if self._is_held_up:
            self._is_held_up = False
            machine.items.changed.extend(machine.items.live.values())  # they may have slept through a deadline

    def _take_bundle(self) -> bool:
        try:
            self._bundle = self._inbox.receive_nowait()
        except trio.WouldBlock:
            self._bundle, self._position = (), 0
            return False
        self._position = 0
        if self._bundle is self.open_bundle:
            self.open_bundle = None
        return True

    def _obey(self, command: object, now: float) -> None:
        if isinstance(command, FlushTurn):
            self.machine.flush(now=now)
            command.mark = self.machine.outbox.made
            self._flushes += (command,)
        else:
            self.machine.close(now=now)

    def _attend(self) -> None:
        """Start, wake and end tasks as the rules now have it."""
        machine, nursery = self.machine, self._nursery
        if nursery is None:
            return  # the task has not begun; it will see to it
        if machine.items.changed:
            for item in machine.items.changed:
                self._attend_item(item, nursery)
            machine.items.changed.clear()
        if not self._is_writing and not machine.outbox.is_empty:
            self._start_writer(nursery)
        if self._flushes:
            self._settle_flushes()
        if machine.ended:
            self.is_open = False
            self._reason.call()

    def _attend_item(self, item: ItemBuffer, nursery: trio.Nursery) -> None:
        clock = self._clocks.get(item.item_id)
        if item.ended:
            if clock is not None:
                del self._clocks[item.item_id]
                clock.call()
            return
        deadline = self.deadline(item)
        if deadline < item.alarm:
            item.alarm = deadline  # from now on its task will wake by itself in time
            if clock is not None:
                clock.call()
        if clock is None and not item.held:
            clock = self._clocks[item.item_id] = ItemClock(item, self)
            nursery.start_soon(clock.run, name=f"item {item.item_id}")

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
        await run_writer(
            self.machine.outbox,
            self._on_emit,
            policy=self._retry_policy,
            envelope=self._envelope,
            delivered=self._delivered,
        )

    def _retry_policy(self) -> RetryPolicy:
        policy = self.options.retry
        if policy.attempts is None and trio.current_time() >= self.expires_at:
            return attrs.evolve(policy, attempts=0)  # past its deadline a turn no longer waits for its sink
        return policy

    def _envelope(self, emission: Emission) -> StreamMessage:
        if not emission.event_id:
            self._seq += 1
            emission.event_id = self._event_ids(self.turn_id, self._seq)
        return StreamMessage(
            event_id=emission.event_id,
            timestamp=self._timestamps(emission.at),
            turn_id=self.turn_id,
            payload=encode_output(emission.output),
        )

    def _delivered(self, emission: Emission) -> None:
        self.fold.push(emission.output)
        if self._is_held_up:
            self._reason.call()
        if self._flushes:
            self._settle_flushes()

    def _settle_flushes(self) -> None:
        outbox = self.machine.outbox
        while self._flushes and not outbox.holds_up_to(self._flushes[0].mark):
            self._flushes[0].done.set()
            self._flushes = self._flushes[1:]

    # Ends

    def _crash(self, exc: BaseException) -> None:
        log.error("turn %s crashed", self.turn_id, exc_info=exc)
        self.failure = ProtocolError(f"turn {self.turn_id} crashed: {type(exc).__name__}")
        self.failure.__cause__ = exc
        self.machine.crash(now=trio.current_time())

    def _fail(self, failures: BaseExceptionGroup[RetryExhaustedError | FencedError]) -> None:
        failure = failures
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        self.failure = failure
        log.error("%s", failure)

    def _finish(self) -> None:
        unread = len(self._bundle) - self._position
        while self._take_bundle():
            unread += len(self._bundle)
        self._inbox.close()
        self.events.close()
        self.machine.ended = True
        self.is_open = False
        self.undelivered = self.machine.outbox.clear()
        if self.undelivered or unread:
            log.warning("turn %s: %d emissions and %d events not delivered", self.turn_id, self.undelivered, unread)
        self.ended = True
        if self._waiters is not None:
            self._waiters.set()
        for flush in self._flushes:
            flush.done.set()
        self._flushes = ()
        self._on_end(self)
