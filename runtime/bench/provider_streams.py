"""Made-up provider streams of any length, shaped like the real ones: long text, or one call with long arguments."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from turnwire.messages.json_text import dump_json

Content: TypeAlias = Literal["text", "tool_arguments"]
Event: TypeAlias = dict[str, Any]

_WORDS = ("the ", "quick ", "brown ", "fox ", "jumps ", "over ", "a ", "lazy ", "dog. ")


def make_stream(provider: str, content: Content, deltas: int) -> list[Event]:
    """Make the events of one response with so many deltas."""
    return list(_MAKERS[provider](content, _pieces(content, deltas)))


def _pieces(content: Content, deltas: int) -> list[str]:
    words = [_WORDS[number % len(_WORDS)] for number in range(deltas)]
    if content == "tool_arguments":
        words[0], words[-1] = '{"text": "', '"}'
    return words


def _anthropic(content: Content, pieces: list[str]) -> Iterator[Event]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    frame = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**frame, "stop_sequence": None, "usage": usage}}
    block = {"type": "text", "text": ""} if content == "text" else {**_ANTHROPIC_CALL}
    kind, key = ("text_delta", "text") if content == "text" else ("input_json_delta", "partial_json")
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: piece}}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if content == "text" else "tool_use"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": len(pieces)}}
    yield {"type": "message_stop"}


_ANTHROPIC_CALL = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}


def _chat(content: Content, pieces: list[str]) -> Iterator[Event]:
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: Event, finish: str | None = None) -> Event:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    if content == "text":
        yield chunk({"role": "assistant", "content": ""})
        yield from (chunk({"content": piece}) for piece in pieces)
        yield chunk({}, "stop")
    else:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
        yield chunk({"role": "assistant", "content": None, "tool_calls": [call]})
        for piece in pieces:
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls")
    usage = {"prompt_tokens": 10, "completion_tokens": len(pieces), "total_tokens": 10 + len(pieces)}
    yield {**frame, "choices": [], "usage": usage}


def _responses(content: Content, pieces: list[str]) -> Iterator[Event]:
    whole = "".join(pieces)
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "status": "in_progress",
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": None}  # fmt: skip
    steps = _message_steps(whole) if content == "text" else _call_steps(whole)
    events = [{"type": "response.created", "response": response}, *steps[0]]
    events += [{"type": steps[1], "item_id": "i_1", "output_index": 0, "content_index": 0, "delta": piece, "logprobs": []}
               for piece in pieces]  # fmt: skip
    usage = {"input_tokens": 10, "output_tokens": len(pieces), "total_tokens": 10 + len(pieces),
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    done = {**response, "status": "completed", "output": [steps[2][-1]["item"]], "usage": usage}
    events += [*steps[2], {"type": "response.completed", "response": done}]
    yield from ({**event, "sequence_number": number} for number, event in enumerate(events))


def _message_steps(whole: str) -> tuple[list[Event], str, list[Event]]:
    item = {"id": "i_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    place = {"item_id": "i_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    full = {**item, "status": "completed", "content": [{**part, "text": whole}]}
    before = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
    ]
    after = [
        {"type": "response.output_text.done", **place, "text": whole, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": {**part, "text": whole}},
        {"type": "response.output_item.done", "output_index": 0, "item": full},
    ]
    return before, "response.output_text.delta", after


def _call_steps(whole: str) -> tuple[list[Event], str, list[Event]]:
    item = {"id": "i_1", "type": "function_call", "status": "in_progress", "call_id": "call_1", "name": "write",
            "arguments": ""}  # fmt: skip
    full = {**item, "status": "completed", "arguments": whole}
    before = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    after = [
        {"type": "response.function_call_arguments.done", "item_id": "i_1", "output_index": 0, "arguments": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": full},
    ]
    return before, "response.function_call_arguments.delta", after


_MAKERS: Mapping[str, Callable[[Content, list[str]], Iterator[Event]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
}


def stream_bytes(events: list[Event]) -> bytes:
    """Give the events as the SSE body they would have come in."""
    return b"".join(b"data: " + dump_json(event) + b"\n\n" for event in events)
