"""UIMessages → model messages → UIMessages loses nothing; through a provider's request, nothing that it has a place for."""

import json
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.recordings import each_provider
from tests.kit.sdk_types import check_request
from tests.kit.ui_messages import any_ui_messages, whole_ui_messages
from turnwire.messages.model_messages import make_request, read_request, to_model_messages, to_ui_messages
from turnwire.messages.ui import ToolCallPart, ToolResultPart, UIMessage

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure


@patient
@given(any_ui_messages())
def test_nothing_is_lost_or_changes_places(messages: list[UIMessage]) -> None:
    """Ids, states, approvals, provider data, the steps of thinking: all of it comes back as it was."""
    assert list(to_ui_messages(to_model_messages(messages))) == messages


@patient
@given(any_ui_messages())
def test_no_segment_mixes_what_was_said_with_what_was_answered(messages: list[UIMessage]) -> None:
    """A tool's message holds results alone; an assistant's holds none, and never stands next to one of its own."""
    told = to_model_messages(messages)
    for message in told:
        results = [isinstance(part, ToolResultPart) for part in message.parts]
        assert all(results) if message.role == "tool" else message.role != "assistant" or not any(results)
    for one, next_one in pairwise(told):
        assert (one.message_id, one.role) != (next_one.message_id, next_one.role)


@each_provider
@patient
@given(data=st.data())
def test_a_request_comes_back_as_the_conversation_it_was(provider: str, data: st.DataObject) -> None:
    """What the provider has a place for comes back as it was, sealed data, media and failures included."""
    messages = data.draw(whole_ui_messages(provider))
    request = json.loads(json.dumps(make_request(provider, messages)))
    check_request(provider, request)
    assert list(read_request(provider, request)) == messages


@each_provider
@patient
@given(messages=any_ui_messages())
def test_any_conversation_makes_a_request_that_can_be_made_again(provider: str, messages: list[UIMessage]) -> None:
    """Read and written once more it is the same: what a provider has no place for is gone after the first time."""
    request = make_request(provider, messages, unsendable="say")
    check_request(provider, request)
    again = make_request(provider, read_request(provider, request))
    assert again == request


@each_provider
@patient
@given(messages=any_ui_messages())
def test_every_call_of_a_request_has_one_answer(provider: str, messages: list[UIMessage]) -> None:
    """Providers refuse a conversation in which one has none, or two."""
    read = read_request(provider, make_request(provider, messages, pending="leave_out", unsendable="say"))
    calls = [part.id for message in read for part in message.parts if isinstance(part, ToolCallPart)]
    answers = [part.tool_call_id for message in read for part in message.parts if isinstance(part, ToolResultPart)]
    assert sorted(calls) == sorted(set(answers)) == sorted(answers)
