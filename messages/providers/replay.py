"""The way back: finished items of a response, as the next request of a tool loop must have them (C16).

Each function takes final items in the order of the stream (`items_to_replay` finds them in the events) and gives
what belongs into the request's `input` or `messages`. Signatures, sealed thinking and encrypted reasoning come back
byte for byte, in front of the item they came in front of: providers refuse a conversation in which they do not.

Only what was recorded in the same format is opened; an item of another provider goes back as plain text.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDone,
    Json,
    StreamEvent,
)
from turnwire.messages.json_shapes import NOTHING, JsonObject, is_object, list_at, object_at, text_at
from turnwire.messages.json_text import parse_json
from turnwire.messages.providers.endings import STARTED_OVER

__all__ = ["anthropic_messages", "chat_messages", "items_to_replay", "responses_input"]


def items_to_replay(events: Iterable[StreamEvent]) -> list[FinalItem]:
    """Give the finished items of a run, in order. Failed and cancelled ones are not said again.

    Nor are those that an abandoned attempt had finished: what they hold is sealed for a message that never was.
    """
    items: list[FinalItem] = []
    for event in events:
        match event.payload:
            case ItemDone(final_item=final):
                items.append(final)
            case ItemCancelled(reason=reason) if reason == STARTED_OVER:
                while items and not _is_from_our_side(items[-1]):
                    items.pop()
            case _:
                pass
    return items


def anthropic_messages(items: Iterable[FinalItem]) -> list[dict[str, Any]]:
    """Give the items as messages of the Messages API; neighbours of one role share a message."""
    messages: list[dict[str, Any]] = []
    for item in items:
        role, blocks = _anthropic_blocks(item, data_of(item.provider_data, "anthropic-messages"))
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def responses_input(items: Iterable[FinalItem]) -> list[dict[str, Any]]:
    """Give the items as input items of the Responses API."""
    entries = [
        entry for item in items for entry in _response_items(item, data_of(item.provider_data, "openai-responses"))
    ]
    return match_outputs(entries)


def match_outputs(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the outputs of custom tools their own type: each kind of call takes its own kind of answer."""
    custom = {entry.get("call_id") for entry in entries if entry.get("type") == "custom_tool_call"}
    return [
        {**entry, "type": "custom_tool_call_output"}
        if entry.get("type") == "function_call_output" and entry.get("call_id") in custom
        else entry
        for entry in entries
    ]


def chat_messages(items: Iterable[FinalItem]) -> list[dict[str, Any]]:
    """Give the items as messages of Chat Completions; text and calls of one response share a message."""
    messages: list[dict[str, Any]] = []
    for item in items:
        data = data_of(item.provider_data, "openai-chat")
        match item:
            case FinalFunctionCallOutput(origin=origin) if origin != "provider":
                content = data.get("content", item.output)
                messages.append({"role": "tool", "tool_call_id": item.call_id, "content": content})
            case FinalMessage(origin="user" | "system" as role):
                messages.append({"role": role, "content": item.content})
            case FinalMessage():
                _add_text(_assistant(messages, data), data.get("content_part", item.content))
            case FinalReasoning():
                if data:
                    _assistant(messages, data)
            case FinalFunctionCall(origin=origin) if origin != "provider":
                message = _assistant(messages, data)
                message.setdefault("tool_calls", []).append(data.get("call") or _chat_call(item, data))
            case _:
                pass
    for message in messages:
        if message["role"] == "assistant" and "tool_calls" not in message:
            message.setdefault("content", "")  # sealed reasoning and nothing else; content is demanded
    return messages


def data_of(data: Json, data_format: str) -> JsonObject:
    """Give provider data if this format has sealed it; another provider's is not ours to open."""
    return data if is_object(data) and data.get("format") == data_format else NOTHING


def _is_from_our_side(item: FinalItem) -> bool:
    match item:
        case FinalMessage(origin=origin):
            return origin != "agent"
        case FinalFunctionCallOutput(origin=origin):
            return origin != "provider"
        case _:
            return False


# Anthropic


