"""A turn as its host holds it: events in, and what it came to."""

from types import TracebackType
from typing import Self, cast

import trio

from turnwire.actors.backend import HOSTED_INSTEAD, require_trio
from turnwire.actors.commands import CloseTurn, FailTurn, FlushTurn
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.mailbox import TO_LOOK, TO_WRITE
from turnwire.actors.raw import RawGate
from turnwire.actors.turn_actor import TurnActor
from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.errors import ClosedError, InvalidEventError
from turnwire.messages.event_codec import check_event, decode_event, encode_event
from turnwire.messages.events import ItemDelta, ItemStart, Payload, StreamEvent
from turnwire.messages.folds import TurnSnapshot

CHECKPOINT_EVERY = 64  # events: some 0.2 ms of work, short enough that other tasks keep their pace


class Pace:
    """Counts the events sent through all turns of a runtime, so that a busy sender lets others run."""

    __slots__ = ("left", "now")

    def __init__(self) -> None:
        self.left = CHECKPOINT_EVERY
        self.now = trio.lowlevel.current_clock().current_time  # half the price of trio.current_time


class Turn:
    """One open turn. Made by `runtime.open_turn`; leaving its block closes it."""

    __slots__ = ("_grace", "_is_closed", "_mailbox", "_max_bytes", "_pace", "actor", "gate", "turn_id")

    def __init__(self, actor: TurnActor, pace: Pace, *, grace: float, gate: RawGate | None = None) -> None:
        self.turn_id = actor.turn_id
        self.actor = actor
        """The turn's task; for whoever runs turns, not for those who send to them."""
        self._mailbox = actor.mailbox
        self._max_bytes = actor.options.max_event_bytes
        self._pace = pace
        self.gate = gate
        """Where its events are written down first, if they are."""
        self._grace = grace
        self._is_closed = False

    async def send(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn: a StreamEvent, or its JSON.

        Raises InvalidEventError at once if it is malformed; the turn then goes on as if it had not been sent. Waits
        only for room in the turn's channel. It is a checkpoint at least every 64 events, not at each: a sender that
        never waits for anything else still lets others run. With a raw log it also waits until that has the event.

        Raises ClosedError after closing, and what the turn failed with after it has failed.
        """
        pace = self._pace
        pace.left -= 1
        if pace.left <= 0:  # first of all: whoever is cancelled here has sent nothing
            pace.left = CHECKPOINT_EVERY
            await trio.lowlevel.checkpoint()
        what: Payload | str
        if isinstance(event, StreamEvent):
            event_id, item_id, what = self._check(event)
        elif (
            isinstance(event, bytes)
            and len(event) <= self._max_bytes
            and (delta := try_decode_delta(event)) is not None
        ):
            event_id, item_id, what = delta.event_id, delta.payload.item_id, delta.payload.delta_content
        else:
            event_id, item_id, what = self._decode(event)
        now, mailbox = pace.now(), self._mailbox
        if not mailbox.is_open:
            self._count_or_refuse(now, event_id, item_id, what)
        elif self.gate is not None:
            await self._send_through(self.gate, event, event_id, item_id, what)
        else:
            if not mailbox.put_nowait(now, event_id, item_id, what):
                await self._put(now, event_id, item_id, what)
            self._wake_for(item_id, what, now)

    def send_nowait(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn as `send` does, without ever waiting: for callers that are no Trio task.

        Raises trio.WouldBlock, and has sent nothing, where `send` would wait: for room, or for a raw log.
        """
        event_id, item_id, what = self._take_apart(event)
        now, mailbox = self._pace.now(), self._mailbox
        if not mailbox.is_open:
            self._count_or_refuse(now, event_id, item_id, what)
        elif self.gate is None and mailbox.put_nowait(now, event_id, item_id, what):
            self._wake_for(item_id, what, now)
        else:
            raise trio.WouldBlock

    async def _send_through(
        self, gate: RawGate, event: StreamEvent | bytes | str, event_id: str, item_id: str, what: Payload | str
    ) -> None:
        async with gate.line:
            await self._mailbox.wait_for_room()
            text = encode_event(event) if isinstance(event, StreamEvent) else event
            await gate.write(text.encode() if isinstance(text, str) else text, event_id)
            # It is in the log: from here on the turn must get it, whoever is cancelled.
            now = trio.current_time()
            with trio.CancelScope(shield=True):
                await self._put(now, event_id, item_id, what)
        self._wake_for(item_id, what, now)

    def _wake_for(self, item_id: str, what: Payload | str, now: float) -> None:
        """Wake the turn, if an event that was just put in is a reason to."""
        if item_id:
            reason = self._mailbox.reason_for_delta(item_id, cast("str", what), now)
        else:
            reason = TO_LOOK if isinstance(what, ItemStart) else TO_WRITE
        if reason:
            self.actor.wake(reason, now=now)

    @property
    def is_open(self) -> bool:
        """Does the turn still take events that have an effect? Not after its terminal was processed, nor its end."""
        return self._mailbox.is_open

    async def flush(self) -> None:
        """Emit all text not yet emitted, and wait until the sink has taken everything up to here.

        Raises what the turn failed with, if it has: `send` then `flush` tells whether an event's outputs arrived.
        """
        if self._is_closed:
            self._refuse()
        flush = FlushTurn()
        if self._mailbox.is_open and await self._put(trio.current_time(), "", "", flush):
            self.actor.wake()
            await flush.done.wait()
        else:
            await self.actor.wait_ended()
        self._raise_failure()
        if self.actor.is_cancelled:
            raise ClosedError(f"turn {self.turn_id} was cancelled; what was flushed may not have arrived")

    async def fail(self, code: str, message: str) -> None:
        """End the turn with `turn_error`, behind everything sent before: text not yet emitted is emitted first.

        For reasons of the host's own: the producer went silent, the engine is gone. Waits only for room in the turn's
        channel; `wait_end` waits for the sink. The first terminal wins, so a turn that has had one is left alone.
        Raises ClosedError after closing, and what the turn failed with after it has failed.
        """
        if self._is_closed:
            self._refuse()
        if self._mailbox.is_open and await self._put(trio.current_time(), "", "", FailTurn(code, message)):
            self.actor.wake(TO_WRITE)
        self._raise_failure()

    def catch_up(self) -> None:
        """Process everything sent before and everything that is due, at once: for hosts that drive time themselves."""
        self.actor.catch_up(regardless=True)

    def buffers(self) -> dict[str, BufferInfo]:
        """Look at the live items, everything sent before included."""
        self.catch_up()
        return self.actor.machine.buffers()

    @property
    def counts(self) -> dict[str, int]:
        """How often something was ignored, by what it was; and how many emissions were conflated."""
        self.catch_up()
        machine = self.actor.machine
        conflated = {"conflated_emissions": machine.outbox.conflated} if machine.outbox.conflated else {}
        return {**machine.counts, **conflated}

    async def wait_end(self) -> TurnSnapshot:
        """Wait until the turn has ended and its last emission was taken; give what a reader now knows.

        A turn ends with its terminal event, by closing or by cancelling. Raises what it failed with, if it has.
        """
        await self.actor.wait_ended()
        self._raise_failure()
        return self.actor.deliveries.fold.snapshot()

    def snapshot(self) -> TurnSnapshot:
        """Give what a reader knows by now: the newest state of each item that the sink has taken."""
        return self.actor.deliveries.fold.snapshot()

    def cancel(self) -> None:
        """Stop the turn at once: nothing is flushed, nothing more reaches the sink, no terminal is made."""
        self._is_closed = True
        self._mailbox.is_open = False
        self.actor.cancel()

    async def aclose(self) -> None:
        """End the turn: flush, then wait until the last emission was accepted or refused. Twice is fine.

        Raises RetryExhaustedError if the sink failed. When cancelled, it still gives the sink a bounded time.
        """
        try:
            await self.end()
        finally:
            if not self.actor.ended:
                with trio.move_on_after(self._grace, shield=True):
                    await self.end()
                self.cancel()
                with trio.CancelScope(shield=True):  # cancelled tasks end at once; nothing of the turn outlives this
                    await self.actor.wait_ended()
        self._raise_failure()

    async def end(self) -> None:
        """Ask the turn to end, and wait until it has: `aclose` without a hand for whoever is cancelled meanwhile."""
        if self._mailbox.is_open:
            self.actor.wake()
            await self._mailbox.put(trio.current_time(), "", "", CloseTurn())  # not in: it has ended meanwhile
            self.actor.wake()
        self._is_closed = True
        self._mailbox.is_open = False
        await self.actor.wait_ended()

    async def __aenter__(self) -> Self:
        require_trio("a turn", instead=HOSTED_INSTEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        except Exception as failure:
            if exc is None:
                raise
            if failure.__context__ is exc:
                failure.__context__ = None  # Python put it there just now; it would close a circle
            if exc is not failure:
                _add_context(exc, failure)

    async def _put(self, arrival: float, event_id: str, item_id: str, what: object) -> bool:
        self.actor.wake()
        if await self._mailbox.put(arrival, event_id, item_id, what):
            return True
        self._count_or_refuse(arrival, event_id, item_id, what)
        return False

    def _count_or_refuse(self, now: float, event_id: str, item_id: str, what: object) -> None:
        """Count what comes after the terminal; refuse what comes after closing or failing."""
        if self._is_closed or self.actor.failure is not None:
            self._refuse()
        if item_id:
            self.actor.machine.push_delta(event_id, item_id, cast("str", what), now=now)
        elif event_id:
            self.actor.machine.push(event_id, cast("Payload", what), now=now)

    def _take_apart(self, event: StreamEvent | bytes | str) -> tuple[str, str, Payload | str]:
        """Check or decode an event: its id, its item's id if it is a delta, and the delta's text or the payload.

        `send` has the same in line: a call for every delta would cost it 3 %.
        """
        if isinstance(event, StreamEvent):
            return self._check(event)
        if isinstance(event, bytes) and len(event) <= self._max_bytes:
            delta = try_decode_delta(event)
            if delta is not None:
                return delta.event_id, delta.payload.item_id, delta.payload.delta_content
        return self._decode(event)

    def _check(self, event: StreamEvent) -> tuple[str, str, Payload | str]:
        try:
            return _parts(check_event(event))
        except InvalidEventError as exc:
            raise InvalidEventError(exc.problem, path=exc.path, event=exc.event, turn=self.turn_id) from exc.__cause__

    def _decode(self, data: bytes | str) -> tuple[str, str, Payload | str]:
        try:
            return _parts(decode_event(data, max_bytes=self._max_bytes))
        except InvalidEventError as exc:
            raise InvalidEventError(exc.problem, path=exc.path, event=exc.event, turn=self.turn_id) from None

    def _refuse(self) -> None:
        self._raise_failure()
        raise ClosedError(f"turn {self.turn_id} is closed; it takes no more events")

    def _raise_failure(self) -> None:
        if self.actor.failure is not None:
            raise self.actor.failure


def _parts(event: StreamEvent) -> tuple[str, str, Payload | str]:
    """Take an event apart for the mailbox: event id, item id if it is a delta, and the delta's text or the payload."""
    payload = event.payload
    if isinstance(payload, ItemDelta):
        return event.event_id, payload.item_id, payload.delta_content
    return event.event_id, "", payload


def _add_context(exc: BaseException, context: BaseException) -> None:
    """Hang `context` at the end of the chain of what was being handled when `exc` was raised."""
    chain = [exc]
    while (earlier := chain[-1].__context__) is not None and earlier not in chain:
        chain.append(earlier)
    if context not in chain:
        chain[-1].__context__ = context
