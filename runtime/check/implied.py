"""What the events of log A imply for readers: for each item how it must end, or what it must come to if it has no end.

Written from the rules of the specification, event by event, with nothing of the batching: when something is emitted is
not judged, only what it must come to. Positions are the places of events in log A, so that order can be judged.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import attrs

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
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
)
from turnwire.messages.json_text import dump_json, mend_surrogates, parse_json

Kind: TypeAlias = Literal["message", "thinking", "tool_call"]
Wanted: TypeAlias = Mapping[str, Any]
"""Attributes that an output must have, with their values."""

_KINDS: Mapping[str, Kind] = {"message": "message", "reasoning": "thinking", "function_call": "tool_call"}


@attrs.frozen(kw_only=True)
class CheckLimits:
    """The limits that the turns ran under."""

    item_bytes: int = 4 * 1024 * 1024
    live_items: int = 1000


@attrs.define(eq=False)
class ImpliedItem:
    """One item as the events tell of it."""

    item_id: str
    kind: Kind
    is_prompt: bool = False
    name: str = ""
    call_id: str = ""
    size: int = 0
    parts: list[str] = attrs.Factory(list[str])
    call: Wanted | None = None
    """What a finished function call must look like, status and output aside."""
    called_at: int = -1
    end: Wanted | None = None
    ended_at: int = -1
    is_cancelled: bool = False

    @property
    def text(self) -> str:
        """All its text; halves of surrogate pairs are joined, or U+FFFD."""
        return mend_surrogates("".join(self.parts))

    def grown(self, text: str) -> int:
        """Give its size in bytes with this text too. Two halves weigh six bytes apart and four together."""
        joined = bool(self.parts) and "\ud800" <= self.parts[-1][-1:] <= "\udbff" and "\udc00" <= text[:1] <= "\udfff"
        return self.size + len(text.encode("utf-8", "surrogatepass")) - 2 * joined


class ImpliedItems:
    """Reads the events of one turn, in order, up to its terminal."""

    def __init__(self, limits: CheckLimits) -> None:
        self.items: dict[str, ImpliedItem] = {}
        self._limits = limits
        self._live: dict[str, ImpliedItem] = {}
        self._open_calls: dict[str, ImpliedItem] = {}
        self._waiting: dict[str, deque[ImpliedItem]] = {}
        self._ended: set[str] = set()
        self._call_of_output: dict[str, str] = {}

    def read(self, payload: Payload, at: int) -> None:
        """Take one event about an item in; all others are passed over."""
        match payload:
            case ItemStart():
                self._start(payload, at)
            case ItemDelta():
                self._grow(payload, at)
            case ItemDone():
                self._done(payload.item_id, payload.final_item, at)
            case ItemError():
                self._fail(payload.item_id, payload.error, at)
            case ItemCancelled():
                self._cancel(payload.item_id)
            case _:
                pass

    def _start(self, start: ItemStart, at: int) -> None:
        item_id = start.item_id
        if item_id in self.items or item_id in self._ended or item_id in self._call_of_output:
            return
        if start.item_type == "function_call_output":
            if start.call_id is not None:
                self._call_of_output[item_id] = start.call_id
            return
        if start.item_type not in _KINDS:
            return
        kind = _KINDS[start.item_type]
        says_user = start.origin == "user" or (start.origin is None and "user-prompt" in item_id)
        item = self._new(item_id, kind)
        item.is_prompt = kind == "message" and says_user
        item.name, item.call_id = start.name or "", start.call_id or ""
        text = start.initial_content or (start.arguments if kind == "tool_call" else "") or ""
        if len(self._live) > self._limits.live_items:
            self._end(item, _error(item, "", "TOO_MANY_ITEMS"), at)
        else:
            self._add_text(item, text, at)

    def _grow(self, delta: ItemDelta, at: int) -> None:
        if (item := self._live.get(delta.item_id)) is not None:
            self._add_text(item, delta.delta_content, at)

    def _add_text(self, item: ImpliedItem, text: str, at: int) -> None:
        if item.grown(text) > self._limits.item_bytes:
            self._end(item, _error(item, item.text, "ITEM_TOO_LARGE"), at)
        elif text:
            item.size = item.grown(text)
            item.parts.append(text)

    def _done(self, item_id: str, final: FinalItem, at: int) -> None:
        item = self._live.get(item_id)
        if item_id in self._ended:
            return
        if isinstance(final, FinalCancelled):
            self._cancel(item_id)
        elif item is None and isinstance(final, FinalFunctionCallOutput):
            self._answer(item_id, final, at)
        elif item is None and (item_id in self._open_calls or isinstance(final, _SCRIPTS)):
            return
        else:
            item = item or self._new(item_id, _kind_of(final))
            if isinstance(final, FinalError):
                self._end(item, _error(item, "", final.code, final.message), at)
            elif item.kind == "tool_call":
                self._called(item, final, at)
            else:
                self._said(item, final, at)

    def _said(self, item: ImpliedItem, final: FinalItem, at: int) -> None:
        text = final.content if isinstance(final, FinalMessage | FinalReasoning) else item.text
        if len(text.encode("utf-8", "surrogatepass")) > self._limits.item_bytes:
            self._end(item, _error(item, item.text, "ITEM_TOO_LARGE"), at)
            return
        wanted = {"status": "complete", "content": mend_surrogates(text)}
        if item.kind == "message":
            own = "user" if item.is_prompt else "agent"
            wanted["origin"] = final.origin if isinstance(final, FinalMessage) else own
        self._end(item, wanted, at)

    def _called(self, item: ImpliedItem, final: FinalItem, at: int) -> None:
        if isinstance(final, FinalFunctionCall):
            name, call_id, text = final.name, final.call_id, final.arguments or ""
        else:
            name, call_id, text = item.name, item.call_id, item.text
        if len(text.encode("utf-8", "surrogatepass")) > self._limits.item_bytes:
            self._end(item, _error(item, item.text, "ITEM_TOO_LARGE"), at)
            return
        arguments = _container(text or "{}")
        is_object = isinstance(arguments, dict)
        item.call = {
            "tool_name": name,
            "call_id": call_id,
            "tool_arguments": arguments if is_object else {},
            "content": "" if is_object else mend_surrogates(text),
        }
        item.called_at = at
        del self._live[item.item_id]
        self._open_calls[item.item_id] = item
        self._waiting.setdefault(call_id, deque()).append(item)

    def _answer(self, output_id: str, final: FinalFunctionCallOutput, at: int) -> None:
        if (item := self._oldest_call(final.call_id)) is not None:
            parsed = _container(final.output)
            output = mend_surrogates(final.output) if parsed is None else parsed
            self._ended.add(output_id)
            wanted = {"status": "complete", "tool_output": output, "success": final.success}
            self._end(item, {**(item.call or {}), **wanted}, at)

    def _fail(self, item_id: str, error: ErrorInfo, at: int) -> None:
        if (item := self._live.get(item_id)) is not None:
            self._end(item, _error(item, item.text, error.code, error.message), at)
        elif item_id not in self._ended and (item := self._call_named(item_id)) is not None:
            self._ended.add(item_id)
            self._end(item, _error(item, "", error.code, error.message), at)

    def _cancel(self, item_id: str) -> None:
        item = self._live.get(item_id)
        if item is None and item_id not in self._ended:
            item = self._call_named(item_id)
        if item is not None:
            self._ended.add(item_id)
            item.is_cancelled = True
            self._close(item)

    def _call_named(self, item_id: str) -> ImpliedItem | None:
        """Give the open call that is this item, or that this item said to be the output of."""
        if item_id in self._open_calls:
            return self._open_calls[item_id]
        call_id = self._call_of_output.pop(item_id, None)
        return None if call_id is None else self._oldest_call(call_id)

    def _oldest_call(self, call_id: str) -> ImpliedItem | None:
        waiting = self._waiting.get(call_id)
        return waiting[0] if waiting else None

    def _new(self, item_id: str, kind: Kind) -> ImpliedItem:
        item = self.items[item_id] = self._live[item_id] = ImpliedItem(item_id, kind)
        return item

    def _end(self, item: ImpliedItem, wanted: Wanted, at: int) -> None:
        item.end, item.ended_at = wanted, at
        self._close(item)

    def _close(self, item: ImpliedItem) -> None:
        self._ended.add(item.item_id)
        self._live.pop(item.item_id, None)
        if self._open_calls.pop(item.item_id, None) is not None and item.call is not None:
            self._waiting[item.call["call_id"]].remove(item)


_SCRIPTS = (FinalScriptExecution, FinalScriptExecutionOutput)


def _kind_of(final: FinalItem) -> Kind:
    match final:
        case FinalFunctionCall():
            return "tool_call"
        case FinalReasoning():
            return "thinking"
        case _:
            return "message"


def _error(item: ImpliedItem, text: str, code: str, message: str | None = None) -> Wanted:
    """What a failed item must look like; our own messages are not judged word by word."""
    wanted: dict[str, Any] = {"status": "error", "content": text, "error_code": mend_surrogates(code)}
    if message is not None:
        wanted["error_message"] = mend_surrogates(message)
    if item.call is not None:
        return {**wanted, **item.call}
    if item.kind == "tool_call":
        return {**wanted, "tool_name": item.name, "tool_arguments": {}, "call_id": item.call_id}
    return wanted


def _container(text: str) -> Any:
    """Give the object or array that this JSON text is, as it comes back from a log; None if it is neither.

    As it comes back: half surrogates inside do not survive the writing.
    """
    try:
        value = parse_json(text)
    except ValueError:
        return None
    is_container = isinstance(value, dict | list)
    return parse_json(dump_json(cast("object", value))) if is_container else None
