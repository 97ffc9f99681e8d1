"""UIMessages, their parts and results ⇄ JSON: strict, and the only room that knows their wire names."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from turnwire.messages.agui_messages_codec import MEDIA_SOURCE
from turnwire.messages.agui_usage import structure_usage, unstructure_usage
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.json_text import MAX_DEPTH, dump_json, parse_json, refuse_nan
from turnwire.messages.shapes import Shape, each, tagged
from turnwire.messages.ui import (
    Approval,
    CalledTool,
    MediaPart,
    Part,
    ProcessorResult,
    SavedConversation,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UIMessage,
)

MAX_SAVED_DEPTH = MAX_DEPTH + 20
"""What a tool said may be as deep as JSON may be here, and stands some levels down in a saved conversation."""

_MEDIA = Shape(MediaPart, names={"kind": "type"}, nested={"source": MEDIA_SOURCE.nested})
PART_TYPES: Mapping[str, Shape[Any]] = {
    "text": Shape(TextPart),
    "thinking": Shape(ThinkingPart),
    "tool-call": Shape(ToolCallPart, nested={"approval": Shape(Approval).nested}),
    "tool-result": Shape(ToolResultPart),
    "image": _MEDIA,
    "audio": _MEDIA,
    "video": _MEDIA,
    "document": _MEDIA,
}
"""Wire name of each part. Written out, so that renaming a class never changes the wire."""

_TAGS: Mapping[type, str] = {
    TextPart: "text",
    ThinkingPart: "thinking",
    ToolCallPart: "tool-call",
    ToolResultPart: "tool-result",
}


def _tag(part: Part) -> str:
    return part.kind if isinstance(part, MediaPart) else _TAGS[type(part)]


_structure_part, _unstructure_part = tagged("type", PART_TYPES, _tag)
_MESSAGE = Shape(UIMessage, nested={"parts": each((_structure_part, _unstructure_part))})
_structure_all, _unstructure_all = each(_MESSAGE.nested)
_SAVED = Shape(SavedConversation, nested={"messages": (_structure_all, _unstructure_all)})
_RESULT = Shape(
    ProcessorResult,
    nested={"tool_calls": each(Shape(CalledTool).nested), "usage": (structure_usage, unstructure_usage)},
)


def encode_ui_message(message: UIMessage) -> bytes:
    """Encode a message as compact JSON. Raises ValueError if a NaN is in it."""
    return _dump(unstructure_ui_message(message))


def decode_ui_message(data: bytes | str) -> UIMessage:
    """Decode a message. Raises InvalidEventError that says where the text is none."""
    return structure_ui_message(_parse(data))


def encode_ui_messages(messages: Iterable[UIMessage]) -> bytes:
    """Encode a whole conversation as a JSON array."""
    return _dump(_unstructure_all(messages))


def decode_ui_messages(data: bytes | str) -> tuple[UIMessage, ...]:
    """Decode a whole conversation. Raises InvalidEventError that says where the text is none."""
    return structure_ui_messages(_parse(data))


def encode_saved(saved: SavedConversation) -> bytes:
    """Encode what is to be kept of a conversation."""
    return _dump(_SAVED.unstructure(saved))


def decode_saved(data: bytes | str) -> SavedConversation:
    """Decode what was kept of a conversation. Raises InvalidEventError that says where the text is none."""
    return _SAVED.structure(_parse(data), "$", None)


def structure_ui_message(document: object, path: str = "$") -> UIMessage:
    """Make a message of what a JSON parser gave."""
    return _MESSAGE.structure(document, path, None)


def unstructure_ui_message(message: UIMessage) -> dict[str, Any]:
    """Give a message as builtins with wire names."""
    return _MESSAGE.unstructure(message)


def structure_ui_messages(document: object, path: str = "$") -> tuple[UIMessage, ...]:
    """Make messages of what a JSON parser gave."""
    return cast("tuple[UIMessage, ...]", _structure_all(document, path, None))


def unstructure_ui_messages(messages: Iterable[UIMessage]) -> list[dict[str, Any]]:
    """Give messages as builtins with wire names."""
    return cast("list[dict[str, Any]]", _unstructure_all(messages))


def unstructure_part(part: Part) -> dict[str, Any]:
    """Give one part as builtins with wire names, `type` first."""
    return cast("dict[str, Any]", _unstructure_part(part))


def unstructure_result(result: ProcessorResult) -> dict[str, Any]:
    """Give a result as builtins: content and finishReason always, the rest when there is something to say."""
    document = _RESULT.unstructure(result)
    for name in ("thinking", "toolCalls"):
        if not document[name]:
            del document[name]
    return {**document, "finishReason": result.finish_reason}


def structure_result(document: object) -> ProcessorResult:
    """Make a result of what a JSON parser gave."""
    return _RESULT.structure(document, "$", None)


def _parse(data: bytes | str) -> object:
    try:
        return cast("object", parse_json(data, max_depth=MAX_SAVED_DEPTH))
    except ValueError as exc:
        raise InvalidEventError(f"not JSON: {exc}") from None


def _dump(document: object) -> bytes:
    refuse_nan(document)
    return dump_json(document)
