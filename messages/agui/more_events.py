"""The events of AG-UI 1.0 that the canonical dialect says in other words, or not at all. Frozen nouns only."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.agui.events import (
    AguiEvent,
    Custom,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    TextRole,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
    UnknownAguiEvent,
)
from turnwire.messages.agui.messages import AguiMessage, ContentPart
from turnwire.messages.particulars import Id, Json


@attrs.frozen(kw_only=True)
class TextMessageChunk(AguiEvent):
    """Start, content and end in one. What is absent is as in the chunk before."""

    message_id: str | None = None
    role: TextRole | None = None
    delta: str | None = None
    name: str | None = None


@attrs.frozen(kw_only=True)
class ToolCallChunk(AguiEvent):
    """Start, arguments and end of a call in one. What is absent is as in the chunk before."""

    tool_call_id: str | None = None
    tool_name: str | None = None
    parent_message_id: str | None = None
    delta: str | None = None


@attrs.frozen(kw_only=True)
class ToolCallResult(AguiEvent):
    """A tool has run (and failed, if there is an `error`)."""

    tool_call_id: Id
    content: str | tuple[ContentPart, ...]
    message_id: str | None = None
    role: Literal["tool"] | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class ReasoningStart(AguiEvent):
    """A span of thinking begins."""

    message_id: Id


@attrs.frozen(kw_only=True)
class ReasoningMessageStart(AguiEvent):
    """A block of thinking begins."""

    message_id: Id
    role: str = "reasoning"


@attrs.frozen(kw_only=True)
class ReasoningMessageContent(AguiEvent):
    """A block of thinking grows."""

    message_id: Id
    delta: str


@attrs.frozen(kw_only=True)
class ReasoningMessageEnd(AguiEvent):
    """A block of thinking is whole."""

    message_id: Id


@attrs.frozen(kw_only=True)
class ReasoningMessageChunk(AguiEvent):
    """Start, content and end of a block of thinking in one. What is absent is as in the chunk before."""

    message_id: str | None = None
    delta: str | None = None


@attrs.frozen(kw_only=True)
class ReasoningEnd(AguiEvent):
    """A span of thinking is over."""

    message_id: Id


@attrs.frozen(kw_only=True)
class ReasoningEncryptedValue(AguiEvent):
    """Opaque data of the provider for a block of thinking or a tool call, to be sent back unread."""

    subtype: Literal["message", "tool-call"]
    entity_id: Id
    encrypted_value: str


@attrs.frozen(kw_only=True)
class MessagesSnapshot(AguiEvent):
    """All messages of the conversation, in place of what was known."""

    messages: tuple[AguiMessage, ...]


@attrs.frozen(kw_only=True)
class StateSnapshot(AguiEvent):
    """The state beside the messages, whole."""

    snapshot: Json


@attrs.frozen(kw_only=True)
class StateDelta(AguiEvent):
    """A change of the state beside the messages, as a JSON Patch (RFC 6902)."""

    delta: tuple[Mapping[str, Json], ...]


@attrs.frozen(kw_only=True)
class ActivitySnapshot(AguiEvent):
    """Progress that is no part of the conversation."""

    message_id: Id
    activity_type: str
    content: Mapping[str, Json]
    replace: bool | None = None


@attrs.frozen(kw_only=True)
class ActivityDelta(AguiEvent):
    """A change of such progress, as a JSON Patch."""

    message_id: Id
    activity_type: str
    patch: tuple[Mapping[str, Json], ...]


@attrs.frozen(kw_only=True)
class RawAguiEvent(AguiEvent):
    """An event of a provider, passed on untranslated."""

    event: Json
    source: str | None = None


@attrs.frozen(kw_only=True)
class SubagentStarted(AguiEvent):
    """A subagent begins its work."""

    name: str
    description: str | None = None
    parent_subagent_run_id: str | None = None
    parent_tool_call_id: str | None = None
    parent_message_id: str | None = None


@attrs.frozen(kw_only=True)
class SubagentFinished(AguiEvent):
    """A subagent has done its work, or waits for an answer."""

    result: Json = None
    outcome: Json = None


@attrs.frozen(kw_only=True)
class SubagentError(AguiEvent):
    """A subagent has failed; the run goes on."""

    message: str
    code: str | None = None


AnyAguiEvent: TypeAlias = (
    RunStarted
    | TextMessageStart
    | TextMessageContent
    | TextMessageEnd
    | TextMessageChunk
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallChunk
    | ToolCallResult
    | StepStarted
    | StepFinished
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningMessageContent
    | ReasoningMessageEnd
    | ReasoningMessageChunk
    | ReasoningEnd
    | ReasoningEncryptedValue
    | MessagesSnapshot
    | StateSnapshot
    | StateDelta
    | ActivitySnapshot
    | ActivityDelta
    | RawAguiEvent
    | Custom
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | RunFinished
    | RunError
    | UnknownAguiEvent
)
"""Every event that a conversation takes."""
