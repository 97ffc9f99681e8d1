"""All rules of a turn: events and time in, emissions into the outbox. No clock, no await.

The rules are R1 to R19 of the specification; those of the single items stand in turn_items.py. What they share:

- Time comes in as `now` and never runs backwards. What is due is done before the event that comes after it, and as of
  the moment it was due, so outcomes do not depend on when anybody woke up.
- What does not fit is counted and ignored, never guessed. Nothing here raises for what a producer sends.
- After the terminal there is nothing.
"""

import logging
import sys
from heapq import heapify, heappop, heappush
from math import inf
from typing import cast

from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.core.live_items import ENVELOPE_BYTES
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.outbox import Outbox
from turnwire.actors.core.turn_items import TurnItems
from turnwire.actors.core.voice import TurnVoice
from turnwire.messages.events import (
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    TurnAbortedByUser,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.outputs import TurnComplete, TurnError, TurnStarted, TurnStatus

log = logging.getLogger("turnwire.turn")


class TurnMachine:
    """The rules of one turn, holding every byte of it that matters."""

    __slots__ = ("_recent", "_started", "_usage", "_voice", "_window", "counts", "ended", "items", "outbox")

    def __init__(self, turn_id: str, thread_id: str, options: TurnOptions, outbox: Outbox | None = None) -> None:
        self.counts: Counts = {}
        self.ended = False
        if outbox is None:
            outbox = Outbox(
                limit=options.outbox_limit,
                patience=options.patience,
                hard_limit=options.max_waiting,
                hard_bytes=options.max_waiting_bytes,
            )
        self.outbox = outbox
        self._voice = TurnVoice(turn_id, thread_id)
        self.items = TurnItems(options, self.outbox, self._voice, self.counts)
        self._recent: dict[str, None] = {}  # event ids (R17); a dict keeps the order in which its keys came
        self._window = sys.maxsize if options.repeat_window is None else options.repeat_window
        self._started = False
        self._usage: Usage | None = None

    def push(self, event_id: str, payload: Payload, *, now: float) -> None:
        """Take one event in, after whatever was due before it (R10, R15, R17)."""
        if isinstance(payload, ItemDelta):
            self.push_delta(event_id, payload.item_id, payload.delta_content, now=now)
        elif self._is_next(event_id, now):
            self._dispatch(payload, now)

    def push_delta(self, event_id: str, item_id: str, text: str, *, now: float) -> None:
        """Take an `item_delta` in: what `push` does, for the one event that comes all the time."""
        recent, items = self._recent, self.items
        if self.ended or now >= items.due or event_id in recent:  # the rare cases, where time does not matter
            if not self._is_next(event_id, now):
                if (item := items.live.get(item_id)) is not None:
                    item.announced = item.units  # what the shell announced will not come
                return
        else:
            recent[event_id] = None
            if len(recent) > self._window:
                del recent[next(iter(recent))]
        items.delta(item_id, text, now)

    def _is_next(self, event_id: str, now: float) -> bool:
        """Do what was due before this event; then say whether the event counts."""
        if self.ended:
            count(self.counts, "late_events")
            return False
        if now >= self.items.due:
            self.tick(now=now)
        recent = self._recent
        if event_id in recent:
            count(self.counts, "repeated_events")
            return False
        recent[event_id] = None
        if len(recent) > self._window:
            del recent[next(iter(recent))]
        return True

    def tick(self, *, now: float) -> None:
        """Let every timeout fire that is due by now, in the order in which they were due (R10)."""
        items = self.items
        if now < items.due:
            return
        live = items.live.values()
        due = [(at, order, item) for order, item in enumerate(live) if (at := items.deadline(item)) <= now]
        heapify(due)
        while due:
            at, order, item = heappop(due)
            if item.has_news:
                items.emit(item, at)
            item.fire(at, items.batch_timeout)
            if (again := items.deadline(item)) <= now:
                heappush(due, (again, order, item))
        items.due = min(map(items.deadline, live), default=inf)

    def flush(self, *, now: float) -> None:
        """Emit every text not yet emitted, in the order the items started (R11)."""
        if not self.ended:
            self.tick(now=now)
            self.items.flush(now)

    def close(self, *, now: float) -> None:
        """End without a terminal: the host has no more to say (R16)."""
        if not self.ended:
            self.tick(now=now)
            self._end(now)

    def fail(self, code: str, message: str, *, now: float) -> None:
        """End with turn_error for a reason of our own, such as a deadline. The first terminal wins (R15)."""
        if not self.ended:
            self.tick(now=now)
            self._end(now, self._voice.broke(code, message))

    def crash(self, *, now: float) -> None:
        """End because our own code failed: no flush, no internals, just the truth that it is over."""
        self.items.end_all(now, flush=False)
        if not self.ended:
            self._add(self._voice.broke("INTERNAL_ERROR", "the turn failed for an internal reason"), now)
        self.ended = True

    def buffers(self) -> dict[str, BufferInfo]:
        """Describe the live items."""
        return {item_id: item.info() for item_id, item in self.items.live.items()}

    def _dispatch(self, payload: Payload, now: float) -> None:
        match payload:
            case ItemStart():
                self.items.start(payload, now)
            case ItemDone():
                self.items.done(payload.item_id, payload.final_item, now)
            case ItemError():
                self.items.fail(payload.item_id, payload.error, now)
            case ItemCancelled():
                self.items.cancel(payload.item_id, now)
            case ResponseStart():
                self._response_start(payload, now)
            case UsageUpdate():
                self._usage = payload.usage
            case ResponseDone():
                self._response_done(payload, now)
            case ResponseError():  # R13
                self._end(now, self._voice.broke(payload.error.code, payload.error.message))
            case TurnAbortedByUser():  # R14
                self._end(now, self._voice.completed("aborted", self._usage))
            case UnknownPayload():
                count(self.counts, "unknown_payloads")
            case _:
                pass  # heartbeats and scripts: nothing of a turn's outputs

    def _response_start(self, start: ResponseStart, now: float) -> None:  # R1
        if self._started:
            count(self.counts, "repeated_response_starts")
            return
        self._started = True
        for name, theirs in (("turn_id", start.turn_id), ("thread_id", start.thread_id)):
            if theirs != getattr(self._voice, name):
                log.warning(
                    "turn %s: response_start has %s %r; the turn's own is used", self._voice.turn_id, name, theirs
                )
        self._add(self._voice.started(start.model_id, start.provider_id), now)

    def _response_done(self, done: ResponseDone, now: float) -> None:  # R12
        status: TurnStatus = "complete"
        if done.status in ("error", "aborted"):
            status = cast("TurnStatus", done.status)
        elif done.status != "complete":
            turn_id = self._voice.turn_id
            log.warning("turn %s: response_done has status %r; it counts as complete", turn_id, done.status)
        self._end(now, self._voice.completed(status, done.usage, self._usage))

    def _end(self, now: float, terminal: TurnComplete | TurnError | None = None) -> None:
        self.items.end_all(now)
        if terminal is not None:
            self._add(terminal, now)
        self.ended = True

    def _add(self, output: TurnStarted | TurnComplete | TurnError, now: float) -> None:
        self.outbox.add(output, at=now, size=ENVELOPE_BYTES)
