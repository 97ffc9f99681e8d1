"""Messages as AG-UI tells them, in MESSAGES_SNAPSHOT and as the input of a run. Frozen nouns only."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.particulars import Id, Json

MediaKind: TypeAlias = Literal["image", "audio", "video", "document"]


@attrs.frozen(kw_only=True)
class MediaSource:
    """Where the bytes of a medium are: inline in base64 (`data`), at a `url`, or in a provider's `file` store."""

    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None
    provider: str | None = None


@attrs.frozen(kw_only=True)
class ContentText:
    """Text among other content."""

    text: str
    id: str | None = None
    metadata: Json = None


@attrs.frozen(kw_only=True)
class ContentMedia:
    """A picture, a sound, a film or a document among other content."""

    kind: MediaKind
    source: MediaSource
    id: str | None = None
    metadata: Json = None


ContentPart: TypeAlias = ContentText | ContentMedia


@attrs.frozen(kw_only=True)
class AguiToolCall:
    """A call inside an assistant's message."""

    id: Id
    name: str
    arguments: str
    encrypted_value: str | None = None


@attrs.frozen(kw_only=True)
class SpokenMessage:
    """What a user, the system or the developer said."""

    id: Id
    role: Literal["user", "system", "developer"]
    content: str | tuple[ContentPart, ...]
    name: str | None = None
    encrypted_value: str | None = None
    metadata: Mapping[str, Json] | None = None
    subagent_run_id: str | None = None


@attrs.frozen(kw_only=True)
class AssistantMessage:
    """What the model said, and the tools it called."""

    id: Id
    content: str | None = None
    tool_calls: tuple[AguiToolCall, ...] = ()
    name: str | None = None
    encrypted_value: str | None = None
    metadata: Mapping[str, Json] | None = None
    subagent_run_id: str | None = None


@attrs.frozen(kw_only=True)
class ToolMessage:
    """What a tool answered."""

    id: Id
    tool_call_id: Id
    content: str | tuple[ContentPart, ...]
    error: str | None = None
    encrypted_value: str | None = None
    metadata: Mapping[str, Json] | None = None
    subagent_run_id: str | None = None


@attrs.frozen(kw_only=True)
class ReasoningMessage:
    """What the model thought."""

    id: Id
    content: str
    encrypted_value: str | None = None
    metadata: Mapping[str, Json] | None = None
    subagent_run_id: str | None = None


@attrs.frozen(kw_only=True)
class ActivityMessage:
    """Progress that keeps its place among the messages."""

    id: Id
    activity_type: str
    content: Mapping[str, Json]
    metadata: Mapping[str, Json] | None = None
    subagent_run_id: str | None = None


AguiMessage: TypeAlias = SpokenMessage | AssistantMessage | ToolMessage | ReasoningMessage | ActivityMessage
