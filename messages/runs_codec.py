"""What runs begin with, wait for and are answered ⇄ JSON: strict, and the only room that knows their wire names."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from turnwire.messages.runs import Answer, ApprovalAnswer, PendingCall, RunInput, ToolAnswer, ToolSpec
from turnwire.messages.shapes import Shape, each, tagged
from turnwire.messages.ui_codec import UI_MESSAGE
from turnwire.messages.wire import dump_document, parse_document

_ANSWERS: Mapping[str, Shape[Any]] = {"tool-answer": Shape(ToolAnswer), "approval-answer": Shape(ApprovalAnswer)}
"""Wire name of each answer. Written out, so that renaming a class never changes the wire."""
_TAGS: Mapping[type, str] = {ToolAnswer: "tool-answer", ApprovalAnswer: "approval-answer"}

_MESSAGES = each(UI_MESSAGE)
_structure_answer, _unstructure_answer = tagged("type", _ANSWERS, lambda answer: _TAGS[type(answer)])
_structure_pending, _unstructure_pending = each(Shape(PendingCall).nested)
_INPUT = Shape(
    RunInput,
    nested={
        "messages": _MESSAGES,
        "new_messages": _MESSAGES,
        "answers": each((_structure_answer, _unstructure_answer)),
        "client_tools": each(Shape(ToolSpec).nested),
    },
)


def encode_run_input(run: RunInput) -> bytes:
    """Encode what a run begins with. Raises ValueError if a NaN is in it."""
    return dump_document(_INPUT.unstructure(run))


def decode_run_input(data: bytes | str) -> RunInput:
    """Decode what a run begins with. Raises InvalidEventError that says where the text is none."""
    return _INPUT.structure(parse_document(data), "$", None)


def encode_answer(answer: Answer) -> bytes:
    """Encode an answer."""
    return dump_document(_unstructure_answer(answer))


def decode_answer(data: bytes | str) -> Answer:
    """Decode an answer. Raises InvalidEventError that says where the text is none."""
    return structure_answer(parse_document(data))


def structure_answer(document: object, path: str = "$") -> Answer:
    """Make an answer of what a JSON parser gave."""
    return cast("Answer", _structure_answer(document, path, None))


def encode_pending(calls: Iterable[PendingCall]) -> bytes:
    """Encode the calls that a thread waits for, as an array."""
    return dump_document(_unstructure_pending(calls))


def decode_pending(data: bytes | str) -> tuple[PendingCall, ...]:
    """Decode the calls that a thread waits for. Raises InvalidEventError that says where the text is none."""
    return cast("tuple[PendingCall, ...]", _structure_pending(parse_document(data), "$", None))
