"""A turn as its host holds it: the way in, and what it came to.

When to wake the actor is decided here (`_reason_to_wake`). A wake-up costs as much as ten events, so a delta gives one only
when an emission may be due, when the item's timer would not look in time, or when the channel is filling up; all else
waits in the channel for the next reason to look. Nothing waits longer than the batch timeout: that is when the item's
own task looks.
"""

from types import TracebackType
from typing import Literal, Self, cast

import trio

from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.core.text import utf16_length
from turnwire.actors.turn_actor import CloseTurn, Entry, FlushTurn, TurnActor
from turnwire.messages.errors import ClosedError, InvalidEventError
from turnwire.messages.event_codec import WireDeltaPayload, check_event, decode_event, try_decode_delta
from turnwire.messages.events import ItemDelta, ItemStart, Payload, StreamEvent
from turnwire.messages.folds import TurnSnapshot

NO_REASON: Literal[0] = 0
TO_LOOK: Literal[1] = 1
TO_WRITE: Literal[2] = 2

CHECKPOINT_EVERY = 64  # events: some 0.2 ms of work, short enough that other tasks keep their pace


class Pace:
    """Counts the events sent through all turns of a runtime, so that a busy sender lets others run."""

    __slots__ = ("left", "now")

    def __init__(self) -> None:
        self.left = CHECKPOINT_EVERY
        self.now = trio.lowlevel.current_clock().current_time


