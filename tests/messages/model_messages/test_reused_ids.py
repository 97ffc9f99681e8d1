"""Hosts that number their calls anew in each turn: each call keeps its own arguments and its own answer."""

from typing import Any

import pytest

from turnwire.messages.model_messages import make_request, read_request
from turnwire.messages.ui import Part, TextPart, ToolCallPart, ToolResultPart, UIMessage

each_format = pytest.mark.parametrize("provider", ["anthropic-messages", "openai-chat", "openai-responses"])


def called(number: int, **more: Any) -> ToolCallPart:
    arguments = f'{{"a":{number}}}'
    return ToolCallPart(
        id="call_0", name="look", arguments=arguments, state="complete", input={"a": number}, output=number, **more
    )


def turn(number: int, *parts: Part) -> list[UIMessage]:
    asked = UIMessage(id=f"u{number}", role="user", parts=(TextPart(content="And now?"),))
    return [asked, UIMessage(id=f"a{number}", role="assistant", parts=parts)]


def result(number: int) -> ToolResultPart:
    return ToolResultPart(tool_call_id="call_0", content=str(number), state="complete")


@each_format
def test_each_call_of_a_reused_id_has_its_own_answer(provider: Any) -> None:
    conversation = [*turn(1, called(1), result(1)), *turn(2, called(2), result(2)), *turn(3, called(3), result(3))]
    again = read_request(provider, make_request(provider, conversation))
    assert [message.parts for message in again] == [message.parts for message in conversation]


@each_format
def test_the_last_call_of_a_reused_id_may_still_wait(provider: Any) -> None:
    waits = ToolCallPart(id="call_0", name="look", arguments="{}", state="input-complete", input={})
    conversation = [*turn(1, called(1), result(1)), *turn(2, waits)]
    again = read_request(provider, make_request(provider, conversation))
    assert [message.parts for message in again] == [message.parts for message in conversation]


@each_format
def test_a_call_that_is_repeated_unanswered_is_told_once(provider: Any) -> None:
    conversation = turn(1, called(1), called(1), result(1))
    again = read_request(provider, make_request(provider, conversation))
    assert again[1].parts == (called(1), result(1))
