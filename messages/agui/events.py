"""AG-UI events in the canonical dialect: what a conversation is driven by. Frozen nouns only.

A stream of these is one flat list over all iterations of an agent loop. The events that only AG-UI 1.0 has stand in
more_events.py; what each of all these does to a conversation stands in docs/conversations.md. Wire names live in
codec.py alone.

Optional fields are None when absent; an explicit null means the same.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.particulars import Id, Json, Usage

TextRole: TypeAlias = Literal["assistant", "user", "system", "developer"]
AguiFinishReason: TypeAlias = Literal["stop", "length", "content_filter", "tool_calls"]


@attrs.frozen(kw_only=True)
class AguiEvent:
    """What any event may carry besides its own fields: when it was made, of what, by whom. Nothing depends on it."""

    timestamp: int | float | None = None
    """Milliseconds since the epoch, as the producer says."""
    metadata: Mapping[str, Json] | None = None
    raw_event: Json = None
    subagent_run_id: str | None = None


@attrs.frozen(kw_only=True)
class RunStarted(AguiEvent):
    """A run, or one iteration of a loop, begins."""

    run_id: Id
    thread_id: str | None = None
    parent_run_id: str | None = None
    protocol_version: str | None = None
    input: Json = None


@attrs.frozen(kw_only=True)
class TextMessageStart(AguiEvent):
    """A block of text begins."""

    message_id: Id
    role: TextRole = "assistant"
    name: str | None = None


@attrs.frozen(kw_only=True)
class TextMessageContent(AguiEvent):
    """A block of text grows. `content`, the text so far, is there for debugging and never read."""

    message_id: Id
    delta: str
    content: str | None = None


@attrs.frozen(kw_only=True)
class TextMessageEnd(AguiEvent):
    """A block of text is whole."""

    message_id: Id


@attrs.frozen(kw_only=True)
class ToolCallStart(AguiEvent):
    """The model begins to call a tool."""

    tool_call_id: Id
    tool_name: Id
    index: int | None = None
    parent_message_id: str | None = None


@attrs.frozen(kw_only=True)
class ToolCallArgs(AguiEvent):
    """The text of a call's arguments grows."""

    tool_call_id: Id
    delta: str


@attrs.frozen(kw_only=True)
class ToolCallEnd(AguiEvent):
    """A call's arguments are final; with `result`, the tool has also run (and failed, if there is an `error`).

    An empty text is a result.
    """

    tool_call_id: Id
    tool_name: str | None = None
    input: Json = None
    result: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class StepStarted(AguiEvent):
    """A step, in the canonical dialect one of thinking, begins."""

    step_id: str


@attrs.frozen(kw_only=True)
class StepFinished(AguiEvent):
    """The thinking of a step grows by `delta`. Without one it is a bare mark: AG-UI 1.0 steps are only named."""

    step_id: str
    delta: str | None = None
    content: str | None = None
    """The step's thinking so far; read only when there is no delta."""
    signature: str | None = None
    """The provider's seal on this step's thinking, to be sent back unread."""


@attrs.frozen(kw_only=True)
class Custom(AguiEvent):
    """Anything else; `tool-input-available` and `approval-requested` mean something to a conversation."""

    name: str
    data: Json = None


@attrs.frozen(kw_only=True)
class RunFinished(AguiEvent):
    """A run, or one iteration of a loop, has ended well. Not the end of the stream."""

    run_id: Id
    finish_reason: AguiFinishReason | None = None
    raw_finish_reason: str | None = None
    """The provider's own word, where the four above do not say it."""
    usage: Usage | None = None
    thread_id: str | None = None
    result: Json = None
    outcome: Json = None


@attrs.frozen(kw_only=True)
class RunErrorInfo:
    """What broke a run, as the producer tells it."""

    message: str
    code: str | None = None


@attrs.frozen(kw_only=True)
class RunError(AguiEvent):
    """A run has ended badly."""

    error: RunErrorInfo
    run_id: str | None = None
    usage: Usage | None = None


@attrs.frozen(kw_only=True)
class UnknownAguiEvent(AguiEvent):
    """An event of a type that we do not know: it has no effect and is counted."""

    type: str
    fields: Mapping[str, Json] = attrs.field(factory=dict[str, Json])
