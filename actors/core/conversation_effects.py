"""What each AG-UI event does to a conversation. No clock, no await.

One function for each kind of event, found by a table at the end; an event that has no effect stands there too, so that
what is ignored is ignored on purpose. The work is done in the rooms next door: text_flow.py, thinking_flow.py,
tool_desk.py, approvals.py. Chunks are spelled out by messages/dialects/agui_chunks.py.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from turnwire.actors.core.call_facts import carry_over
from turnwire.actors.core.conversation_scope import ConversationScope
from turnwire.actors.core.counts import count
from turnwire.actors.core.settled_message import AnyMessage
from turnwire.messages.agui import events as agui
from turnwire.messages.agui import more_events
from turnwire.messages.agui.custom import ApprovalRequested, ToolInputAvailable, read_custom
from turnwire.messages.agui.messages_codec import content_text
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects.agui_sealed import STEP_DATA, kept_value, sealed_data, step_seal
from turnwire.messages.dialects.agui_to_ui import ui_messages_of
from turnwire.messages.errors import RunFailedError
from turnwire.messages.json_patch import apply_patch
from turnwire.messages.ui import ToolCallPart, UIMessage

log = logging.getLogger("turnwire.conversation")


def apply_event(scope: ConversationScope, event: AnyAguiEvent) -> None:
    """Take one event in. Raises InvalidEventError, and changes nothing, if it is malformed."""
    if scope.chunks.open is None:
        _EFFECTS[type(event)](scope, event)
        return
    if isinstance(event, agui.Custom):
        read_custom(event)  # before it ends what the chunks were about
    _on_chunk(scope, event)


def _on_text_start(scope: ConversationScope, event: agui.TextMessageStart) -> None:
    if event.message_id in scope.others:
        scope.release(event.message_id)
        del scope.others[event.message_id]
    if event.role != "assistant":
        scope.others[event.message_id] = event.role
        scope.held[event.message_id] = ([], event.timestamp)
    else:
        scope.text.begin(event.message_id)


def _on_text(scope: ConversationScope, event: agui.TextMessageContent) -> None:
    if scope.others and event.message_id in scope.others:
        scope.hold(event)  # also behind its end: never are they the assistant's words
        return
    scope.text.add(event.message_id, event.delta, scope.messages.open or scope.begin_message(event))


def _on_text_end(scope: ConversationScope, event: agui.TextMessageEnd) -> None:
    if event.message_id in scope.others:
        scope.release(event.message_id)
        return
    scope.text.flush()
    if data := sealed_data(event):
        scope.text.keep(event.message_id, data, scope.messages.open or scope.begin_message(event))


def _on_call_start(scope: ConversationScope, event: agui.ToolCallStart) -> None:
    if scope.desk.is_known(event.tool_call_id):
        count(scope.counts, "repeated_tool_call_starts")
    else:
        scope.desk.start(event, scope.messages.open or scope.begin_message(event))
        if data := sealed_data(event):
            scope.desk.keep(event.tool_call_id, data)


def _on_call_args(scope: ConversationScope, event: agui.ToolCallArgs) -> None:
    scope.desk.extend(event.tool_call_id, event.delta)


def _on_call_end(scope: ConversationScope, event: agui.ToolCallEnd) -> None:
    scope.desk.complete(event.tool_call_id, event.input)
    data = sealed_data(event)
    if event.result is not None or event.error is not None:
        scope.answer(event.tool_call_id, event.result or "", event.error, data)
    elif data is not None:
        scope.desk.keep(event.tool_call_id, data)


def _on_call_result(scope: ConversationScope, event: more_events.ToolCallResult) -> None:
    if event.tool_call_id not in scope.messages.holders:
        scope.desk.miss("result_for_unknown_call", event.tool_call_id)
    else:
        scope.answer(event.tool_call_id, content_text(event.content), event.error, sealed_data(event))


def _on_step(scope: ConversationScope, event: agui.StepFinished) -> None:
    data = sealed_data(event)
    if event.delta is None and event.content is None and event.signature is None and data is None:
        return  # a mark of AG-UI 1.0: the step has a name and no thinking
    message = scope.messages.open or scope.begin_message(event)
    delta = event.delta
    if delta is None and event.content is not None:
        delta = event.content.removeprefix(scope.thinking.text_of(event.step_id))
    scope.thinking.add(event.step_id, delta or "", message)
    if event.signature is not None:
        scope.thinking.seal(event.step_id, "signature", event.signature, message)
    if data is not None:
        scope.thinking.seal(event.step_id, STEP_DATA, data, message)


def _on_thought_start(scope: ConversationScope, event: more_events.ReasoningMessageStart) -> None:
    scope.thinking.announce(event.message_id)


def _on_thought(scope: ConversationScope, event: more_events.ReasoningMessageContent) -> None:
    scope.thinking.add(event.message_id, event.delta, scope.messages.open or scope.begin_message(event))


def _on_encrypted(scope: ConversationScope, event: more_events.ReasoningEncryptedValue) -> None:
    name, message = event.entity_id, scope.messages.open
    if event.subtype == "tool-call":
        if scope.desk.keep(name, kept_value(event.encrypted_value)):
            return
    elif scope.thinking.knows(name):
        scope.thinking.seal(name, *step_seal(event.encrypted_value), message or scope.begin_message(event))
        return
    elif scope.text.knows(name):
        scope.text.keep(name, kept_value(event.encrypted_value), message or scope.begin_message(event))
        return
    if message is None:
        scope.sealed[name] = event.encrypted_value  # for the message that may yet come
    elif message.kept(name) != event.encrypted_value:
        message.keep(name, event.encrypted_value, scope.messages.tick())
        scope.messages.touch(message)
        scope.notices.changed = True


def _on_chunk(scope: ConversationScope, event: AnyAguiEvent) -> None:
    """Take in what a chunk stands for, or an event that comes while chunks are open and may end them."""
    for part in scope.chunks.spell_out(event):
        _EFFECTS[type(part)](scope, part)


def _on_custom(scope: ConversationScope, event: agui.Custom) -> None:
    callbacks, request = scope.notices.callbacks, read_custom(event)
    match request:
        case None:
            scope.notices.add(callbacks.on_custom_event, event.name, event.data)
        case ToolInputAvailable():
            scope.notices.add(callbacks.on_tool_call, request.tool_call_id, request.tool_name, request.input)
        case ApprovalRequested(tool_call_id=call_id, tool_name=name, input=value, approval=approval):
            if scope.approvals.request(request):
                scope.notices.add(callbacks.on_approval_request, call_id, name, value, approval.id)


def _on_run_finished(scope: ConversationScope, event: agui.RunFinished) -> None:
    scope.finish_reason = event.finish_reason
    scope.spend(event.usage)
    scope.desk.complete_all()


def _on_run_error(scope: ConversationScope, event: agui.RunError) -> None:
    scope.has_failed = True
    if scope.messages.open is None:
        scope.begin_message(event)
    scope.spend(event.usage)
    scope.notices.add(scope.notices.callbacks.on_error, RunFailedError(event.error.message, event.error.code))


def _on_messages(scope: ConversationScope, event: more_events.MessagesSnapshot) -> None:
    known = scope.messages.holders
    scope.text.flush()
    scope.messages.replace(
        [_carried(message, known) for message in ui_messages_of(event.messages, classic=scope.classic)]
    )
    scope.text.forget()
    scope.thinking.forget()
    scope.desk.forget()
    scope.approvals.learn()
    scope.notices.changed = True


def _carried(message: UIMessage, known: Mapping[str, AnyMessage]) -> UIMessage:
    parts = (
        carry_over(part, known[part.id].facts(part.id)) if isinstance(part, ToolCallPart) and part.id in known else part
        for part in message.parts
    )
    return attrs.evolve(message, parts=tuple(parts))


def _on_state(scope: ConversationScope, event: more_events.StateSnapshot) -> None:
    scope.set_state(event.snapshot)


def _on_state_delta(scope: ConversationScope, event: more_events.StateDelta) -> None:
    try:
        scope.set_state(apply_patch(scope.state, event.delta))
    except ValueError as exc:
        count(scope.counts, "bad_state_patches")
        log.warning("%s", exc)


def _on_unknown(scope: ConversationScope, _event: agui.UnknownAguiEvent) -> None:
    count(scope.counts, "unknown_events")


def _on_nothing(scope: ConversationScope, event: AnyAguiEvent) -> None:
    """Events that have no effect on a conversation."""


_EFFECTS: Mapping[type, Callable[[ConversationScope, Any], None]] = {
    agui.TextMessageContent: _on_text,
    agui.TextMessageStart: _on_text_start,
    agui.TextMessageEnd: _on_text_end,
    agui.ToolCallArgs: _on_call_args,
    agui.ToolCallStart: _on_call_start,
    agui.ToolCallEnd: _on_call_end,
    more_events.ToolCallResult: _on_call_result,
    agui.StepFinished: _on_step,
    more_events.ReasoningMessageStart: _on_thought_start,
    more_events.ReasoningMessageContent: _on_thought,
    more_events.ReasoningEncryptedValue: _on_encrypted,
    more_events.TextMessageChunk: _on_chunk,
    more_events.ToolCallChunk: _on_chunk,
    more_events.ReasoningMessageChunk: _on_chunk,
    agui.Custom: _on_custom,
    agui.RunFinished: _on_run_finished,
    agui.RunError: _on_run_error,
    more_events.MessagesSnapshot: _on_messages,
    more_events.StateSnapshot: _on_state,
    more_events.StateDelta: _on_state_delta,
    agui.UnknownAguiEvent: _on_unknown,
    **dict.fromkeys(
        (
            agui.RunStarted,
            agui.StepStarted,
            more_events.ReasoningStart,
            more_events.ReasoningMessageEnd,
            more_events.ReasoningEnd,
            more_events.ActivitySnapshot,
            more_events.ActivityDelta,
            more_events.RawAguiEvent,
            more_events.SubagentStarted,
            more_events.SubagentFinished,
            more_events.SubagentError,
        ),
        _on_nothing,
    ),
}
