"""Bodies that ask for a run, read into a RunInput: of a thread's route, of AG-UI, and of the AI SDK."""

import os
from typing import Any, Final

import attrs

from turnwire.actors.core.toolset import Tool
from turnwire.messages.agui.messages import AguiMessage
from turnwire.messages.agui.messages_codec import AGUI_MESSAGE
from turnwire.messages.dialects.agui_to_ui import ui_messages_of
from turnwire.messages.dialects.ui_message_input import read_chat_messages
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import Id, Json
from turnwire.messages.json_shapes import is_object
from turnwire.messages.runs import Answer, ApprovalAnswer, RunInput, ToolAnswer, ToolSpec
from turnwire.messages.shapes import Nested, Shape, each
from turnwire.messages.ui import TextPart, UIMessage
from turnwire.messages.ui_codec import structure_ui_message
from turnwire.messages.wire import json_name
from turnwire.runtime.http.bodies import check_text, text_at
from turnwire.runtime.http.errors import unprocessable

MOST_PARTS = 10_000
"""Messages, and parts of messages, that a client may send of one conversation: far more than any model reads."""

_TOOL_ANSWER, _APPROVAL = Shape(ToolAnswer), Shape(ApprovalAnswer)


def _structure_answer(value: Any, path: str, event: str | None) -> Answer:
    if is_object(value) and "approvalId" in value:
        return _APPROVAL.structure(value, path, event)
    return _TOOL_ANSWER.structure(value, path, event)


_TOOL_SPEC = Shape(ToolSpec)


def _structure_tool(value: Any, path: str, event: str | None) -> ToolSpec:
    spec = _TOOL_SPEC.structure(value, path, event)
    try:
        Tool.client(spec.name, spec.description, spec.parameters)
    except ValueError as exc:
        raise InvalidEventError(str(exc), path=path) from None
    return spec


_ANSWERS: Final[Nested] = each((_structure_answer, str))
_TOOLS: Final[Nested] = each((_structure_tool, _TOOL_SPEC.unstructure))


@attrs.frozen(kw_only=True)
class _Context:
    description: str
    value: str


@attrs.frozen(kw_only=True)
class _RunAgentInput:
    """AG-UI's own, as far as it says something here; what else it holds is passed over."""

    thread_id: Id
    run_id: Id
    messages: tuple[AguiMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    context: tuple[_Context, ...] = ()
    state: Json = None
    forwarded_props: Json = None


_RUN_AGENT_INPUT = Shape(
    _RunAgentInput,
    nested={"messages": each(AGUI_MESSAGE), "tools": _TOOLS, "context": each(Shape(_Context).nested)},
)


def new_id(kind: str) -> str:
    """Make an id that nobody has."""
    return f"{kind}-{os.urandom(12).hex()}"


def read_thread_turn(fields: dict[str, Any], thread_id: str) -> RunInput:
    """Read the body of POST /xapi/threads/{thread_id}/turns. Raises HttpError 422, InvalidEventError."""
    turn_id = text_at(fields, "turnId", default=new_id("turn")) or ""
    message = _message(fields.get("message"), turn_id)
    answers = _several(_ANSWERS, fields, "answers")
    if message is None and not answers:
        raise unprocessable("$: expected a message, answers, or both; got neither")
    return RunInput(
        run_id=turn_id,
        turn_id=turn_id,
        thread_id=thread_id,
        new_messages=() if message is None else (message,),
        answers=answers,
        client_tools=_several(_TOOLS, fields, "tools"),
        model=text_at(fields, "model"),
        instructions=_free_text(fields, "instructions"),
    )


def read_agui_run(fields: dict[str, Any], instructions: str | None) -> RunInput:
    """Read AG-UI's RunAgentInput. The run's id is the turn's, too, so that it can be joined again by it."""
    asked = _RUN_AGENT_INPUT.structure(fields, "$", None)
    props = dict(asked.forwarded_props) if is_object(asked.forwarded_props) else {}
    context = [f"{each_one.description}: {each_one.value}" for each_one in asked.context]
    told = [instructions, *context] if context else []
    return RunInput(
        run_id=check_text(asked.run_id, "$.runId"),
        turn_id=asked.run_id,
        thread_id=check_text(asked.thread_id, "$.threadId"),
        messages=_not_too_many(tuple(ui_messages_of(asked.messages))),
        answers=_several(_ANSWERS, props, "answers", path="$.forwardedProps"),
        client_tools=asked.tools,
        model=text_at(props, "model", path="$.forwardedProps"),
        state=asked.state or None,
        instructions="\n\n".join(filter(None, told)) or None,
    )


def read_chat_run(fields: dict[str, Any]) -> RunInput:
    """Read what the AI SDK's DefaultChatTransport posts: the chat's id is the thread's."""
    thread_id = text_at(fields, "id")
    if thread_id is None:
        raise unprocessable("$.id: missing")
    chat = read_chat_messages(fields.get("messages"))
    if not chat.messages:
        raise unprocessable("$.messages: expected at least one message, got none")
    turn_id = new_id("turn")
    return RunInput(
        run_id=turn_id,
        turn_id=turn_id,
        thread_id=thread_id,
        messages=_not_too_many(chat.messages),
        answers=chat.answers,
        client_tools=_several(_TOOLS, fields, "tools"),
        model=text_at(fields, "model"),
    )


def _not_too_many(messages: tuple[UIMessage, ...]) -> tuple[UIMessage, ...]:
    count = len(messages) + sum(len(message.parts) for message in messages)
    if count > MOST_PARTS:
        raise unprocessable(f"$.messages: expected at most {MOST_PARTS} messages and parts in all, got {count}")
    return messages


def _message(value: object, turn_id: str) -> UIMessage | None:
    match value:
        case None:
            return None
        case str():
            if not value.strip():
                raise unprocessable("$.message: must not be empty")
            return UIMessage(id=f"{turn_id}-user", role="user", parts=(TextPart(content=value),))
        case _ if is_object(value):
            message = structure_ui_message(value, "$.message")
            if message.role != "user":
                raise unprocessable(f"$.message.role: expected user, got {message.role}")
            return message
        case _:
            raise InvalidEventError(f"expected a string or a message, got {json_name(value)}", path="$.message")


def _several(kind: Nested, fields: dict[str, Any], name: str, *, path: str = "$") -> Any:
    """Read a list; null or absent is an empty one, and anything else is none."""
    value = fields.get(name)
    return kind[0]([] if value is None else value, f"{path}.{name}", None)


def _free_text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise unprocessable(f"$.{name}: expected a string, got {json_name(value)}")
    return value or None
