"""Short hand-made provider streams, and short words for what comes out of them."""

from collections.abc import Iterable
from typing import Any

from turnwire.messages import StreamEvent
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    Heartbeat,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    UsageUpdate,
)

Event = dict[str, Any]


def chunk(finish: str | None = None, **delta: Any) -> Event:
    """Make a chat chunk."""
    return {"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call_piece(arguments: Any, *, index: int | None = 0, name: str | None = None, call_id: str | None = None) -> Event:
    """Make a chat chunk with one fragment of a call."""
    call: Event = {"function": {"arguments": arguments}}
    if name is not None:
        call["function"]["name"] = name
    if index is not None:
        call["index"] = index
    if call_id is not None:
        call["id"] = call_id
    return chunk(tool_calls=[call])


def block_start(index: int, kind: str, **fields: Any) -> Event:
    """Make the start of an Anthropic block."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def block_delta(index: int, kind: str, **fields: Any) -> Event:
    """Make a delta of an Anthropic block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def block_stop(index: int) -> Event:
    """Make the stop of an Anthropic block."""
    return {"type": "content_block_stop", "index": index}


def text_block(index: int, *texts: str) -> list[Event]:
    """Make a whole Anthropic text block."""
    deltas = [block_delta(index, "text_delta", text=text) for text in texts]
    return [block_start(index, "text", text=""), *deltas, block_stop(index)]


def message_start(**usage: int | None) -> Event:
    """Make the start of an Anthropic message."""
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}


def message_end(reason: str | None = "end_turn", **usage: int | None) -> list[Event]:
    """Make the end of an Anthropic message."""
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


def added(index: int, kind: str, **fields: Any) -> Event:
    """Make the begin of a Responses output item."""
    return {"type": "response.output_item.added", "output_index": index, "item": {"type": kind, **fields}}


def done(index: int, kind: str, **fields: Any) -> Event:
    """Make the end of a Responses output item."""
    return {"type": "response.output_item.done", "output_index": index, "item": {"type": kind, **fields}}


def delta(index: int, kind: str, text: str, **fields: Any) -> Event:
    """Make a Responses delta, e.g. of `output_text`."""
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text, **fields}


def output_text(text: str, **fields: Any) -> list[Event]:
    """Make the content of a finished Responses message."""
    return [{"type": "output_text", "text": text, **fields}]


def completed(output: list[Event] | None = None, **usage: Any) -> Event:
    """Make the end of a Responses stream."""
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": output or [], "usage": usage or None}
    return {"type": "response.completed", "response": response}


def brief(events: Iterable[StreamEvent]) -> list[str]:
    """Give events as short lines: `start message`, `delta Hel`, `done message Hello`, ..."""
    return [_line(event) for event in events]


def finals(events: Iterable[StreamEvent]) -> list[FinalItem]:
    """Give the final items, in order."""
    return [event.payload.final_item for event in events if isinstance(event.payload, ItemDone)]


def final_message(events: Iterable[StreamEvent]) -> FinalMessage:
    """Give the only agent message among the final items."""
    (message,) = (each for each in finals(events) if isinstance(each, FinalMessage) and each.origin == "agent")
    return message


def final_call(events: Iterable[StreamEvent]) -> FinalFunctionCall:
    """Give the only call among the final items."""
    (call,) = (each for each in finals(events) if isinstance(each, FinalFunctionCall))
    return call


def _line(event: StreamEvent) -> str:
    match event.payload:
        case ResponseStart():
            return "begin"
        case ItemStart(item_type=kind, name=name):
            return f"start {kind}" + (f" {name}" if name else "")
        case ItemDelta(delta_content=text):
            return f"delta {text}"
        case ItemDone(final_item=final):
            return f"done {_final(final)}"
        case ItemError(error=error):
            return f"error {error.code}"
        case ItemCancelled():
            return "cancelled"
        case UsageUpdate():
            return "usage"
        case Heartbeat():
            return "heartbeat"
        case ResponseDone(status=status, finish_reason=reason):
            return f"end {status} {reason}"
        case ResponseError(error=error):
            return f"broken {error.code}"
        case other:
            return type(other).__name__


def _final(final: FinalItem) -> str:
    match final:
        case FinalMessage():
            return f"message {final.content}"
        case FinalReasoning():
            return f"reasoning {final.content}"
        case FinalFunctionCall():
            return f"call {final.name} {final.arguments}"
        case FinalFunctionCallOutput():
            return f"output {final.output}"
        case _:
            return type(final).__name__
