"""UIMessages ⇄ model messages: cut at the tools' results, and joined again. Nothing is lost, nothing changes places."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count, groupby

from turnwire.messages.model_messages.model import ModelMessage, ModelPart
from turnwire.messages.model_messages.thoughts import gather_thoughts, spread_thoughts
from turnwire.messages.ui import ToolResultPart, UIMessage


def to_model_messages(messages: Iterable[UIMessage]) -> list[ModelMessage]:
    """Cut a conversation into what each side said in one go.

    Walks the parts in order; a tool's result ends what the assistant said, and what comes behind it begins a new
    segment.
    """
    return [segment for message in messages for segment in _segments(message)]


def to_ui_messages(
    messages: Iterable[ModelMessage], *, new_id: Callable[[], str] | None = None
) -> tuple[UIMessage, ...]:
    """Join segments of one UIMessage again; the reverse of `to_model_messages`.

    Messages that were read from a request have no id. There the tools' answers belong to the assistant's message
    before them, and so does what the assistant says right after them: it is one run. `new_id` names such messages;
    by default they are `message-1`, `message-2`, ... which is no good where two histories meet.
    """
    numbers = count(1)
    make_id = new_id or (lambda: f"message-{next(numbers)}")
    return tuple(_joined(group, make_id) for group in _groups(messages))


def _segments(message: UIMessage) -> Iterator[ModelMessage]:
    parts = spread_thoughts(message.parts)
    if message.role != "assistant" or not parts:
        yield _segment(message, parts)
        return
    for answers, run in groupby(parts, lambda part: isinstance(part, ToolResultPart)):
        yield _segment(message, list(run), answers=answers)


def _segment(message: UIMessage, parts: list[ModelPart], *, answers: bool = False) -> ModelMessage:
    return ModelMessage(
        role="tool" if answers else message.role,
        parts=tuple(parts),
        message_id=message.id,
        created_at=message.created_at,
        provider_data=message.provider_data,
    )


def _groups(messages: Iterable[ModelMessage]) -> Iterator[list[ModelMessage]]:
    group: list[ModelMessage] = []
    for message in messages:
        if group and not _goes_on(group[-1], message):
            yield group
            group = []
        group.append(message)
    if group:
        yield group


def _goes_on(last: ModelMessage, message: ModelMessage) -> bool:
    """Tell whether a message is one more segment of the same UIMessage."""
    if last.message_id is not None or message.message_id is not None:
        return last.message_id == message.message_id
    return (last.role, message.role) in {("assistant", "tool"), ("tool", "tool"), ("tool", "assistant")}


def _joined(group: list[ModelMessage], make_id: Callable[[], str]) -> UIMessage:
    first = group[0]
    return UIMessage(
        id=make_id() if first.message_id is None else first.message_id,
        role="assistant" if first.role == "tool" else first.role,
        parts=gather_thoughts(part for message in group for part in message.parts),
        created_at=first.created_at,
        provider_data=first.provider_data,
    )
