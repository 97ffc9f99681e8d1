"""Two folds, both pure: outputs → what a reader knows, StreamEvents → what the provider said in all."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

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
    ItemType,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    TurnAbortedByUser,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_text import mend_surrogates
from turnwire.messages.outputs import (
    Content,
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnStarted,
    TurnStatus,
)

ItemState: TypeAlias = Literal["open", "done", "error", "cancelled"]


@attrs.frozen(kw_only=True)
class TurnSnapshot:
    """All that a reader of a turn's outputs knows: the newest state of each item, in order of first sight."""

    started: TurnStarted | None = None
    items: tuple[Content, ...] = ()
    terminal: TurnComplete | TurnError | None = None

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The same as a list of outputs: a reader that gets just these ends up with the same."""
        first = () if self.started is None else (self.started,)
        last = () if self.terminal is None else (self.terminal,)
        return (*first, *self.items, *last)


class SnapshotFold:
    """Folds outputs into a snapshot, one at a time."""

    __slots__ = ("_items", "_started", "_terminal")

    def __init__(self, outputs: Iterable[Output] = ()) -> None:
        self._started: TurnStarted | None = None
        self._items: dict[str, Content] = {}
        self._terminal: TurnComplete | TurnError | None = None
        for output in outputs:
            self.push(output)

    def push(self, output: Output) -> None:
        """Take one output in. The first terminal wins."""
        match output:
            case Message() | Thinking() | ToolCall():
                self._items[output.item_id] = output
            case TurnStarted():
                self._started = self._started or output
            case TurnComplete() | TurnError():
                self._terminal = self._terminal or output

    @property
    def has_ended(self) -> bool:
        """Is the terminal in?"""
        return self._terminal is not None

    def snapshot(self) -> TurnSnapshot:
        """Give what is known so far."""
        return TurnSnapshot(started=self._started, items=tuple(self._items.values()), terminal=self._terminal)


def fold_outputs(outputs: Iterable[Output]) -> TurnSnapshot:
    """Fold a turn's outputs into what a reader of all of them knows."""
    return SnapshotFold(outputs).snapshot()


@attrs.frozen(kw_only=True)
class ResponseItem:
    """One item of a response. `text` is what the deltas said, or the final item's own text once that is there."""

    item_id: str
    item_type: ItemType
    state: ItemState
    text: str = ""
    origin: str | None = None
    name: str | None = None
    call_id: str | None = None
    final_item: FinalItem | None = None
    error: ErrorInfo | None = None


