"""One model adapter serves turns and conversations: its StreamEvents, as AG-UI, drive the rules of a conversation."""

from typing import get_args

import pytest

from tests.kit.recordings import Recording, adapt, each_recording
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.messages import fold_events
from turnwire.messages.agui.codec import Dialect
from turnwire.messages.dialects import events_to_agui
from turnwire.messages.ui import ToolCallPart

each_dialect = pytest.mark.parametrize("dialect", get_args(Dialect))


@each_dialect
@each_recording
def test_a_conversation_says_what_the_provider_said(recording: Recording, dialect: Dialect) -> None:
    """Text, thinking and calls are those of the response; a call that failed is an error and cannot run."""
    events = adapt(recording.provider, recording.events, prompt="Hello")
    items = [item for item in fold_events(events).items if item.origin != "user"]
    conversation = ConversationMachine()
    result = conversation.process(events_to_agui(events, dialect=dialect))
    assert result.content == "".join(item.text for item in items if item.item_type == "message")
    assert result.thinking == "".join(item.text for item in items if item.item_type == "reasoning")
    calls = [item for item in items if item.item_type == "function_call"]
    assert [(call.name, call.arguments) for call in result.tool_calls] == [(item.name, item.text) for item in calls]
    parts = [part for message in conversation.messages for part in message.parts if isinstance(part, ToolCallPart)]
    assert [part.state == "error" for part in parts] == [item.state != "done" for item in calls]
    assert conversation.counts == {}
