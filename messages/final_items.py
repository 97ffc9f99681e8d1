"""What an item came to, as its `item_done` says it. `origin` is a word; for messages one of three. Frozen nouns."""

from typing import TypeAlias

import attrs

from turnwire.messages.particulars import Id, Json, Origin


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
