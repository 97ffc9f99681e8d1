"""What runs begin with, wait for and are answered ⇄ JSON: strict, and the only room that knows their wire names."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.json_text import dump_json, parse_json, refuse_nan
from turnwire.messages.runs import Answer, ApprovalAnswer, PendingCall, RunInput, ToolAnswer, ToolSpec
from turnwire.messages.shapes import Nested, Shape, each, tagged
from turnwire.messages.ui_codec import structure_ui_message, unstructure_ui_message

_ANSWERS: Mapping[str, Shape[Any]] = {"tool-answer": Shape(ToolAnswer), "approval-answer": Shape(ApprovalAnswer)}
"""Wire name of each answer. Written out, so that renaming a class never changes the wire."""
_TAGS: Mapping[type, str] = {ToolAnswer: "tool-answer", ApprovalAnswer: "approval-answer"}


def _structure_message(document: Any, path: str, _event: str | None) -> Any:
    return structure_ui_message(document, path)


_MESSAGES: Nested = each((_structure_message, unstructure_ui_message))
_structure_answer, _unstructure_answer = tagged("type", _ANSWERS, lambda answer: _TAGS[type(answer)])
_PENDING = Shape(PendingCall)
_structure_pending, _unstructure_pending = each(_PENDING.nested)
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
    return _dump(_INPUT.unstructure(run))


def decode_run_input(data: bytes | str) -> RunInput:
    """Decode what a run begins with. Raises InvalidEventError that says where the text is none."""
    return _INPUT.structure(_parse(data), "$", None)


def encode_answer(answer: Answer) -> bytes:
    """Encode an answer."""
    return _dump(_unstructure_answer(answer))


def decode_answer(data: bytes | str) -> Answer:
    """Decode an answer. Raises InvalidEventError that says where the text is none."""
    return structure_answer(_parse(data))


def structure_answer(document: object, path: str = "$") -> Answer:
    """Make an answer of what a JSON parser gave."""
    return cast("Answer", _structure_answer(document, path, None))


def encode_pending(calls: Iterable[PendingCall]) -> bytes:
    """Encode the calls that a thread waits for, as an array."""
    return _dump(_unstructure_pending(calls))


def decode_pending(data: bytes | str) -> tuple[PendingCall, ...]:
    """Decode the calls that a thread waits for. Raises InvalidEventError that says where the text is none."""
    return cast("tuple[PendingCall, ...]", _structure_pending(_parse(data), "$", None))


def unstructure_pending_call(call: PendingCall) -> dict[str, Any]:
    """Give a call that waits as builtins with wire names."""
    return _PENDING.unstructure(call)


def _parse(data: bytes | str) -> object:
    try:
        return cast("object", parse_json(data))
    except ValueError as exc:
        raise InvalidEventError(f"not JSON: {exc}") from None


def _dump(document: object) -> bytes:
    refuse_nan(document)
    return dump_json(document)
