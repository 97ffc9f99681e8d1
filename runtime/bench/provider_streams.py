"""Made-up provider streams of any length, shaped like the real ones: long text, or one call with long arguments."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

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
    message: Event = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    block: Event = {"type": "text", "text": ""}
    kind, key, reason = "text_delta", "text", "end_turn"
    if content == "tool_arguments":
        block = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}
        kind, key, reason = "input_json_delta", "partial_json", "tool_use"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: piece}}
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": len(pieces)}}
    yield {"type": "message_stop"}


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
    response: Event = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress"}
    response |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": None}
    before, kind, after = _message_steps("".join(pieces)) if content == "text" else _call_steps("".join(pieces))
    place: Event = {"item_id": "i_1", "output_index": 0, "content_index": 0}
    events: list[Event] = [{"type": "response.created", "response": response}, *before]
    events += [{"type": kind, **place, "delta": piece, "logprobs": []} for piece in pieces]
    usage: Event = {"input_tokens": 10, "output_tokens": len(pieces), "total_tokens": 10 + len(pieces)}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = {**response, "status": "completed", "output": [after[-1]["item"]], "usage": usage}
    events += [*after, {"type": "response.completed", "response": done}]
    yield from ({**event, "sequence_number": number} for number, event in enumerate(events))


def _message_steps(whole: str) -> tuple[list[Event], str, list[Event]]:
    item: Event = {"id": "i_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    place: Event = {"item_id": "i_1", "output_index": 0, "content_index": 0}
    part: Event = {"type": "output_text", "text": "", "annotations": []}
    full: Event = {**item, "status": "completed", "content": [{**part, "text": whole}]}
    before: list[Event] = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
    ]
    after: list[Event] = [
        {"type": "response.output_text.done", **place, "text": whole, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": {**part, "text": whole}},
        {"type": "response.output_item.done", "output_index": 0, "item": full},
    ]
    return before, "response.output_text.delta", after


def _call_steps(whole: str) -> tuple[list[Event], str, list[Event]]:
    item: Event = {"id": "i_1", "type": "function_call", "call_id": "call_1", "name": "write", "arguments": ""}
    full: Event = {**item, "status": "completed", "arguments": whole}
    before: list[Event] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}}
    ]
    after: list[Event] = [
        {"type": "response.function_call_arguments.done", "item_id": "i_1", "output_index": 0, "arguments": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": full},
    ]
    return before, "response.function_call_arguments.delta", after


_MAKERS: Mapping[str, Callable[[Content, list[str]], Iterator[Event]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
}
