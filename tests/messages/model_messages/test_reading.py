"""A provider's stored request becomes a conversation, and says where it cannot."""

from typing import Any

import pytest

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import UnreadableRequestError
from turnwire.messages.model_messages import NO_RESULT, make_request, read_request
from turnwire.messages.ui import MediaPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

Json = dict[str, Any]

ANTHROPIC: Json = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "thinking", "thinking": "Hm", "signature": "sig"},
                {"type": "text", "text": "It is "},
                {"type": "text", "text": "here", "citations": [{"type": "char_location", "cited_text": "here"}]},
                {"type": "tool_use", "id": "1", "name": "look", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": [{"type": "text", "text": "4"}],
                    "is_error": True,
                },
                {"type": "text", "text": "And?"},
                {"type": "search_result", "source": "x", "title": "y", "content": []},
            ],
        },
    ],
}


def test_an_anthropic_history_becomes_a_conversation() -> None:
    """One assistant's message for the run; what only the API reads is beside what it stood before."""
    system, user, assistant, last = read_request("anthropic-messages", ANTHROPIC)
    assert [system.role, user.role, assistant.role, last.role] == ["system", "user", "assistant", "user"]
    thinking, text, call, result = assistant.parts
    sealed = {"type": "redacted_thinking", "data": "sealed"}
    assert isinstance(thinking, ThinkingPart)
    assert thinking.provider_data is not None
    assert thinking.provider_data["before"] == [sealed]
    assert isinstance(text, TextPart)
    assert text.content == "It is here"
    assert isinstance(call, ToolCallPart)
    assert (call.state, call.input, call.output) == ("error", {"a": 1}, 4)
    assert isinstance(result, ToolResultPart)
    assert (result.state, result.content) == ("error", "4")
    assert [type(part) for part in last.parts] == [TextPart, TextPart]


def test_what_was_read_is_written_as_it_was() -> None:
    """Blocks that we do not understand included; a plain string is a block of text."""
    request = make_request("anthropic-messages", read_request("anthropic-messages", ANTHROPIC))
    assert request["system"] == [{"type": "text", "text": "Be brief."}]
    assert request["messages"][1:2] == ANTHROPIC["messages"][1:2]
    result, *rest = ANTHROPIC["messages"][2]["content"]
    assert [message["content"] for message in request["messages"][2:]] == [[result], rest]


def test_a_result_that_says_there_is_none_is_none() -> None:
    """Written for a provider's sake; the conversation knows that the call still waits."""
    answered: Json = {"messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": NO_RESULT},
    ]}  # fmt: skip
    (message,) = read_request("openai-chat", answered)
    (call,) = message.parts
    assert isinstance(call, ToolCallPart)
    assert call.state == "input-complete"
    assert make_request("openai-chat", [message]) == answered


def test_marks_for_a_cache_are_for_one_request() -> None:
    """They are dropped: a provider takes a few, and a history would keep them all."""
    block = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    messages = read_request("anthropic-messages", {"messages": [{"role": "user", "content": [block]}]})
    assert messages[0].parts == (TextPart(content="Hi"),)


def test_a_responses_history_keeps_what_it_does_not_understand() -> None:
    """Sealed reasoning, server tools and references go back in front of what they stood before."""
    given: list[Json] = [
        {"role": "user", "content": "Look."},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "message", "id": "m", "role": "assistant", "status": "incomplete",
         "content": [{"type": "output_text", "text": "It", "annotations": []}, {"type": "refusal", "refusal": " No."}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "1"}]},
        {"type": "item_reference", "id": "z"},
    ]  # fmt: skip
    user, assistant = read_request("openai-responses", {"input": given})
    assert [type(part) for part in assistant.parts] == [TextPart, ToolCallPart, ToolResultPart, ThinkingPart]
    assert isinstance(assistant.parts[0], TextPart)
    assert assistant.parts[0].content == "It No."
    told = make_request("openai-responses", [user, assistant])["input"]
    assert told == [{"type": "message", **given[0]}, *given[1:]]


def test_a_plain_input_is_the_users() -> None:
    """As the Responses API takes it."""
    (message,) = read_request("openai-responses", {"input": "Hi"}, new_id=lambda: "mine")
    assert (message.id, message.role, message.parts) == ("mine", "user", (TextPart(content="Hi"),))


