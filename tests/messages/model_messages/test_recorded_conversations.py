"""Every recording, all the way: adapter, AG-UI, conversation, request. What the provider has sealed goes back as it came."""

import json
from typing import Any

import pytest

from tests.kit.recordings import Recording, adapt, each_recording, recording_named
from tests.kit.sdk_types import check_request
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationOptions
from turnwire.messages.agui.codec import Dialect, decode_agui, encode_agui
from turnwire.messages.dialects.events_to_agui import EventsToAgui
from turnwire.messages.events import ItemCancelled, ItemError, StreamEvent
from turnwire.messages.model_messages import NO_RESULT, make_request, read_request
from turnwire.messages.providers.replay import anthropic_messages, chat_messages, items_to_replay, responses_input
from turnwire.messages.ui import ToolCallPart, UIMessage
from turnwire.messages.ui_codec import decode_ui_messages, encode_ui_messages

REPLAYS = {"anthropic-messages": anthropic_messages, "openai-responses": responses_input, "openai-chat": chat_messages}
BOTH_DIALECTS = pytest.mark.parametrize("dialect", ["canonical", "1.0"])
BOTH_WAYS = pytest.mark.parametrize("thinking", ["message", "step"])


def conversation(events: list[StreamEvent], thinking: str, dialect: Dialect = "canonical") -> tuple[UIMessage, ...]:
    """Give what a conversation shows of a run, after a trip over the wire and one through a store."""
    converter = EventsToAgui(dialect=dialect, provider_data=True)
    told = [*(each for event in events for each in converter.push(event)), *converter.finish()]
    machine = ConversationMachine(ConversationOptions(thinking=thinking))  # type: ignore[arg-type]  # one of the two
    machine.process(decode_agui(encode_agui(event, dialect=dialect)) for event in told)
    return decode_ui_messages(encode_ui_messages(machine.messages))


def entries(provider: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Give what of a request the model said: no answers of tools."""
    told = request["input"] if provider == "openai-responses" else request["messages"]
    return [entry for entry in told if NO_RESULT not in json.dumps(entry)]


@BOTH_WAYS
@BOTH_DIALECTS
@each_recording
def test_a_recorded_response_goes_back_as_its_replay_would(
    recording: Recording, dialect: Dialect, thinking: str
) -> None:
    """The conversation between makes no difference: the next request is the one that the items themselves make."""
    events = adapt(recording.provider, recording.events)
    messages = conversation(events, thinking, dialect)
    request = make_request(recording.provider, messages)
    check_request(recording.provider, request)
    if any(isinstance(event.payload, ItemError | ItemCancelled) for event in events):
        return  # a conversation shows what failed or was taken back; a replay leaves it out
    told = entries(recording.provider, request)
    expected = REPLAYS[recording.provider](items_to_replay(events))
    if recording.name == "reasoning-raw-openrouter":
        told.reverse()  # its items interleave: a replay goes by their ends, a conversation by their beginnings
    assert told == expected


@each_recording
def test_a_request_that_was_stored_can_be_read_again(recording: Recording) -> None:
    """Read and made once more, it is the same request."""
    messages = conversation(adapt(recording.provider, recording.events), "step")
    request = json.loads(json.dumps(make_request(recording.provider, messages)))
    assert make_request(recording.provider, read_request(recording.provider, request)) == request


def test_thinking_between_tools_goes_back_between_them() -> None:
    """One part shows all thinking; each signature goes back to where it was thought."""
    recording = recording_named("anthropic-messages", "thinking-adaptive-interleaved")
    messages = conversation(adapt(recording.provider, recording.events), "message")
    assert len([part for part in messages[0].parts if part.provider_data and "steps" in part.provider_data]) == 1
    (entry,) = make_request(recording.provider, messages)["messages"]
    kinds = [block["type"] for block in entry["content"]]
    given = [event["content_block"]["type"] for event in recording.events if event["type"] == "content_block_start"]
    assert kinds == given


def test_some_recordings_call_tools() -> None:
    """The tests above have seen calls, and calls that nobody answered."""
    recording = recording_named("anthropic-messages", "tool-parallel-2")
    messages = conversation(adapt(recording.provider, recording.events), "message")
    assert sum(isinstance(part, ToolCallPart) for part in messages[0].parts) == 2
    assert NO_RESULT in json.dumps(make_request(recording.provider, messages))