@attrs.frozen(kw_only=True)
class Response:
    """All that the events of a turn said. `status` is in_progress until the first terminal, which wins."""

    started: ResponseStart | None = None
    status: TurnStatus | Literal["in_progress"] = "in_progress"
    items: tuple[ResponseItem, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    done: ResponseDone | None = None
    error: ErrorInfo | None = None
    abort_reason: str | None = None


class ResponseFold:
    """Folds the events of one turn, in order, repeated event_ids dropped over the whole of them."""

    __slots__ = ("_items", "_seen", "_started", "_terminal", "_usage")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._started: ResponseStart | None = None
        self._items: dict[str, _OpenItem] = {}
        self._usage: Usage | None = None
        self._terminal: ResponseDone | ResponseError | TurnAbortedByUser | None = None

    def push(self, event: StreamEvent) -> None:
        """Take one event in. What does not fit (after the end, for an ended item) is dropped, as in a turn."""
        if event.event_id in self._seen:
            return
        self._seen.add(event.event_id)
        if self._terminal is not None:
            return
        payload = event.payload
        match payload:
            case ItemDelta(item_id=item_id, delta_content=text):
                if (item := self._open(item_id)) is not None:
                    item.parts.append(text)
            case ItemStart():
                self._items.setdefault(payload.item_id, _OpenItem(payload))
            case ItemDone():
                self._finish(payload)
            case ItemError():
                if (item := self._open(payload.item_id)) is not None:
                    item.state, item.error = "error", payload.error
            case ItemCancelled():
                if (item := self._open(payload.item_id)) is not None:
                    item.state = "cancelled"
            case ResponseStart():
                self._started = self._started or payload
            case UsageUpdate():
                self._usage = payload.usage
            case ResponseDone() | ResponseError() | TurnAbortedByUser():
                self._terminal = payload
            case _:
                pass  # heartbeats, scripts, unknown payloads: nothing of a response

    def response(self) -> Response:
        """Give what is known so far."""
        end = self._terminal
        done = end if isinstance(end, ResponseDone) else None
        return Response(
            started=self._started,
            status=_status(end),
            items=tuple(item.close() for item in self._items.values()),
            usage=(done.usage if done else None) or self._usage,
            finish_reason=done.finish_reason if done else None,
            done=done,
            error=end.error if isinstance(end, ResponseError) else None,
            abort_reason=end.reason if isinstance(end, TurnAbortedByUser) else None,
        )

    def _open(self, item_id: str) -> "_OpenItem | None":
        item = self._items.get(item_id)
        return item if item is not None and item.state == "open" else None

    def _finish(self, done: ItemDone) -> None:
        item = self._items.get(done.item_id)
        final = done.final_item
        if item is None:
            item = _OpenItem(ItemStart(item_id=done.item_id, item_type=_ITEM_TYPES[type(final)]))
            self._items[done.item_id] = item
        elif item.state != "open":
            return
        item.final_item = final
        match final:
            case FinalError():
                item.state = "error"
                item.error = ErrorInfo(code=final.code, message=final.message, details=final.details)
            case FinalCancelled():
                item.state = "cancelled"
            case _:
                item.state = "done"


def fold_events(events: Iterable[StreamEvent]) -> Response:
    """Fold a turn's events, repeated event_ids dropped, into the complete response."""
    fold = ResponseFold()
    for event in events:
        fold.push(event)
    return fold.response()


_ITEM_TYPES: dict[type, ItemType] = {
    FinalMessage: "message",
    FinalReasoning: "reasoning",
    FinalFunctionCall: "function_call",
    FinalFunctionCallOutput: "function_call_output",
    FinalError: "error",
    FinalCancelled: "message",  # what it would have been is not known; it was never shown
    FinalScriptExecution: "script_execution",
    FinalScriptExecutionOutput: "script_execution_output",
}


class _OpenItem:
    __slots__ = ("error", "final_item", "parts", "start", "state")

    def __init__(self, start: ItemStart) -> None:
        self.start = start
        self.parts = [start.initial_content or start.arguments or ""]
        self.state: ItemState = "open"
        self.final_item: FinalItem | None = None
        self.error: ErrorInfo | None = None

    def close(self) -> ResponseItem:
        start, final = self.start, self.final_item
        return ResponseItem(
            item_id=start.item_id,
            item_type=start.item_type,
            state=self.state,
            text=mend_surrogates(_final_text(final, "".join(self.parts))),
            origin=(final.origin if final else None) or start.origin,
            name=final.name if isinstance(final, FinalFunctionCall) else start.name,
            call_id=final.call_id if isinstance(final, _WITH_CALL) else start.call_id,
            final_item=final,
            error=self.error,
        )


_WITH_CALL = (FinalFunctionCall, FinalFunctionCallOutput)


def _final_text(final: FinalItem | None, streamed: str) -> str:
    match final:
        case FinalMessage() | FinalReasoning():
            return final.content
        case FinalFunctionCall():
            return final.arguments or ""
        case FinalFunctionCallOutput():
            return final.output
        case _:
            return streamed


def _status(
    end: ResponseDone | ResponseError | TurnAbortedByUser | None,
) -> TurnStatus | Literal["in_progress"]:
    match end:
        case None:
            return "in_progress"
        case ResponseError():
            return "error"
        case TurnAbortedByUser():
            return "aborted"
        case ResponseDone(status="error" | "aborted" as status):
            return status
        case ResponseDone():
            return "complete"
