"""StreamEvents: what a provider's stream says once an adapter has put it into our words. Frozen nouns only.

The fields and their meaning stand in docs/reference.md. What an item came to stands in final_items.py, what other
messages tell in the same way in particulars.py; both are given on here. Three choices that a reader will wonder about:

- `type` is not a field. The class of a payload says it, and the codec's table gives it its wire name, so the
  two cannot disagree inside the program.
- Optional fields are `None` when absent. A producer's explicit null means the same.
- Data that we carry but never look into (`details`, `provider_data`, ...) is `Json`: whoever wants
  to read it has to look first.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.final_items import (
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    FinalScriptExecution,
    FinalScriptExecutionOutput,
)
from turnwire.messages.particulars import Count, ErrorInfo, Id, Json, Origin, TraceContext, Usage

__all__ = [
    "Count",
    "ErrorInfo",
    "FinalCancelled",
    "FinalError",
    "FinalFunctionCall",
    "FinalFunctionCallOutput",
    "FinalItem",
    "FinalMessage",
    "FinalReasoning",
    "FinalScriptExecution",
    "FinalScriptExecutionOutput",
    "Heartbeat",
    "Id",
    "ItemCancelled",
    "ItemDelta",
    "ItemDone",
    "ItemError",
    "ItemStart",
    "ItemType",
    "Json",
    "Origin",
    "Payload",
    "ResponseDone",
    "ResponseError",
    "ResponseStart",
    "ScriptExecutionDone",
    "ScriptExecutionError",
    "ScriptExecutionStart",
    "StreamEvent",
    "TraceContext",
    "TurnAbortedByUser",
    "UnknownPayload",
    "Usage",
    "UsageUpdate",
]

ItemType: TypeAlias = Literal[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "script_execution",
    "script_execution_output",
    "error",
]


@attrs.frozen(kw_only=True)
class ResponseStart:
    """The turn begins. Our own ids, whatever the provider calls them."""

    response_id: Id
    turn_id: Id
    thread_id: Id
    model_id: str
    provider_id: str
    created_at: int | float | str
    agent_id: str | None = None


@attrs.frozen(kw_only=True)
class ItemStart:
    """An item begins: a message, a block of reasoning, a tool call, ..."""

    item_id: Id
    item_type: ItemType
    origin: str | None = None
    initial_content: str | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: Id | None = None
    code: str | None = None


@attrs.frozen(kw_only=True)
class ItemDelta:
    """More text for an item. Ninety-five of a hundred events are this one."""

    item_id: Id
    delta_content: str


@attrs.frozen(kw_only=True)
class ItemDone:
    """An item is finished; `final_item` wins over what the deltas said."""

    item_id: Id
    final_item: FinalItem


@attrs.frozen(kw_only=True)
class ItemError:
    """An item failed. The turn may go on."""

    item_id: Id
    error: ErrorInfo


@attrs.frozen(kw_only=True)
class ItemCancelled:
    """An item is taken back, as if it had not begun."""

    item_id: Id
    reason: str | None = None


@attrs.frozen(kw_only=True)
class ResponseDone:
    """The turn ends. `status` is a word: error and aborted pass, all others count as complete."""

    response_id: Id
    status: str
    usage: Usage | None = None
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    provider_response_id: str | None = None
    served_model: str | None = None


@attrs.frozen(kw_only=True)
class ResponseError:
    """The turn ends because the provider, or the way to it, failed."""

    response_id: Id
    error: ErrorInfo


@attrs.frozen(kw_only=True)
class UsageUpdate:
    """Usage so far; the latest one counts when `response_done` brings none."""

    response_id: Id
    usage: Usage


@attrs.frozen(kw_only=True)
class Heartbeat:
    """The stream is alive. No effect on any item, not even on its batch timeout."""


@attrs.frozen(kw_only=True)
class TurnAbortedByUser:
    """Somebody pressed stop."""

    turn_id: Id
    reason: str


@attrs.frozen(kw_only=True)
class ScriptExecutionStart:
    """A script begins. Log A only."""

    item_id: Id
    code: str


@attrs.frozen(kw_only=True)
class ScriptExecutionDone:
    """A script ended. Log A only."""

    item_id: Id
    result: Json
    success: bool


@attrs.frozen(kw_only=True)
class ScriptExecutionError:
    """A script failed. Log A only."""

    item_id: Id
    error: Json


@attrs.frozen(kw_only=True)
class UnknownPayload:
    """A payload type that this version does not know: kept whole, counted, never raised."""

    type: str
    fields: Mapping[str, Json]


Payload: TypeAlias = (
    ResponseStart
    | ItemStart
    | ItemDelta
    | ItemDone
    | ItemError
    | ItemCancelled
    | ResponseDone
    | ResponseError
    | UsageUpdate
    | Heartbeat
    | TurnAbortedByUser
    | ScriptExecutionStart
    | ScriptExecutionDone
    | ScriptExecutionError
    | UnknownPayload
)


@attrs.frozen(kw_only=True)
class StreamEvent:
    """One event of a turn: the envelope around a payload. `timestamp` is milliseconds since the epoch."""

    event_id: Id
    timestamp: int | float
    run_id: Id
    trace_context: TraceContext
    payload: Payload
