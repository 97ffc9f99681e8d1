"""What a run begins with: the thread's conversation, what is new in it, and which waiting calls are answered. No await.

- `messages` of the input is the whole conversation; else it is what is stored. New messages are added behind it.
- A pending call whose result stands in the conversation already waits no longer; nor does one that is not there.
- With an answer it goes on in this run. Without one it goes on waiting: the run pauses again, unless the user has said
  something new. Then the model is asked, and is told that these calls have no result yet.
"""

from collections.abc import Iterable

import attrs

from turnwire.messages.json_text import dump_json
from turnwire.messages.runs import Answer, ApprovalAnswer, PendingCall, RunInput, ToolAnswer
from turnwire.messages.ui import Part, SavedConversation, TextPart, ToolCallPart, ToolResultPart, UIMessage


@attrs.frozen(kw_only=True)
class AnsweredCall:
    """A call of an earlier run, and what somebody has answered."""

    call: ToolCallPart
    answer: Answer


@attrs.frozen(kw_only=True)
class Waiting:
    """The calls that a thread waits for: those that have their answer now, and the rest."""

    answered: tuple[AnsweredCall, ...] = ()
    rest: tuple[PendingCall, ...] = ()


def opening_of(run: RunInput, stored: SavedConversation | None) -> SavedConversation:
    """Give the conversation that a run goes on from, what is new included."""
    known = stored or SavedConversation()
    messages = [*(known.messages if run.messages is None else _carry_over(run.messages, known.messages))]
    there = {message.id for message in messages}
    messages += (each for each in _carry_over(run.new_messages, known.messages) if each.id not in there)
    return SavedConversation(messages=tuple(messages), state=known.state if run.state is None else run.state)


def prompt_of(run: RunInput) -> str | None:
    """Give the text of the user's message that began this run; None if somebody else did."""
    message = _newest(run)
    if message is None or message.role != "user":
        return None
    return "".join(part.content for part in message.parts if isinstance(part, TextPart))


def has_news(run: RunInput) -> bool:
    """Has somebody said something new, so that the model is to be asked whatever waits?"""
    return prompt_of(run) is not None or bool(run.new_messages)


def call_ids(messages: Iterable[UIMessage]) -> set[str]:
    """Give the ids of all calls in a conversation."""
    return {part.id for message in messages for part in message.parts if isinstance(part, ToolCallPart)}


def sort_waiting(messages: Iterable[UIMessage], pending: Iterable[PendingCall], answers: Iterable[Answer]) -> Waiting:
    """Find the calls that have an answer now, and those of the pending ones that wait on."""
    parts = [part for message in messages for part in message.parts]
    over = {part.tool_call_id for part in parts if isinstance(part, ToolResultPart)}
    calls = {part.id: part for part in parts if isinstance(part, ToolCallPart) and part.id not in over}
    asked = {call.approval.id: call for call in calls.values() if call.approval is not None}
    answered: list[AnsweredCall] = []
    for answer in answers:
        call = asked.get(answer.approval_id) if isinstance(answer, ApprovalAnswer) else calls.get(answer.tool_call_id)
        if call is not None:
            answered.append(AnsweredCall(call=call, answer=answer))
    settled = {each.call.id for each in answered}
    rest = (each for each in pending if each.tool_call_id in calls and each.tool_call_id not in settled)
    return Waiting(answered=tuple(answered), rest=tuple(rest))


def text_of(answer: ToolAnswer) -> str:
    """Give what a client's tool came to as text; why it failed first, if it did."""
    output = answer.output if isinstance(answer.output, str) else dump_json(answer.output).decode()
    if answer.error is None:
        return output
    return answer.error if answer.output is None else f"{answer.error}\n{output}"


def _newest(run: RunInput) -> UIMessage | None:
    messages = run.new_messages or run.messages or ()
    return messages[-1] if messages else None


def _carry_over(given: Iterable[UIMessage], known: Iterable[UIMessage]) -> list[UIMessage]:
    """Let the calls of a client's messages be what is stored of them; what is not stored was never asked.

    A call that waits runs with the arguments that its user was shown, whatever a client sends; and a client keeps
    nothing of what a provider has sealed.
    """
    stored = {part.id: part for message in known for part in message.parts if isinstance(part, ToolCallPart)}

    def carried(part: Part) -> Part:
        if not isinstance(part, ToolCallPart):
            return part
        if (ours := stored.get(part.id)) is None:
            return part if part.approval is None else attrs.evolve(part, approval=None)
        return attrs.evolve(
            part,
            name=ours.name,
            arguments=ours.arguments,
            input=ours.input,
            approval=ours.approval,
            provider_data=part.provider_data or ours.provider_data,
        )

    return [_with_parts(message, tuple(map(carried, message.parts))) for message in given]


def _with_parts(message: UIMessage, parts: tuple[Part, ...]) -> UIMessage:
    changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
    return attrs.evolve(message, parts=parts) if changed else message
