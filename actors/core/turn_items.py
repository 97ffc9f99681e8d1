"""How the items of a turn begin and end: rules R2 and R5 to R9. No clock, no await.

How they grow in between (R3): live_items.py. A finished function call that waits for its output is no longer among the
live items but among the open calls. An id is used once per turn. What does not fit is counted and ignored, never
guessed; nothing here raises for what a producer sends.
"""

import logging

from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.item_buffer import ContentType, ItemBuffer
from turnwire.actors.core.live_items import LiveItems
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.outbox import Outbox
from turnwire.actors.core.text import utf8_length
from turnwire.actors.core.tool_calls import OpenCall, ToolCalls
from turnwire.actors.core.voice import TurnVoice, parse_arguments
from turnwire.messages.events import (
    ErrorInfo,
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    FinalScriptExecution,
    FinalScriptExecutionOutput,
    ItemStart,
)
from turnwire.messages.json_text import mend_surrogates

NO_CALLS = ToolCalls()
"""Shared by all turns that have no open call. Never written to."""

log = logging.getLogger("turnwire.turn")

CONTENT_TYPES: dict[str, ContentType] = {"message": "message", "reasoning": "thinking", "function_call": "tool_call"}
"""Which item types become items of a turn (R2). All others live in log A only, or belong to another item."""


