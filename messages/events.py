"""StreamEvents: what a provider's stream says once an adapter has put it into our words. Frozen nouns only.

The fields and their meaning stand in docs/reference.md. Three choices that a reader will wonder about:

- `type` is not a field. The class of a payload says it, and the codec's table gives it its wire name, so the
  two cannot disagree inside the program.
- Optional fields are `None` when absent. A producer's explicit null means the same.
- Data that we carry but never look into (`details`, `provider_data`, ...) is `Json`: whoever wants
  to read it has to look first.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import attrs
import msgspec

Json: TypeAlias = Any  # a JSON value that passes through us unread; the one place where Any is the honest type
Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]  # opaque: no UUID syntax is demanded, only not ""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Origin: TypeAlias = Literal["user", "agent", "system"]
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
class TraceContext:
    """W3C trace context of the request that caused an event."""

    traceparent: str
    tracestate: str | None = None


@attrs.frozen(kw_only=True)
class ErrorInfo:
    """What went wrong, as the producer tells it."""

    code: str
    message: str
    stack: str | None = None
    details: Json = None


@attrs.frozen(kw_only=True)
class Usage:
    """Tokens spent. Unknown is None, never zero."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None


# What an item came to, as its `item_done` says it. `origin` is a word; for messages one of three.


@attrs.frozen(kw_only=True)
class FinalMessage:
    """A finished message."""

    id: Id
    content: str
    origin: Origin = "agent"
    annotations: list[Json] | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalReasoning:
    """A finished block of reasoning."""

    id: Id
    content: str
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalFunctionCall:
    """A finished tool call. `arguments` is JSON text; None counts as empty text."""

    id: Id
    name: str
    call_id: Id
    arguments: str | None = None
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalFunctionCallOutput:
    """What a tool gave back. `output` is text, which may be JSON."""

    id: Id
    call_id: Id
    output: str
    success: bool | None = None
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalError:
    """An item that turned out to be an error."""

    id: Id
    code: str
    message: str
    details: Json = None
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalCancelled:
    """An item that was taken back."""

    id: Id
    reason: str | None = None
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalScriptExecution:
    """A script that was run. Lives in log A only."""

    id: Id
    code: str
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


@attrs.frozen(kw_only=True)
class FinalScriptExecutionOutput:
    """What a script gave back. Lives in log A only."""

    id: Id
    script_id: Id
    result: Json
    success: bool
    error: Json = None
    origin: str | None = None
    correlation_id: Id | None = None
    provider_data: Json = None


FinalItem: TypeAlias = (
    FinalMessage
    | FinalReasoning
    | FinalFunctionCall
    | FinalFunctionCallOutput
    | FinalError
    | FinalCancelled
    | FinalScriptExecution
    | FinalScriptExecutionOutput
)


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
