"""UIMessages: the whole state of a conversation, as a chat view binds it. Frozen nouns only.

Attributes are snake_case here and camelCase on the wire (ui_codec.py). A field that is None is left out of the JSON;
`input` and `output` of a tool call may well be null, so for them absent is `UNSET`.

`provider_data` is opaque: whatever a provider wants back as it was. Three keys in it are ours. On a thinking part
`steps` lists `{"stepId", "content", "at"?, "signature"?, "encryptedValue"?, "providerData"?}` in order, as soon as one
step has something to be sent back; the contents joined are the part's, and `at` is the number of parts before the step.
On a text, a call or a result `encryptedValue` is what AG-UI sends under that name. On a message `encryptedValues` maps
ids that belong to no part of it to their values.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs
from msgspec import UNSET, UnsetType

from turnwire.messages.agui.messages import MediaKind, MediaSource
from turnwire.messages.particulars import Id, Json, Usage

Role: TypeAlias = Literal["user", "assistant", "system", "developer"]
ToolCallState: TypeAlias = Literal[
    "awaiting-input",
    "input-streaming",
    "input-complete",
    "approval-requested",
    "approval-responded",
    "complete",
    "error",
]
ToolResultState: TypeAlias = Literal["complete", "error"]
ProviderData: TypeAlias = Mapping[str, Json]


@attrs.frozen(kw_only=True)
class TextPart:
    """A segment of text, as far as it is shown."""

    content: str
    provider_data: ProviderData | None = None


@attrs.frozen(kw_only=True)
class ThinkingPart:
    """What the model thought. `step_id` is set when each step has a part of its own."""

    content: str
    step_id: str | None = None
    provider_data: ProviderData | None = None


@attrs.frozen(kw_only=True)
class Approval:
    """A question to the user whether a tool may run. `approved` is None until it is answered."""

    id: Id
    needs_approval: bool = True
    approved: bool | None = None


@attrs.frozen(kw_only=True)
class ToolCallPart:
    """A tool call. `arguments` is the raw text, `input` what it says, `output` what the tool said."""

    id: Id
    name: str
    arguments: str
    state: ToolCallState
    input: Json | UnsetType = UNSET
    output: Json | UnsetType = UNSET
    approval: Approval | None = None
    provider_data: ProviderData | None = None


@attrs.frozen(kw_only=True)
class ToolResultPart:
    """What a tool said, as raw text; `error` says why it failed, if it did."""

    tool_call_id: Id
    content: str
    state: ToolResultState
    error: str | None = None
    provider_data: ProviderData | None = None


@attrs.frozen(kw_only=True)
class MediaPart:
    """A picture, a sound, a film or a document of the user's. Its `kind` is its type on the wire."""

    kind: MediaKind
    source: MediaSource
    metadata: Json = None
    provider_data: ProviderData | None = None


Part: TypeAlias = TextPart | ThinkingPart | ToolCallPart | ToolResultPart | MediaPart


@attrs.frozen(kw_only=True)
class UIMessage:
    """One message of a conversation. An assistant's lasts as long as its stream, over all iterations of a loop."""

    id: Id
    role: Role
    parts: tuple[Part, ...] = ()
    created_at: int | float | str | None = None
    provider_data: ProviderData | None = None


@attrs.frozen(kw_only=True)
class CalledTool:
    """A tool call as a result lists it."""

    id: str
    name: str
    arguments: str


@attrs.frozen(kw_only=True)
class ProcessorResult:
    """What one stream came to. Tool calls are in the order of first sight."""

    content: str = ""
    thinking: str = ""
    tool_calls: tuple[CalledTool, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None


@attrs.frozen(kw_only=True)
class SavedConversation:
    """All of a conversation that outlives its streams. Approvals that wait for an answer are in its messages."""

    messages: tuple[UIMessage, ...] = ()
    state: Json = None