class Turn:
    """One open turn. Made by `runtime.open_turn`; leaving its block closes it."""

    __slots__ = (
        "_actor",
        "_bundle_size",
        "_closed",
        "_countdown",
        "_crowd",
        "_grace",
        "_items",
        "_max_bytes",
        "_now",
        "_pace",
        "_soonest",
        "turn_id",
    )

    def __init__(self, actor: TurnActor, pace: Pace, *, grace: float) -> None:
        options = actor.options
        self.turn_id = actor.turn_id
        self._actor = actor
        self._pace = pace
        self._grace = grace
        self._now = pace.now
        self._items = actor.machine.items.live
        self._bundle_size = actor.bundle_size
        self._max_bytes = options.max_event_bytes
        self._soonest = min(options.batch_timeout, options.latency)
        self._crowd = max(1, options.channel_size // 2)
        self._countdown = self._crowd  # deltas until the actor is woken because the channel may be filling up
        self._closed = False

    async def send(self, event: StreamEvent | bytes | str) -> None:
        """Hand one event to the turn: a StreamEvent, or its JSON.

        Raises InvalidEventError at once if it is malformed; the turn then goes on as if it had not been sent. Waits
        only for room in the turn's channel. It is a checkpoint at least every 64 events, not at each: a sender that
        never waits for anything else still lets others run.

        Raises ClosedError after closing, and what the turn failed with after it has failed.
        """
        actor = self._actor
        payload: Payload | WireDeltaPayload
        if isinstance(event, StreamEvent):
            checked = self._check(event)
            event_id, payload = checked.event_id, checked.payload
        elif len(event) <= self._max_bytes and (delta := try_decode_delta(event)) is not None:
            event_id, payload = delta.event_id, delta.payload
        else:
            decoded = self._decode(event)
            event_id, payload = decoded.event_id, decoded.payload
        if not actor.is_open or self._closed:
            self._too_late(event_id, payload)
            return
        now = self._now()
        bundle = actor.open_bundle
        if bundle is not None and len(bundle) < self._bundle_size:
            bundle.append((now, event_id, payload))
        else:
            await self._put((now, event_id, payload))
        if reason := self._reason_to_wake(payload, now):
            actor.wake(to_write=reason is TO_WRITE)
        pace = self._pace
        pace.left -= 1
        if pace.left <= 0:
            pace.left = CHECKPOINT_EVERY
            await trio.lowlevel.checkpoint()

    async def flush(self) -> None:
        """Emit all text not yet emitted, and wait until the sink has taken everything up to here.

        Raises what the turn failed with, if it has: `send` then `flush` tells whether an event's outputs arrived.
        """
        if self._closed:
            self._too_late("", None)
        if self._actor.is_open:
            flush = FlushTurn()
            await self._command(flush)
            await flush.done.wait()
        else:
            await self._actor.wait_ended()
        self._raise_failure()
        if self._closed:
            raise ClosedError(f"turn {self.turn_id} was cancelled; what was flushed may not have arrived")

    def buffers(self) -> dict[str, BufferInfo]:
        """Look at the live items, everything sent before included."""
        self._actor.catch_up(regardless=True)
        return self._actor.machine.buffers()

    @property
    def counts(self) -> dict[str, int]:
        """How often something was ignored, by what it was; and how many emissions were conflated."""
        self._actor.catch_up(regardless=True)
        counts = dict(self._actor.machine.counts)
        if conflated := self._actor.machine.outbox.conflated:
            counts["conflated_emissions"] = conflated
        return counts

    async def wait_end(self) -> TurnSnapshot:
        """Wait until the turn has ended and its last emission was taken; give what a reader now knows.

        A turn ends with its terminal event, by closing or by cancelling. Raises what it failed with, if it has.
        """
        await self._actor.wait_ended()
        self._raise_failure()
        return self._actor.fold.snapshot()

    def snapshot(self) -> TurnSnapshot:
        """Give what a reader knows by now: the newest state of each item that the sink has taken."""
        return self._actor.fold.snapshot()

    def cancel(self) -> None:
        """Stop the turn at once: nothing is flushed, nothing more reaches the sink, no terminal is made."""
        self._closed = True
        self._actor.cancel()

    async def aclose(self) -> None:
        """End the turn: flush, then wait until the last emission was accepted or refused. Twice is fine.

        Raises RetryExhaustedError if the sink failed. When cancelled, it still gives the sink a bounded time.
        """
        try:
            await self._close()
        finally:
            if not self._actor.ended:
                with trio.move_on_after(self._grace, shield=True):
                    await self._close()
                self._actor.cancel()
                with trio.CancelScope(shield=True):  # cancelled tasks end at once; nothing of the turn outlives this
                    await self._actor.wait_ended()
        self._raise_failure()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        except Exception as failure:
            if exc is None:
                raise
            if exc is not failure:
                _add_context(exc, failure)

    async def _close(self) -> None:
        if not self._closed:
            if self._actor.is_open:
                await self._command(CloseTurn())
            self._closed = True
        await self._actor.wait_ended()

    async def _put(self, entry: Entry) -> None:
        """Put an entry into the channel: into its last bundle, or in a new one, waiting for room."""
        actor, bundle = self._actor, self._actor.open_bundle
        if bundle is not None and len(bundle) < self._bundle_size:
            bundle.append(entry)
            return
        bundle = [entry]
        try:
            actor.events.send_nowait(bundle)
            actor.open_bundle = bundle
        except trio.WouldBlock:
            actor.wake()
            try:
                await actor.events.send(bundle)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._too_late(entry[1], entry[2])
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._too_late(entry[1], entry[2])

    async def _command(self, command: FlushTurn | CloseTurn) -> None:
        await self._put((trio.current_time(), "", command))
        self._actor.wake()

    def _too_late(self, event_id: str, payload: object) -> None:
        """Refuse what comes after closing or failing; count what comes after the terminal."""
        self._raise_failure()
        if self._closed:
            raise ClosedError(f"turn {self.turn_id} is closed; it takes no more events")
        if event_id:
            self._actor.machine.push(event_id, cast("Payload", payload), now=trio.current_time())

    def _reason_to_wake(self, payload: Payload | WireDeltaPayload, now: float) -> "Literal[0, 1, 2]":
        if not isinstance(payload, (WireDeltaPayload, ItemDelta)):
            return TO_LOOK if isinstance(payload, ItemStart) else TO_WRITE
        item = self._items.get(payload.item_id)
        if item is not None and not item.held:
            text = payload.delta_content
            item.announced += len(text) if text.isascii() else utf16_length(text)
            if item.announced > item.limit:
                return TO_WRITE
            if item.alarm > now + self._soonest:
                return TO_LOOK
        self._countdown -= 1
        if self._countdown <= 0:
            self._countdown = self._crowd
            return TO_LOOK
        return NO_REASON

    def _decode(self, data: bytes | str) -> StreamEvent:
        try:
            return decode_event(data, max_bytes=self._max_bytes)
        except InvalidEventError as exc:
            raise InvalidEventError(exc.problem, path=exc.path, event=exc.event, turn=self.turn_id) from None

    def _check(self, event: StreamEvent) -> StreamEvent:
        try:
            return check_event(event)
        except InvalidEventError as exc:
            raise InvalidEventError(exc.problem, path=exc.path, event=exc.event, turn=self.turn_id) from None

    def _raise_failure(self) -> None:
        if self._actor.failure is not None:
            raise self._actor.failure


def _add_context(exc: BaseException, context: BaseException) -> None:
    """Hang `context` at the end of the chain of what was being handled when `exc` was raised."""
    while exc.__context__ is not None and exc.__context__ is not context:
        exc = exc.__context__
    exc.__context__ = context
