"""Reading the deltas of chat chunks: text, thinking and call fragments, under all the names that hosts give them."""

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from turnwire.messages.json_shapes import (
    JsonObject,
    index_at,
    is_object,
    list_at,
    object_at,
    objects_at,
    text_at,
)
from turnwire.messages.json_text import dump_json

Fragment: TypeAlias = tuple[Literal["message", "reasoning", "unknown"], str]
CallKey: TypeAlias = tuple[Literal["index", "id", "position"], int | str]


def content_fragments(delta: JsonObject) -> Iterator[Fragment]:
    """Give the pieces of `content`: one if it is text, several if it is a list of text and thinking parts."""
    content = delta.get("content")
    if isinstance(content, str):
        yield "message", content
    for part in list_at(delta, "content"):
        if isinstance(part, str):
            yield "message", part
        elif is_object(part) and text_at(part, "type") in ("text", "output_text"):
            yield "message", text_at(part, "text")
        elif is_object(part) and text_at(part, "type") in ("thinking", "reasoning"):
            yield "reasoning", _thinking_text(part)
        else:
            yield "unknown", ""


def reasoning_text(delta: JsonObject) -> str:
    """Give the reasoning of a delta, from the first of three fields that has any: some hosts send two copies."""
    text = text_at(delta, "reasoning_content") or text_at(delta, "reasoning")
    if text or not delta.get("reasoning_details"):
        return text
    details = objects_at(delta, "reasoning_details")
    return "".join(text_at(detail, "text") or text_at(detail, "summary") for detail in details)


def call_key(call: JsonObject, position: int) -> CallKey:
    """Tell which call a fragment belongs to: by index, else by id, else by its position in the list."""
    index = index_at(call, "index")
    if index is not None:
        return "index", index
    own_id = text_at(call, "id")
    return ("id", own_id) if own_id else ("position", position)


def argument_text(function: JsonObject) -> str:
    """Give the piece of arguments in a fragment; a host that sends an object has sent all of them."""
    given = function.get("arguments")
    return given if isinstance(given, str) else dump_json(given).decode() if is_object(given) else ""


def replayable_details(details: list[Any]) -> list[Any]:
    """Give the reasoning details if they hold anything that must be sent back unread: a signature, sealed text."""
    sealed = any(is_object(detail) and (detail.get("signature") or detail.get("data")) for detail in details)
    return details if sealed else []


def legacy_call(delta: JsonObject) -> JsonObject | None:
    """Give the old `function_call` field as a fragment of a tool call: the first and only one."""
    function = object_at(delta, "function_call")
    return {"index": 0, "function": function} if function else None


def _thinking_text(part: JsonObject) -> str:
    whole = text_at(part, "thinking") or text_at(part, "text")
    return whole or "".join(text_at(inner, "text") for inner in objects_at(part, "thinking"))
