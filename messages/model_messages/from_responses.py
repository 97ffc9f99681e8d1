"""A stored request of the OpenAI Responses API → model messages. What only its API reads is kept for it, unread."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import UnreadableRequestError
from turnwire.messages.json_shapes import JsonObject, is_list, is_object, objects_at, text_at
from turnwire.messages.model_messages.items import item_of
from turnwire.messages.model_messages.media import source_of_url
from turnwire.messages.model_messages.model import ModelMessage, ModelPart, ModelRole, Thought
from turnwire.messages.model_messages.reading import id_in, objects_in, read_call, sealed, settle_results, text_in
from turnwire.messages.model_messages.spoken import keep_native
from turnwire.messages.model_messages.to_responses import FORMAT, PROVIDER, media_content
from turnwire.messages.providers.replay import responses_input
from turnwire.messages.providers.responses_items import (
    kind_of,
    native_part,
    payload_annotations,
    payload_text,
    wrap_custom_input,
)
from turnwire.messages.ui import MediaPart, TextPart, ToolCallPart, ToolResultPart

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OUTPUT_FRAME = frozenset({"type", "call_id", "output"})


def read_responses_request(request: JsonObject) -> list[ModelMessage]:
    """Read `input`. Raises UnreadableRequestError that says where it is not what it should be."""
    given = request.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    told: list[ModelMessage] = []
    for side, run in groupby(objects_in(given, "$.input"), _side_of):
        if side == "assistant":
            told.append(ModelMessage(role="assistant", parts=tuple(_assistant_parts(run))))
        elif side == "tool":
            told.append(ModelMessage(role="tool", parts=tuple(_result(entry, path) for path, entry in run)))
        else:
            told += [_spoken(side, entry, path) for path, entry in run]
    return settle_results(told)


def _side_of(placed: tuple[str, JsonObject]) -> ModelRole:
    """Tell who says an item. All that is neither a message nor an answer comes from the model."""
    path, entry = placed
    kind = entry.get("type", "message")
    if kind in _OUTPUTS:
        return "tool"
    if kind != "message":
        return "assistant"
    role = text_in(entry, "role", path)
    match role:
        case "user" | "assistant" | "system" | "developer":
            return role
        case _:
            problem = f"expected user, assistant, system or developer, got {role!r}"
            raise UnreadableRequestError(problem, path=f"{path}.role")


# What the user sent


def _spoken(role: ModelRole, entry: JsonObject, path: str) -> ModelMessage:
    content, where = entry.get("content"), f"{path}.content"
    given = objects_in([{"type": "input_text", "text": content}] if isinstance(content, str) else content, where)
    return ModelMessage(role=role, parts=tuple(_user_part(part, at) for at, part in given))


def _user_part(given: JsonObject, path: str) -> TextPart | MediaPart:
    part: TextPart | MediaPart
    if given.get("type") in ("input_text", "text"):
        part = TextPart(content=text_in(given, "text", path))
    else:
        part = _medium(given) or TextPart(content="")
    return keep_native(part, dict(given), FORMAT, "input_text", media_content)


def _medium(given: JsonObject) -> MediaPart | None:
    kind = text_at(given, "type")
    if kind not in ("input_image", "input_file"):
        return None
    stored, url = text_at(given, "file_id"), text_at(given, "image_url") or text_at(given, "file_data")
    detail, name = text_at(given, "detail"), text_at(given, "filename")
    if stored:
        source = MediaSource(type="file", value=stored, provider=PROVIDER)
    elif url:
        source = source_of_url(url)
    else:
        source = MediaSource(type="url", value=text_at(given, "file_url"))
    if kind == "input_image":
        noted = {"detail": detail} if detail not in ("", "auto") else None
        return MediaPart(kind="image", source=source, metadata=noted)
    return MediaPart(kind="document", source=source, metadata={"filename": name} if name else None)


def _result(entry: JsonObject, path: str) -> ToolResultPart:
    output = entry.get("output")
    native = {key: value for key, value in entry.items() if key not in _OUTPUT_FRAME and value is not None}
    if is_list(output):
        native["output"] = output
        output = "".join(text_at(part, "text") for part in objects_at(entry, "output"))
    elif not isinstance(output, str):
        raise UnreadableRequestError("expected a string or an array", path=f"{path}.output")
    return ToolResultPart(
        tool_call_id=id_in(entry, "call_id", path),
        content=output,
        state="complete",
        provider_data={"format": FORMAT, "item": native} if native else None,
    )


# What the assistant said


def _assistant_parts(run: Iterator[tuple[str, JsonObject]]) -> Iterator[ModelPart]:
    before: list[Any] = []
    for path, entry in run:
        kind = kind_of({"type": "message", **entry})
        text = payload_text(kind, entry)
        if kind == "message":
            yield _text(entry, path, before)
        elif kind in ("call", "custom_call"):
            yield _call(entry, path, before)
        elif kind == "reasoning" and text:
            yield Thought(content=text, provider_data=sealed(FORMAT, before, item=dict(entry)))
        else:
            before.append(dict(entry))
    if before:
        yield Thought(content="", provider_data=sealed(FORMAT, before))


def _text(entry: JsonObject, path: str, before: list[Any]) -> TextPart:
    content = entry.get("content")
    text = content if isinstance(content, str) else payload_text("message", entry)
    if text is None:
        raise UnreadableRequestError("expected a text", path=f"{path}.content")
    native = native_part("message", entry)
    notes = payload_annotations(entry)
    plain = TextPart(content=text, provider_data={"format": FORMAT, **native, "annotations": notes})
    if not _comes_back(plain, entry):
        native = {"item": dict(entry)}
    noted = {"annotations": notes} if notes else {}
    return TextPart(content=text, provider_data=sealed(FORMAT, before, **native, **noted))


def _call(entry: JsonObject, path: str, before: list[Any]) -> ToolCallPart:
    call_id, name = id_in(entry, "call_id", path), text_in(entry, "name", path)
    custom = entry.get("type") == "custom_tool_call"
    arguments = wrap_custom_input(text_in(entry, "input", path)) if custom else text_in(entry, "arguments", path)
    native = native_part("custom_call" if custom else "call", entry)
    plain = read_call(call_id, name, arguments, {"format": FORMAT, **native})
    if not _comes_back(plain, entry):
        native = {"item": dict(entry)}
    return read_call(call_id, name, arguments, sealed(FORMAT, before, **native))


def _comes_back(part: ModelPart, entry: JsonObject) -> bool:
    """Tell whether a part, as it is, would be written as the item it was read from."""
    item = item_of(part)
    return item is not None and is_object(entry) and responses_input([item]) == [{"type": "message", **entry}]
