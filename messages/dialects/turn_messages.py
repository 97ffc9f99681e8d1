"""The items of a turn as AG-UI messages, as its clients keep them: what MESSAGES_SNAPSHOT and a run's input hold."""

from collections.abc import Iterable, Iterator, Mapping

from turnwire.messages.agui.events import TextRole
from turnwire.messages.agui.messages import (
    AguiMessage,
    AguiToolCall,
    AssistantMessage,
    ReasoningMessage,
    SpokenMessage,
    ToolMessage,
)
from turnwire.messages.dialects.call_texts import arguments_of, error_of, output_of
from turnwire.messages.outputs import Content, Message, Thinking, ToolCall

ROLES: Mapping[str, TextRole] = {"agent": "assistant", "user": "user", "system": "system"}
"""What AG-UI calls the origin of a message."""


def turn_messages(states: Iterable[tuple[str, Content]]) -> tuple[AguiMessage, ...]:
    """Give the newest states of a turn's items, each under the id that AG-UI's reader knows it by, as messages."""
    return tuple(message for told_id, state in states for message in _messages(told_id, state))


def _messages(told_id: str, state: Content) -> Iterator[AguiMessage]:
    match state:
        case Thinking():
            yield ReasoningMessage(id=told_id, content=state.content)
        case Message(origin="agent"):
            yield AssistantMessage(id=told_id, content=state.content)
        case Message():
            yield SpokenMessage(id=told_id, role="user" if state.origin == "user" else "system", content=state.content)
        case ToolCall():
            call = AguiToolCall(id=told_id, name=state.tool_name, arguments=arguments_of(state))
            yield AssistantMessage(id=told_id, tool_calls=(call,))
            if state.status in ("complete", "error"):
                text, error = error_of(state) if state.status == "error" else output_of(state), error_of(state)
                yield ToolMessage(id=f"{told_id}-result", tool_call_id=told_id, content=text or "", error=error)
