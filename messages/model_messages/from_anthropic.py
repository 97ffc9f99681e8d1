"""A stored request of the Anthropic Messages API → model messages. What only its API reads is kept for it, unread."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import UnreadableRequestError
from turnwire.messages.json_shapes import JsonObject, is_list, list_at, object_at, objects_at, text_at
from turnwire.messages.json_text import dump_json
from turnwire.messages.model_messages.media import encoded_text
from turnwire.messages.model_messages.model import ModelMessage, ModelPart, Thought
from turnwire.messages.model_messages.reading import id_in, objects_in, read_call, sealed, settle_results, text_in
from turnwire.messages.model_messages.spoken import keep_native
from turnwire.messages.model_messages.to_anthropic import FORMAT, PROVIDER, media_block
from turnwire.messages.providers.anthropic_blocks import call_extra, kind_of
from turnwire.messages.ui import MediaPart, TextPart, ToolResultPart

_RESULT_FRAME = frozenset({"type", "tool_use_id", "is_error"})


def read_anthropic_request(request: JsonObject) -> list[ModelMessage]:
    """Read `system` and `messages`. Raises UnreadableRequestError that says where they are not what they should be."""
    told: list[ModelMessage] = []
    if request.get("system"):
        parts = tuple(_user_part(block, path) for path, block in _blocks(request["system"], "$.system"))
        told.append(ModelMessage(role="system", parts=parts))
    for path, message in objects_in(request.get("messages"), "$.messages"):
        told += _read(message, path)
    return settle_results(told)


def _read(message: JsonObject, path: str) -> Iterator[ModelMessage]:
    role = text_in(message, "role", path)
    blocks = list(_blocks(message.get("content"), f"{path}.content"))
    match role:
        case "assistant":
            yield ModelMessage(role="assistant", parts=tuple(_assistant_parts(blocks)))
        case "system":
            yield ModelMessage(role="system", parts=tuple(_user_part(block, where) for where, block in blocks))
        case "user":
            for answers, run in groupby(blocks, lambda each: each[1].get("type") == "tool_result"):
                read = _result if answers else _user_part
                yield ModelMessage(
                    role="tool" if answers else "user", parts=tuple(read(block, where) for where, block in run)
                )
        case _:
            raise UnreadableRequestError(f"expected user, assistant or system, got {role!r}", path=f"{path}.role")


def _blocks(content: object, path: str) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(content, str):
        yield path, {"type": "text", "text": content}
    else:
        yield from objects_in(content, path)


# What the user sent


def _user_part(block: JsonObject, path: str) -> TextPart | MediaPart:
    part: TextPart | MediaPart
    match block.get("type"):
        case "text":
            part = TextPart(content=text_in(block, "text", path))
        case "image" | "document" as kind if (source := _source(object_at(block, "source"))) is not None:
            title = text_at(block, "title")
            part = MediaPart(kind=kind, source=source, metadata={"filename": title} if title else None)
        case _:
            part = TextPart(content="")
    return keep_native(part, dict(block), FORMAT, "text", media_block)


def _source(source: JsonObject) -> MediaSource | None:
    mime = text_at(source, "media_type") or None
    match source.get("type"):
        case "base64":
            return MediaSource(type="data", value=text_at(source, "data"), mime_type=mime)
        case "text":
            return MediaSource(type="data", value=encoded_text(text_at(source, "data")), mime_type=mime)
        case "url":
            return MediaSource(type="url", value=text_at(source, "url"))
        case "file":
            return MediaSource(type="file", value=text_at(source, "file_id"), provider=PROVIDER)
        case _:
            return None


def _result(block: JsonObject, path: str) -> ToolResultPart:
    content = block.get("content", "")
    extra = {key: value for key, value in block.items() if key not in _RESULT_FRAME and key != "content"}
    if is_list(content):
        extra["content"] = content
        content = "".join(text_at(inner, "text") for inner in objects_at(block, "content"))
    elif not isinstance(content, str):
        raise UnreadableRequestError("expected a string or an array", path=f"{path}.content")
    return ToolResultPart(
        tool_call_id=id_in(block, "tool_use_id", path),
        content=content,
        state="error" if block.get("is_error") is True else "complete",
        provider_data={"format": FORMAT, "block": extra} if extra else None,
    )


# What the assistant said


def _assistant_parts(blocks: list[tuple[str, JsonObject]]) -> Iterator[ModelPart]:
    before: list[Any] = []
    for kind, run in groupby(blocks, lambda each: kind_of(each[1])):
        if kind == "text":
            yield from _texts([(path, block) for path, block in run], before)
            continue
        for path, block in run:
            if kind == "thinking" and text_at(block, "thinking"):
                yield Thought(
                    content=text_at(block, "thinking"), provider_data=sealed(FORMAT, before, block=dict(block))
                )
            elif kind == "call":
                extra = call_extra(block)
                data = sealed(FORMAT, before, **({"block": extra} if extra else {}))
                arguments = dump_json(block.get("input", {})).decode()
                yield read_call(id_in(block, "id", path), text_in(block, "name", path), arguments, data)
            else:
                before.append(dict(block))
    if before:  # nothing comes behind that could carry it
        yield Thought(content="", provider_data=sealed(FORMAT, before))


def _texts(run: list[tuple[str, JsonObject]], before: list[Any]) -> Iterator[TextPart]:
    """Read blocks of text in a row. If there are citations they are one text, which was cut to hold them apart."""
    texts = [text_in(block, "text", path) for path, block in run]
    citations = [list_at(block, "citations") for _, block in run]
    if not any(citations):
        for text in filter(None, texts):
            yield TextPart(content=text, provider_data=sealed(FORMAT, before))
        return
    parts = [[len(text), len(cited)] for text, cited in zip(texts, citations, strict=True)]
    notes = [note for cited in citations for note in cited]
    yield TextPart(content="".join(texts), provider_data=sealed(FORMAT, before, parts=parts, annotations=notes))
