"""UIMessages, their parts and results ⇄ JSON: strict, and the only room that knows their wire names."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from turnwire.messages.agui.messages_codec import MEDIA_SOURCE
from turnwire.messages.agui.usage import structure_usage, unstructure_usage
from turnwire.messages.json_text import MAX_DEPTH
from turnwire.messages.shapes import Nested, Shape, each, tagged
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
from turnwire.messages.wire import dump_document, parse_document

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


_MESSAGE = Shape(UIMessage, nested={"parts": each(tagged("type", PART_TYPES, _tag))})
UI_MESSAGE: Nested = _MESSAGE.nested
"""For codecs of what holds messages."""
_structure_all, _unstructure_all = each(UI_MESSAGE)
_SAVED = Shape(SavedConversation, nested={"messages": (_structure_all, _unstructure_all)})
_RESULT = Shape(
    ProcessorResult,
    nested={"tool_calls": each(Shape(CalledTool).nested), "usage": (structure_usage, unstructure_usage)},
)


def encode_ui_message(message: UIMessage) -> bytes:
    """Encode a message as compact JSON. Raises ValueError if a NaN is in it."""
    return dump_document(unstructure_ui_message(message))


def decode_ui_message(data: bytes | str) -> UIMessage:
    """Decode a message. Raises InvalidEventError that says where the text is none."""
    return structure_ui_message(_parse(data))


def encode_ui_messages(messages: Iterable[UIMessage]) -> bytes:
    """Encode a whole conversation as a JSON array."""
    return dump_document(_unstructure_all(messages))


def decode_ui_messages(data: bytes | str) -> tuple[UIMessage, ...]:
    """Decode a whole conversation. Raises InvalidEventError that says where the text is none."""
    return structure_ui_messages(_parse(data))


def encode_saved(saved: SavedConversation) -> bytes:
    """Encode what is to be kept of a conversation."""
    return dump_document(_SAVED.unstructure(saved))


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


def unstructure_result(result: ProcessorResult) -> dict[str, Any]:
    """Give a result as builtins: content and finishReason always, the rest when there is something to say."""
    document = _RESULT.unstructure(result)
    for name in ("thinking", "toolCalls"):
        if not document[name]:
            del document[name]
    return {**document, "finishReason": result.finish_reason}


def _parse(data: bytes | str) -> object:
    return parse_document(data, max_depth=MAX_SAVED_DEPTH)