def _anthropic_blocks(item: FinalItem, data: JsonObject) -> tuple[str, list[Any]]:
    before = list_at(data, "before")
    native = [dict(object_at(data, "block"))] if "block" in data else []
    match item:
        case FinalMessage(origin="user"):
            return "user", [{"type": "text", "text": item.content}]
        case FinalMessage(origin="agent"):
            return "assistant", [*before, *_text_blocks(item, list_at(data, "parts"))]
        case FinalReasoning():
            return "assistant", [*before, *native]  # without its signature a thought cannot be sent back at all
        case FinalFunctionCall(origin="provider") | FinalFunctionCallOutput(origin="provider"):
            return "assistant", [*before, *native]
        case FinalFunctionCall():
            call = {"type": "tool_use", "id": item.call_id, "name": item.name, "input": _input_of(item)}
            return "assistant", [*before, {**call, **object_at(data, "block")}]
        case FinalFunctionCallOutput():
            failed = {"is_error": True} if item.success is False else {}
            result = {"type": "tool_result", "tool_use_id": item.call_id, "content": item.output, **failed}
            return "user", [{**result, **object_at(data, "block")}]
        case _:
            return "assistant", []


def _text_blocks(item: FinalMessage, parts: list[Any]) -> Iterator[dict[str, Any]]:
    """Give a message's text cut into the blocks it came in, if there were citations to keep apart."""
    notes, start, note = item.annotations or [], 0, 0
    for length, cited in parts:
        citations = {"citations": notes[note : note + cited]} if cited else {}
        if length:  # the API takes no empty text
            yield {"type": "text", "text": item.content[start : start + length], **citations}
        start, note = start + length, note + cited
    if start < len(item.content):
        yield {"type": "text", "text": item.content[start:]}


def _input_of(item: FinalFunctionCall) -> Mapping[str, Any]:
    try:
        given = parse_json(item.arguments or "{}")
    except ValueError:
        return {}
    return given if is_object(given) else {}


# OpenAI Responses


def _response_items(item: FinalItem, data: JsonObject) -> list[dict[str, Any]]:
    before, native = list_at(data, "before"), object_at(data, "item")
    match item:
        case FinalMessage(origin="agent") if "id" in native:
            content = [{"type": "output_text", "text": item.content, "annotations": item.annotations or []}]
            message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
            return [*before, {**message, **native}]
        case FinalMessage(origin="agent"):  # of another provider: its annotations would not be understood
            return [*before, {"type": "message", "role": "assistant", "content": item.content, **native}]
        case FinalMessage():
            return [{"type": "message", "role": item.origin, "content": item.content}]
        case FinalReasoning():
            return [*before, dict(native)] if native else [*before]
        case FinalFunctionCall(origin="provider") | FinalFunctionCallOutput(origin="provider"):
            return [*before]
        case FinalFunctionCall() if text_at(native, "type") == "custom_tool_call":
            text = text_at(_input_of(item), "input")
            return [*before, {"call_id": item.call_id, "name": item.name, "input": text, **native}]
        case FinalFunctionCall():
            arguments = item.arguments or "{}"
            call = {"type": "function_call", "call_id": item.call_id, "name": item.name, "arguments": arguments}
            return [*before, {**call, **native}]
        case FinalFunctionCallOutput():
            result = {"type": "function_call_output", "call_id": item.call_id, "output": item.output}
            return [{**result, **native}]
        case _:
            return []


# Chat


def _assistant(messages: list[dict[str, Any]], data: JsonObject) -> dict[str, Any]:
    """Give the assistant's message that is being put together, with the sealed reasoning of one more item."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant"})
    message = messages[-1]
    details = [entry for block in list_at(data, "before") for entry in list_at(block, "reasoning_details")]
    details += list_at(data, "reasoning_details")
    if details:
        message.setdefault("reasoning_details", []).extend(details)
    return message


def _chat_call(item: FinalFunctionCall, data: JsonObject) -> dict[str, Any]:
    extra = {"extra_content": data["extra_content"]} if "extra_content" in data else {}
    function = {"name": item.name, "arguments": item.arguments or "{}"}
    return {"id": item.call_id, "type": "function", "function": function, **extra}


def _add_text(message: dict[str, Any], text: Json) -> None:
    """Add a text to an assistant's message: one is a plain string, several are a list, and stay apart."""
    if "content" not in message and isinstance(text, str):
        message["content"] = text
        return
    parts = list_at(message, "content")
    if isinstance(message.get("content"), str):
        parts = [{"type": "text", "text": message["content"]}]
    message["content"] = [*parts, {"type": "text", "text": text} if isinstance(text, str) else text]