class TurnItems(LiveItems):
    """The items of one turn, from their beginnings to their ends."""

    __slots__ = ("_calls",)

    def __init__(self, options: TurnOptions, outbox: Outbox, voice: TurnVoice, counts: Counts) -> None:
        super().__init__(options, outbox, voice, counts)
        self._calls = NO_CALLS  # most turns call no tools: it is made when needed

    # Rules

    def start(self, start: ItemStart, now: float) -> None:  # R2
        """Begin an item. Nothing is emitted yet."""
        item_id, content_type = start.item_id, CONTENT_TYPES.get(start.item_type)
        if item_id in self.live or item_id in self._ended_ids or self._calls.knows(item_id):
            count(self._counts, "repeated_item_starts")
        elif start.item_type == "function_call_output" and start.call_id is not None:
            self._own_calls().expect_output(item_id, start.call_id)
        elif content_type is not None:
            text = start.initial_content or (start.arguments if content_type == "tool_call" else "") or ""
            item = ItemBuffer(
                item_id,
                content_type,
                self._gradient,
                now=now,
                held=content_type == "tool_call" or (content_type == "message" and _is_prompt(start)),
                name=start.name or "",
                call_id=start.call_id or "",
            )
            if len(self.live) >= self._options.max_items:
                error = f"more than {self._options.max_items} items are open in this turn"
                self._end_with_error(item, ErrorInfo(code="TOO_MANY_ITEMS", message=error), now)
            elif self._is_too_large(item, text):
                self._end_too_large(item, now)
            else:
                item.append(text, now=now)
                self.live[item_id] = item
                self._watch(item)

    def done(self, item_id: str, final: FinalItem, now: float) -> None:  # R5
        """End an item with what its final_item says."""
        item = self.live.get(item_id)
        if item_id in self._ended_ids or (
            item is None
            and self._calls.is_open(item_id)
            and not isinstance(final, FinalFunctionCallOutput | FinalCancelled)
        ):
            count(self._counts, "ended_items")
        elif item is None:
            self._done_unseen(item_id, final, now)
        elif isinstance(final, FinalCancelled):
            self.cancel(item_id, now)
        elif isinstance(final, FinalError):
            self._end_with_error(item, ErrorInfo(code=final.code, message=final.message), now, text="")
        elif item.content_type == "tool_call":
            self._call_done(item, final, now)
        else:
            self._text_done(item, final, now)

    def fail(self, item_id: str, error: ErrorInfo, now: float) -> None:  # R8
        """End an item, or an open call, with an error."""
        if (item := self.live.get(item_id)) is not None:
            self._end_with_error(item, error, now)
        elif item_id in self._ended_ids:
            count(self._counts, "ended_items")
        elif (call := self._close_call(item_id)) is not None:
            self._add(self._voice.call_failed(call, error), now)
        else:
            count(self._counts, "unknown_items")

    def cancel(self, item_id: str, now: float) -> None:  # R9
        """Drop an item, or an open call, as if it had not begun."""
        error = ErrorInfo(code="ITEM_CANCELLED", message="the item was cancelled")
        if (item := self.live.get(item_id)) is not None:
            seen = item.shown and not self._outbox.withdraw_create(item_id)
            if self._options.emit_cancelled and seen:
                self._end_with_error(item, error, now)
            else:
                self._release(item)
        elif item_id in self._ended_ids:
            count(self._counts, "ended_items")
        elif (call := self._close_call(item_id)) is not None:
            seen = not self._outbox.withdraw_create(call.item_id)
            if self._options.emit_cancelled and seen:
                self._add(self._voice.call_failed(call, error), now)
        else:
            count(self._counts, "unknown_items")

    def end_all(self, now: float, *, flush: bool = True) -> None:
        """End what is live; the calls whose output has not come are forgotten."""
        super().end_all(now, flush=flush)
        self._calls = NO_CALLS

    # What the ends come to

    def _done_unseen(self, item_id: str, final: FinalItem, now: float) -> None:
        """Build what an item came to from its final_item alone."""
        match final:
            case FinalFunctionCallOutput():
                self._output_done(item_id, final, now)
            case FinalFunctionCall():
                self._call_done(self._unseen(item_id, "tool_call", now), final, now)
            case FinalMessage():
                self._text_done(self._unseen(item_id, "message", now), final, now)
            case FinalReasoning():
                self._text_done(self._unseen(item_id, "thinking", now), final, now)
            case FinalError():
                error = ErrorInfo(code=final.code, message=final.message)
                self._end_with_error(self._unseen(item_id, "message", now), error, now)
            case FinalCancelled():
                self.cancel(item_id, now)
            case FinalScriptExecution() | FinalScriptExecutionOutput():
                pass  # log A only

    def _unseen(self, item_id: str, content_type: ContentType, now: float) -> ItemBuffer:
        return ItemBuffer(item_id, content_type, self._gradient, now=now)

    def _text_done(self, item: ItemBuffer, final: FinalItem, now: float) -> None:
        origin, text = None, None
        if isinstance(final, FinalMessage | FinalReasoning):
            text = mend_surrogates(final.content)
            origin = final.origin if isinstance(final, FinalMessage) else None
        if not isinstance(final, FinalMessage if item.content_type == "message" else FinalReasoning):
            self._misfit(item, final)
        if text is None:
            text = item.text()
        if utf8_length(text) > self._options.max_item_bytes:
            self._end_too_large(item, now)
        else:
            self._release(item)
            self._add(self._voice.text(item, "complete", text, origin=origin), now, size=len(text))

    def _call_done(self, item: ItemBuffer, final: FinalItem, now: float) -> None:  # R6
        if isinstance(final, FinalFunctionCall):
            name, call_id, text = final.name, final.call_id, final.arguments or ""
        else:
            self._misfit(item, final)
            name, call_id, text = item.name, item.call_id, item.text()
        if utf8_length(text) > self._options.max_item_bytes:
            self._end_too_large(item, now)
            return
        arguments, raw = parse_arguments(text)
        call = OpenCall(item_id=item.item_id, name=name, arguments=arguments, call_id=call_id, content=raw)
        self.live.pop(item.item_id, None)
        item.ended = True
        self._own_calls().open(call)
        self._add(self._voice.called(call), now, size=len(text))

    def _output_done(self, item_id: str, final: FinalFunctionCallOutput, now: float) -> None:  # R7
        call = self._calls.close_by_call_id(final.call_id)
        if call is None:
            count(self._counts, "unknown_calls")
            log.warning("turn %s: output %s names call %r, which is not open", *self._names(item_id), final.call_id)
        else:
            self._end_ids(item_id, call.item_id)
            self._add(self._voice.answered(call, final.output, final.success), now, size=len(final.output))

    def _misfit(self, item: ItemBuffer, final: FinalItem) -> None:
        kind = type(final).__name__
        log.warning(
            "turn %s: item %s is a %s, its final_item a %s", *self._names(item.item_id), item.content_type, kind
        )

    def _names(self, item_id: str) -> tuple[str, str]:
        return self._voice.turn_id, item_id

    def _close_call(self, item_id: str) -> OpenCall | None:
        """End the open call that is this item, or that this item is the output of."""
        call = self._calls.close_by_item_id(item_id) or self._calls.close_by_output(item_id)
        if call is not None:
            self._end_ids(item_id, call.item_id)
        return call

    def _own_calls(self) -> ToolCalls:
        if self._calls is NO_CALLS:
            self._calls = ToolCalls()
        return self._calls


def _is_prompt(start: ItemStart) -> bool:
    """Is this the user's own message? By its id only for producers that do not say."""
    return start.origin == "user" or (start.origin is None and "user-prompt" in start.item_id)
