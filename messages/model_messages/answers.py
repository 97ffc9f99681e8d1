"""Every call has its answer: what providers demand of a conversation before they take it.

A model that has called tools must be told what came of each call before anything else is said. A conversation knows
calls that nobody has answered yet, or ever will, so:

- A call whose arguments never became whole was not made. It is left out, as a turn leaves out what failed.
- An answer whose call is not there (the history was cut) is left out.
- Where an id was used again after its call was answered, each call has the answer that came behind it.
- An answer stands behind the segment of its call. Where it came later (a tool that had to wait for an approval), it
  is moved up, for those providers that insist.
- A call with an output but no result part is answered by its output; one that was denied, by saying so.
- For any other call `pending` says what to do: "answer" it by saying that there is no result, "leave_out" the call,
  or "refuse" to make a request.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import attrs
from msgspec import UNSET

from turnwire.messages.errors import UnsendableError
from turnwire.messages.json_text import dump_json
from turnwire.messages.model_messages.items import ran_at_provider
from turnwire.messages.model_messages.model import ModelMessage, ModelPart
from turnwire.messages.ui import ToolCallPart, ToolResultPart

Pending: TypeAlias = Literal["answer", "leave_out", "refuse"]

CallName: TypeAlias = tuple[str, int]
"""The id of a call, and how many calls of the same id were answered before it."""

NO_RESULT = "There is no result of this tool call."
DENIED = "The user denied this tool call. The tool was not run."
_UNFINISHED = ("awaiting-input", "input-streaming")


def answer_calls(messages: Iterable[ModelMessage], *, pending: Pending, at_once: bool) -> list[ModelMessage]:
    """Give a conversation in which every call has one answer.

    With `at_once` the answers stand right behind the segment of their calls, else where they came.
    Raises UnsendableError for a call without an answer if `pending` is "refuse".
    """
    messages = list(messages)
    names = name_calls(messages)
    answers = _answers(messages, names)
    order = {name: place for place, name in enumerate(answers)}
    told: list[ModelMessage] = []
    asked: set[CallName] = set()
    for place, message in enumerate(messages):
        if message.role == "tool":
            here = [(names.get((place, number)), part) for number, part in enumerate(message.parts)]
            kept = (part for name, part in here if _stays(part, name, asked, answers, at_once=at_once))
            _tell(told, message, kept)
            continue
        parts: list[ModelPart] = []
        added: list[tuple[CallName, ToolResultPart]] = []
        for number, part in enumerate(message.parts) if message.role == "assistant" else ():
            if not isinstance(part, ToolCallPart) or ran_at_provider(part):
                parts.append(part)
            elif part.state not in _UNFINISHED and (name := names[place, number]) not in asked:
                came, answer = answers.get(name) or (-1, _stand_in(part, message, pending))
                if answer is not None:
                    parts.append(part)
                    asked.add(name)
                    if at_once or came < place:
                        added.append((name, answer))
        told.append(attrs.evolve(message, parts=tuple(parts)) if message.role == "assistant" else message)
        added.sort(key=lambda each: (not is_stand_in(each[1].content), order.get(each[0], len(order))))
        _tell(told, message, (answer for _, answer in added))
    return told


def name_calls(messages: Iterable[ModelMessage]) -> dict[tuple[int, int], CallName]:
    """Name the calls and results that are ours, by message and part: the id, and which call of that id it is.

    Some hosts number their calls anew in each turn. A call whose id was called and answered before is another call,
    and what comes behind it is its answer. An id that is called again unanswered is a repetition.
    """
    names: dict[tuple[int, int], CallName] = {}
    rounds: dict[str, int] = {}
    answered: set[str] = set()
    for place, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart) and not ran_at_provider(part):
                if part.id in rounds and part.id in answered:
                    rounds[part.id] += 1
                    answered.discard(part.id)
                names[place, number] = part.id, rounds.setdefault(part.id, 0)
            elif isinstance(part, ToolResultPart) and not ran_at_provider(part):
                names[place, number] = part.tool_call_id, rounds.get(part.tool_call_id, 0)
                answered.add(part.tool_call_id)
    return names


def is_stand_in(content: str) -> bool:
    """Tell whether a result only says that there is none."""
    return content == NO_RESULT


def _answers(
    messages: Iterable[ModelMessage], names: Mapping[tuple[int, int], CallName]
) -> dict[CallName, tuple[int, ToolResultPart]]:
    """Give the answer to each call, and which message it stands in, as they came; of several the last."""
    answers: dict[CallName, tuple[int, ToolResultPart]] = {}
    for place, message in enumerate(messages):
        for number, part in enumerate(message.parts) if message.role == "tool" else ():
            if isinstance(part, ToolResultPart) and (name := names.get((place, number))) is not None:
                answers.pop(name, None)
                answers[name] = place, part
    return answers


def _stays(
    part: ModelPart,
    name: CallName | None,
    asked: set[CallName],
    answers: Mapping[CallName, tuple[int, ToolResultPart]],
    *,
    at_once: bool,
) -> bool:
    """Tell whether a result is told where it stands: the provider's own always, ours if it need not be moved up."""
    if not isinstance(part, ToolResultPart):
        return False
    if name is None:
        return True
    return not at_once and name in asked and answers[name][1] is part


def _stand_in(call: ToolCallPart, message: ModelMessage, pending: Pending) -> ToolResultPart | None:
    if call.output is not UNSET:
        text = call.output if isinstance(call.output, str) else dump_json(call.output).decode()
        return ToolResultPart(
            tool_call_id=call.id, content=text, state="error" if call.state == "error" else "complete"
        )
    if call.approval is not None and call.approval.approved is False:
        return ToolResultPart(tool_call_id=call.id, content=DENIED, state="error")
    if pending == "refuse":
        raise UnsendableError(f"tool call {call.id} ({call.name}) has no result", message_id=message.message_id)
    return ToolResultPart(tool_call_id=call.id, content=NO_RESULT, state="error") if pending == "answer" else None


def _tell(told: list[ModelMessage], message: ModelMessage, results: Iterable[ModelPart]) -> None:
    if parts := tuple(results):
        told.append(attrs.evolve(message, role="tool", parts=parts))
