"""Outputs: the whole current state of one item or of the turn, as a user interface binds it. Frozen nouns only.

Attributes are snake_case here and camelCase on the wire (messages/output_codec.py). A field that is None is left
out of the JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from turnwire.messages.events import Origin

ContentStatus: TypeAlias = Literal["create", "update", "complete", "error"]
TurnStatus: TypeAlias = Literal["complete", "error", "aborted"]
JsonObject: TypeAlias = Mapping[str, Any]
JsonContainer: TypeAlias = Mapping[str, Any] | Sequence[Any]


@attrs.frozen(kw_only=True)
class Message:
    """A message of the user, the agent or the system, as far as it has come."""

    turn_id: str
    thread_id: str
    item_id: str
    status: ContentStatus
    content: str
    origin: Origin
    error_code: str | None = None
    error_message: str | None = None


@attrs.frozen(kw_only=True)
class Thinking:
    """A block of the model's reasoning, as far as it has come."""

    turn_id: str
    thread_id: str
    item_id: str
    status: ContentStatus
    content: str
    provider_id: str
    error_code: str | None = None
    error_message: str | None = None


@attrs.frozen(kw_only=True)
class ToolCall:
    """A tool call: `create` when it is asked for, `complete` when its output is there."""

    turn_id: str
    thread_id: str
    item_id: str
    status: ContentStatus
    content: str
    tool_name: str
    tool_arguments: JsonObject
    call_id: str
    tool_output: JsonContainer | str | None = None
    success: bool | None = None
    error_code: str | None = None
    error_message: str | None = None


@attrs.frozen(kw_only=True)
class TurnUsage:
    """Tokens of the whole turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@attrs.frozen(kw_only=True)
class TurnFailure:
    """Why a turn ended in `turn_error`."""

    code: str
    message: str


@attrs.frozen(kw_only=True)
class TurnStarted:
    """The turn has begun."""

    turn_id: str
    thread_id: str
    model_id: str | None = None
    provider_id: str | None = None


@attrs.frozen(kw_only=True)
class TurnComplete:
    """The turn ended by itself or was aborted. Terminal: it also ends every item that is still open."""

    turn_id: str
    thread_id: str
    status: TurnStatus
    usage: TurnUsage | None = None


@attrs.frozen(kw_only=True)
class TurnError:
    """The turn broke. Terminal: it also ends every item that is still open."""

    turn_id: str
    thread_id: str
    error: TurnFailure


Content: TypeAlias = Message | Thinking | ToolCall
TurnEvent: TypeAlias = TurnStarted | TurnComplete | TurnError
Output: TypeAlias = Content | TurnEvent


@attrs.frozen(kw_only=True)
class StreamMessage:
    """The envelope around one output, as it reaches the sink. `payload` is the output's JSON text."""

    event_id: str
    timestamp: int
    turn_id: str
    payload: str
