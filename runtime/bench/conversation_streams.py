"""Made-up AG-UI streams of any length: long text, a call with long arguments, or a conversation of many turns.

The events are plain JSON objects in the words of AG-UI 1.0, so that others can be given the very same ones.
"""

from typing import Any, Literal, TypeAlias

import attrs

Kind: TypeAlias = Literal["text", "arguments", "turns"]
Event: TypeAlias = dict[str, Any]

TURN_DELTAS = 20
"""Deltas of each of the two texts of a turn: short answers, so that what a turn costs beside its text is seen."""

_WORDS = ("the ", "quick ", "brown ", "fox ", "jumps ", "over ", "a ", "lazy ", "dog. ")


@attrs.frozen(kw_only=True)
class Stream:
    """One answer of an assistant, and the prompt it follows, if any."""

    prompt: str | None = None
    stream: list[Event]


def make_conversation(kind: Kind, size: int) -> list[Stream]:
    """Make a conversation: one answer with so many deltas, or so many turns."""
    match kind:
        case "text":
            return [Stream(stream=_run("run", _text("message", size), "stop"))]
        case "arguments":
            return [Stream(stream=_run("run", _call("call", _argument_pieces(size)), "tool_calls"))]
        case "turns":
            return [_turn(number) for number in range(size)]


def count_events(conversation: list[Stream]) -> int:
    """Count the events of all streams."""
    return sum(len(each.stream) for each in conversation)


def _turn(number: int) -> Stream:
    """Make a prompt, a text, a call with its result, and one more text."""
    name = f"turn-{number}"
    call = f"{name}-call"
    result: Event = {"type": "TOOL_CALL_RESULT", "toolCallId": call, "messageId": f"{call}-result"}
    result |= {"role": "tool", "content": '{"found": 3}'}
    events = [
        *_text(f"{name}-a", TURN_DELTAS),
        *_call(call, ['{"query": ', '"fox"', "}"]),
        result,
        *_text(f"{name}-b", TURN_DELTAS),
    ]
    return Stream(prompt=f"Question {number}?", stream=_run(name, events, "stop"))


def _run(run_id: str, events: list[Event], finish: str) -> list[Event]:
    frame = {"runId": run_id, "threadId": "bench"}
    return [{"type": "RUN_STARTED", **frame}, *events, {"type": "RUN_FINISHED", **frame, "finishReason": finish}]


def _text(message_id: str, deltas: int) -> list[Event]:
    words = (_WORDS[number % len(_WORDS)] for number in range(deltas))
    content = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": word} for word in words]
    start: Event = {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    return [start, *content, {"type": "TEXT_MESSAGE_END", "messageId": message_id}]


def _call(call_id: str, pieces: list[str]) -> list[Event]:
    arguments = [{"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": piece} for piece in pieces]
    start: Event = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": "search"}
    return [start, *arguments, {"type": "TOOL_CALL_END", "toolCallId": call_id}]


def _argument_pieces(deltas: int) -> list[str]:
    """Cut an object with a list of lines, as a tool that writes a file gets them: long, and not one long string."""
    pieces = ['{"path": "notes.txt", "lines": ["']
    pieces += (_WORDS[number % len(_WORDS)] if number % 12 else '", "' for number in range(1, deltas - 1))
    return [*pieces, '"]}']
