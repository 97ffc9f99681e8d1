"""Reading a stored request: it is somebody's data, so what does not fit is an error that says where."""

from collections.abc import Iterator
from typing import Any

import attrs
from msgspec import UNSET, UnsetType

from turnwire.messages.errors import UnreadableRequestError
from turnwire.messages.json_shapes import JsonObject, is_list, is_object
from turnwire.messages.json_text import parse_json, parse_json_or_text
from turnwire.messages.model_messages.answers import is_stand_in, name_calls
from turnwire.messages.model_messages.model import ModelMessage, ModelPart
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ProviderData, ToolCallPart, ToolResultPart
from turnwire.messages.wire import json_name

_CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")


def objects_in(value: object, path: str) -> Iterator[tuple[str, JsonObject]]:
    """Give the objects of an array with their paths, without marks that a cache was to be set there.

    Such a mark is for one request. A provider takes only a few, and refuses a history that has kept them all.
    """
    if not is_list(value):
        raise UnreadableRequestError(f"expected an array, got {json_name(value)}", path=path)
    for number, entry in enumerate(value):
        where = f"{path}[{number}]"
        if not is_object(entry):
            raise UnreadableRequestError(f"expected an object, got {json_name(entry)}", path=where)
        yield where, {key: inner for key, inner in entry.items() if key not in _CACHE_MARKS}


def text_in(source: JsonObject, key: str, path: str) -> str:
    """Give a text that must be there."""
    value = source.get(key)
    if not isinstance(value, str):
        raise UnreadableRequestError(f"expected a string, got {json_name(value)}", path=f"{path}.{key}")
    return value


def id_in(source: JsonObject, key: str, path: str) -> str:
    """Give an id that must be there."""
    value = text_in(source, key, path)
    if not value:
        raise UnreadableRequestError("expected an id, got an empty string", path=f"{path}.{key}")
    return value


def read_call(call_id: str, name: str, arguments: str, data: ProviderData | None) -> ToolCallPart:
    """Make a call of what a request says of it: its arguments are whole, and not yet answered."""
    return ToolCallPart(
        id=call_id,
        name=name,
        arguments=arguments,
        state="input-complete",
        input=_parsed(arguments),
        provider_data=data,
    )


def sealed(data_format: str, before: list[Any], **native: Json) -> dict[str, Any] | None:
    """Give provider data as an adapter would have kept it, taking what waited for the next part; None if empty."""
    carried = {"before": list(before)} if before else {}
    before.clear()
    return {"format": data_format, **carried, **native} if carried or native else None


def settle_results(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Tell the calls what came of them, as a conversation would have; stand-ins for results are none."""
    names = name_calls(messages)
    placed = {
        (place, number): part for place, message in enumerate(messages) for number, part in enumerate(message.parts)
    }
    results = {
        names.get(where, part.tool_call_id): part
        for where, part in placed.items()
        if isinstance(part, ToolResultPart) and not is_stand_in(part.content)
    }
    settled: list[list[ModelPart]] = [[] for _ in messages]
    for where, part in placed.items():
        if isinstance(part, ToolCallPart):
            settled[where[0]].append(_settled(part, results.get(names.get(where, part.id))))
        elif not isinstance(part, ToolResultPart) or not is_stand_in(part.content):
            settled[where[0]].append(part)
    told = (ModelMessage(role=was.role, parts=tuple(parts)) for was, parts in zip(messages, settled, strict=True))
    return [message for message in told if message.parts or message.role != "tool"]


def _settled(call: ToolCallPart, result: ToolResultPart | None) -> ToolCallPart:
    if result is None:
        return call
    return attrs.evolve(call, state=result.state, output=parse_json_or_text(result.content))


def _parsed(text: str) -> Json | UnsetType:
    try:
        return parse_json(text)
    except ValueError:
        return UNSET
