"""A stored request of OpenAI Chat Completions → model messages. What only its host reads is kept for it, unread."""

from collections.abc import Iterator
from typing import Any

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import UnreadableRequestError
from turnwire.messages.json_shapes import JsonObject, list_at, object_at, text_at
from turnwire.messages.model_messages.media import source_of_url
from turnwire.messages.model_messages.model import ModelMessage, ModelPart, Thought
from turnwire.messages.model_messages.reading import id_in, objects_in, read_call, sealed, settle_results, text_in
from turnwire.messages.model_messages.spoken import keep_native
from turnwire.messages.model_messages.to_chat import FORMAT, PROVIDER, SOUNDS, media_part
from turnwire.messages.providers.chat_deltas import argument_text, reasoning_text
from turnwire.messages.providers.responses_items import wrap_custom_input
from turnwire.messages.ui import MediaPart, TextPart, ToolCallPart, ToolResultPart

_MIME_TYPES = {name: mime for mime, name in reversed(SOUNDS.items())}


def read_chat_request(request: JsonObject) -> list[ModelMessage]:
    """Read `messages`. Raises UnreadableRequestError that says where they are not what they should be."""
    return settle_results([_read(message, path) for path, message in objects_in(request.get("messages"), "$.messages")])


def _read(message: JsonObject, path: str) -> ModelMessage:
    role = text_in(message, "role", path)
    match role:
        case "system" | "developer" | "user":
            parts = (_user_part(part, where) for where, part in _content(message, path))
            return ModelMessage(role=role, parts=tuple(parts))
        case "assistant":
            return ModelMessage(role="assistant", parts=tuple(_assistant_parts(message, path)))
        case "tool":
            return ModelMessage(role="tool", parts=(_result(message, path),))
        case _:  # also the old `function`, whose calls have no ids that an answer could name
            problem = f"expected system, developer, user, assistant or tool, got {role!r}"
            raise UnreadableRequestError(problem, path=f"{path}.role")


def _content(message: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    content, where = message.get("content"), f"{path}.content"
    if isinstance(content, str):
        yield where, {"type": "text", "text": content}
    elif content is not None:
        yield from objects_in(content, where)


# What the user sent


def _user_part(given: JsonObject, path: str) -> TextPart | MediaPart:
    part: TextPart | MediaPart
    if given.get("type") == "text":
        part = TextPart(content=text_in(given, "text", path))
    else:
        part = _medium(given) or TextPart(content="")
    return keep_native(part, dict(given), FORMAT, "text", media_part)


def _medium(given: JsonObject) -> MediaPart | None:
    image, sound, file = (object_at(given, key) for key in ("image_url", "input_audio", "file"))
    if image:
        detail = text_at(image, "detail")
        source = source_of_url(text_at(image, "url"))
        return MediaPart(kind="image", source=source, metadata={"detail": detail} if detail else None)
    if sound:
        mime = _MIME_TYPES.get(text_at(sound, "format"))
        return MediaPart(kind="audio", source=MediaSource(type="data", value=text_at(sound, "data"), mime_type=mime))
    if text_at(file, "file_id"):
        stored = MediaSource(type="file", value=text_at(file, "file_id"), provider=PROVIDER)
        return MediaPart(kind="document", source=stored)
    if text_at(file, "file_data"):
        name = text_at(file, "filename")
        source = source_of_url(text_at(file, "file_data"))
        return MediaPart(kind="document", source=source, metadata={"filename": name} if name else None)
    return None


def _result(message: JsonObject, path: str) -> ToolResultPart:
    given = list_at(message, "content")
    return ToolResultPart(
        tool_call_id=id_in(message, "tool_call_id", path),
        content="".join(text_at(part, "text") for _, part in _content(message, path)),
        state="complete",
        provider_data={"format": FORMAT, "content": given} if given else None,
    )


# What the assistant said


def _assistant_parts(message: JsonObject, path: str) -> Iterator[ModelPart]:
    before: list[Any] = []
    details, thought = list_at(message, "reasoning_details"), reasoning_text(message)
    if thought:
        native = {"reasoning_details": details} if details else {}
        yield Thought(content=thought, provider_data=sealed(FORMAT, before, **native))
    elif details:
        before.append({"reasoning_details": details})
    for where, part in _content(message, path):
        yield from _text(part, where, before)
    if text_at(message, "refusal"):
        yield from _text({"type": "refusal", "refusal": message["refusal"]}, path, before)
    if message.get("function_call") is not None:
        raise UnreadableRequestError("expected tool_calls", path=f"{path}.function_call")
    for where, call in objects_in(message.get("tool_calls") or [], f"{path}.tool_calls"):
        yield _call(call, where, before)
    if before:
        yield Thought(content="", provider_data=sealed(FORMAT, before))


def _text(part: JsonObject, path: str, before: list[Any]) -> Iterator[TextPart]:
    if part.get("type") == "refusal":
        text = text_in(part, "refusal", path)
        yield TextPart(content=text, provider_data=sealed(FORMAT, before, content_part=dict(part)))
    elif text := text_in(part, "text", path):
        yield TextPart(content=text, provider_data=sealed(FORMAT, before))


def _call(call: JsonObject, path: str, before: list[Any]) -> ToolCallPart:
    call_id, custom = id_in(call, "id", path), object_at(call, "custom")
    if custom:
        data = sealed(FORMAT, before, call=dict(call))
        arguments = wrap_custom_input(text_in(custom, "input", f"{path}.custom"))
        return read_call(call_id, text_in(custom, "name", f"{path}.custom"), arguments, data)
    function = object_at(call, "function")
    extra = {"extra_content": call["extra_content"]} if call.get("extra_content") else {}
    name = text_in(function, "name", f"{path}.function")
    return read_call(call_id, name, argument_text(function), sealed(FORMAT, before, **extra))
