"""AG-UI's messages and their content ⇄ JSON: strict, and the only room that knows their wire names."""

from typing import Any, cast

from turnwire.messages.agui.messages import (
    ActivityMessage,
    AguiMessage,
    AguiToolCall,
    AssistantMessage,
    ContentMedia,
    ContentPart,
    ContentText,
    MediaSource,
    ReasoningMessage,
    SpokenMessage,
    ToolMessage,
)
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.json_text import dump_json
from turnwire.messages.shapes import Nested, Shape, each, tagged
from turnwire.messages.wire import json_name

MEDIA_SOURCE = Shape(MediaSource)
_MEDIA = Shape(ContentMedia, names={"kind": "type"}, nested={"source": MEDIA_SOURCE.nested})
_PARTS: dict[str, Shape[Any]] = {
    "text": Shape(ContentText),
    **dict.fromkeys(("image", "audio", "video", "document"), _MEDIA),
}


def _part_tag(part: ContentPart) -> str:
    return "text" if isinstance(part, ContentText) else part.kind


_structure_parts, _unstructure_parts = each(tagged("type", _PARTS, _part_tag))


def _structure_content(value: Any, path: str, event: str | None) -> str | tuple[ContentPart, ...]:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise InvalidEventError(f"expected a string or an array, got {json_name(value)}", path=path, event=event)
    return cast("tuple[ContentPart, ...]", _structure_parts(value, path, event))


def _unstructure_content(content: str | tuple[ContentPart, ...]) -> Any:
    return content if isinstance(content, str) else _unstructure_parts(content)


CONTENT: Nested = (_structure_content, _unstructure_content)


def content_text(content: str | tuple[ContentPart, ...]) -> str:
    """Give what a tool said as text: its texts joined, or JSON when there is more than text."""
    if isinstance(content, str):
        return content
    if all(isinstance(part, ContentText) for part in content):
        return "".join(part.text for part in content if isinstance(part, ContentText))
    return dump_json(_unstructure_parts(content)).decode()


def _structure_call(value: Any, path: str, event: str | None) -> AguiToolCall:
    """Lift name and arguments out of the `function` that they stand in."""
    if not isinstance(value, dict) or not isinstance(value.get("function"), dict):  # pyright: ignore[reportUnknownMemberType]  # JSON
        raise InvalidEventError("expected a call with an object `function`", path=path, event=event)
    fields = cast("dict[str, Any]", value)
    inner = {key: fields["function"].get(key) for key in ("name", "arguments") if key in fields["function"]}
    return _CALL.structure({**inner, **{key: fields[key] for key in fields if key != "function"}}, path, event)


def _unstructure_call(call: AguiToolCall) -> dict[str, Any]:
    fields = _CALL.unstructure(call)
    function = {"name": fields.pop("name"), "arguments": fields.pop("arguments")}
    return {"id": fields.pop("id"), "type": "function", "function": function, **fields}


_CALL = Shape(AguiToolCall)
_SPOKEN = Shape(SpokenMessage, nested={"content": CONTENT})
_MESSAGES: dict[str, Shape[Any]] = {
    "user": _SPOKEN,
    "system": _SPOKEN,
    "developer": _SPOKEN,
    "assistant": Shape(AssistantMessage, nested={"tool_calls": each((_structure_call, _unstructure_call))}),
    "tool": Shape(ToolMessage, nested={"content": CONTENT}),
    "reasoning": Shape(ReasoningMessage),
    "activity": Shape(ActivityMessage),
}
_ROLES = {
    AssistantMessage: "assistant",
    ToolMessage: "tool",
    ReasoningMessage: "reasoning",
    ActivityMessage: "activity",
}


def _role(message: AguiMessage) -> str:
    return message.role if isinstance(message, SpokenMessage) else _ROLES[type(message)]


AGUI_MESSAGE: Nested = tagged("role", _MESSAGES, _role)
