"""What the client says in a conversation, as lines between the events of its streams: nouns and their JSON.

`turnwire converse` reads these lines, and a recording of a conversation holds them in their place, so that what was
recorded comes to the same state again.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import attrs

from turnwire.messages.agui.codec import structure_agui, unstructure_agui
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.particulars import Id, Json
from turnwire.messages.shapes import Shape
from turnwire.messages.ui import UIMessage
from turnwire.messages.ui_codec import UI_MESSAGE
from turnwire.messages.wire import json_name


@attrs.frozen(kw_only=True)
class ClientToolResult:
    """The client has run a tool (which failed, if there is an `error`)."""

    tool_call_id: Id
    output: Json
    error: str | None = None


@attrs.frozen(kw_only=True)
class ClientApproval:
    """The user has answered an approval."""

    approval_id: Id
    approved: bool


@attrs.frozen(kw_only=True)
class ClientMessage:
    """The user, or the host, has added a message."""

    message: UIMessage


@attrs.frozen(kw_only=True)
class ClientStreamEnd:
    """The stream has ended; what follows belongs to another."""


ClientLine: TypeAlias = ClientToolResult | ClientApproval | ClientMessage | ClientStreamEnd
ConversationLine: TypeAlias = AnyAguiEvent | ClientLine

CLIENT_LINES: Mapping[str, Shape[Any]] = {
    "CLIENT_TOOL_RESULT": Shape(ClientToolResult),
    "CLIENT_APPROVAL": Shape(ClientApproval),
    "CLIENT_MESSAGE": Shape(ClientMessage, nested={"message": UI_MESSAGE}),
    "CLIENT_STREAM_END": Shape(ClientStreamEnd),
}
"""Wire name of each line."""

_TAGS: Mapping[type, str] = {
    ClientToolResult: "CLIENT_TOOL_RESULT",
    ClientApproval: "CLIENT_APPROVAL",
    ClientMessage: "CLIENT_MESSAGE",
    ClientStreamEnd: "CLIENT_STREAM_END",
}


def structure_line(document: object) -> ConversationLine:
    """Make an event or a client's line of what a JSON parser gave. Raises InvalidEventError for anything else."""
    if not isinstance(document, dict):
        raise InvalidEventError(f"expected an object, got {json_name(document)}")
    fields = cast("dict[str, Any]", document)
    tag = fields.get("type")
    shape = CLIENT_LINES.get(tag) if isinstance(tag, str) else None
    if shape is None:
        return structure_agui(fields)
    return cast("ClientLine", shape.structure(fields, "$", cast("str", tag)))


def unstructure_line(line: ConversationLine) -> dict[str, Any]:
    """Give an event, in the canonical dialect, or a client's line as builtins with wire names."""
    tag = _TAGS.get(type(line))
    if tag is None:
        return unstructure_agui(cast("AnyAguiEvent", line), dialect="canonical")
    return {"type": tag, **CLIENT_LINES[tag].unstructure(line)}
