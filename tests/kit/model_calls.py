"""Asking a model as the engine does: one request, or a tool loop whose conversation is kept in between."""

from collections.abc import Callable
from typing import Any

from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.engine_ports import Model, ModelCall
from turnwire.messages.dialects.events_to_agui import events_to_agui
from turnwire.messages.events import FinalFunctionCall, ItemDone, StreamEvent
from turnwire.messages.providers.continuation import Continuation
from turnwire.messages.ui import TextPart, UIMessage
from turnwire.messages.ui_codec import decode_ui_messages, encode_ui_messages

PROMPT = UIMessage(id="u1", role="user", parts=(TextPart(content="Please."),))


def make_call(**fields: Any) -> ModelCall:
    """Make a request of one user's words."""
    given: dict[str, Any] = {"run_id": "run", "turn_id": "turn", "thread_id": "thread", "messages": (PROMPT,), **fields}
    return ModelCall(**given)


async def ask(model: Model, call: ModelCall) -> tuple[list[StreamEvent], Continuation]:
    """Ask a model once and read its answer to the end."""
    stream = model.open(call)
    try:
        events = [event async for batch in stream for event in batch]
    finally:
        await stream.aclose()
    return events, stream.continuation()


async def ask_twice(
    model: Model, answer: Callable[[FinalFunctionCall], Any], **fields: Any
) -> tuple[list[StreamEvent], list[StreamEvent]]:
    """Ask a model, answer the tools it calls, and ask again with what the conversation has become, stored and read."""
    first, after = await ask(model, make_call(prompt="Please.", **fields))
    machine = ConversationMachine()
    machine.process(events_to_agui(first))
    for event in first:
        match event.payload:
            case ItemDone(final_item=FinalFunctionCall() as call):
                machine.add_tool_result(call.call_id, answer(call))
            case _:
                pass
    said = decode_ui_messages(encode_ui_messages(machine.messages))
    history = said if said and said[0].role == "user" else (PROMPT, *said)
    second, _ = await ask(model, make_call(messages=history, after=after, **fields))
    return first, second