def test_a_chat_history_keeps_refusals_custom_calls_and_lists() -> None:
    """Each is written again as it was."""
    assistant: Json = {
        "role": "assistant",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "ZZ"}],
        "content": [{"type": "text", "text": "Hm."}, {"type": "refusal", "refusal": "No."}],
        "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}],
    }
    tool = {
        "role": "tool",
        "tool_call_id": "1",
        "content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}],
    }
    picture = {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "high"}}
    request: Json = {"messages": [{"role": "user", "content": [picture]}, assistant, tool]}
    user, run = read_request("openai-chat", request)
    source = MediaSource(type="url", value="https://x/y")
    assert user.parts == (MediaPart(kind="image", source=source, metadata={"detail": "high"}),)
    assert isinstance(run.parts[-1], ToolResultPart)
    assert run.parts[-1].content == "42"
    assert make_request("openai-chat", [user, run]) == request


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("anthropic-messages", {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}),
        ("openai-chat", {"role": "assistant", "reasoning_details": [{"data": "x"}], "content": ""}),
    ],
)
def test_sealed_data_at_the_end_has_a_part_of_its_own(provider: str, said: Json) -> None:
    """There is nothing behind it that could carry it."""
    (message,) = read_request(provider, {"messages": [said]})
    assert [type(part) for part in message.parts] == [ThinkingPart]
    assert make_request(provider, [message])["messages"] == [said]


def test_answers_of_one_segment_are_of_one_message() -> None:
    """Chat has a message for each; the conversation has one for the run."""
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in "ab"]
    tools: list[Json] = [{"role": "tool", "tool_call_id": name, "content": name} for name in "ab"]
    request: Json = {"messages": [{"role": "assistant", "tool_calls": calls}, *tools]}
    (message,) = read_request("openai-chat", request)
    assert len(message.parts) == 4
    assert make_request("openai-chat", [message]) == request


def test_a_data_url_without_a_type_stays_a_url() -> None:
    """Data of an unknown type could be sent nowhere else."""
    picture = {"type": "image_url", "image_url": {"url": "data:;base64,aGk="}}
    (message,) = read_request("openai-chat", {"messages": [{"role": "user", "content": [picture]}]})
    assert message.parts == (MediaPart(kind="image", source=MediaSource(type="url", value="data:;base64,aGk=")),)


def test_thoughts_of_a_chat_history_are_shown() -> None:
    """Hosts that send them in plain text do not want them back."""
    message = {"role": "assistant", "reasoning_content": "Hm", "content": "Yes."}
    (read,) = read_request("openai-chat", {"messages": [message]})
    assert read.parts == (ThinkingPart(content="Hm"), TextPart(content="Yes."))


def test_an_assistant_that_speaks_twice_has_two_messages() -> None:
    """No tool's answer is between them, so they were two runs."""
    said: list[Json] = [{"role": "assistant", "content": "One."}, {"role": "assistant", "content": "Two."}]
    assert len(read_request("openai-chat", {"messages": said})) == 2


WRONG: list[tuple[str, Json, str]] = [
        ("anthropic-messages", {}, r"\$.messages: expected an array, got null"),
        ("anthropic-messages", {"messages": [1]}, r"\$.messages\[0\]: expected an object, got a number"),
        ("anthropic-messages", {"messages": [{"role": "tool", "content": ""}]}, r"\$.messages\[0\].role: expected user"),
        ("anthropic-messages", {"messages": [{"role": "assistant", "content": [{"type": "text"}]}]},
         r"\$.messages\[0\].content\[0\].text: expected a string, got null"),
        ("anthropic-messages", {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "", "content": ""}]}]},
         r"content\[0\].tool_use_id: expected an id, got an empty string"),
        ("openai-chat", {"messages": [{"role": "function", "name": "f", "content": ""}]}, r"\[0\].role: expected system, .* got 'function'"),
        ("openai-chat", {"messages": [{"role": "assistant", "function_call": {"name": "f"}}]}, r"\[0\].function_call: expected tool_calls"),
        ("openai-chat", {"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {}}]}]}, r"tool_calls\[0\].function.name"),
        ("openai-responses", {"input": [{"role": "robot", "content": ""}]}, r"\$.input\[0\].role: expected user"),
        ("openai-responses", {"input": [{"type": "function_call_output", "call_id": "1", "output": 3}]}, r"\[0\].output: expected a string or"),
        ("openai-responses", {"input": [{"role": "assistant", "content": []}]}, r"\[0\].content: expected a text"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_", "problem"), WRONG)
def test_what_is_no_request_is_an_error_that_says_where(provider: str, request_: Json, problem: str) -> None:
    """The path names the place in the request."""
    with pytest.raises(UnreadableRequestError, match=problem):
        read_request(provider, request_)
