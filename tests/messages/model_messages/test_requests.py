"""What each provider is told of a conversation, part by part."""

from typing import Any

import pytest

from tests.kit.sdk_types import check_request
from turnwire.messages.agui.messages import MediaKind, MediaSource
from turnwire.messages.errors import UnsendableError
from turnwire.messages.model_messages import DENIED, NO_RESULT, make_request, to_model_messages, to_ui_messages
from turnwire.messages.ui import (
    Approval,
    MediaPart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolCallState,
    ToolResultPart,
    UIMessage,
)

PROVIDERS = ("anthropic-messages", "openai-chat", "openai-responses")
each_format = pytest.mark.parametrize("provider", PROVIDERS)


def user(*parts: Part) -> UIMessage:
    return UIMessage(id="u", role="user", parts=parts)


def assistant(*parts: Part, message_id: str = "a") -> UIMessage:
    return UIMessage(id=message_id, role="assistant", parts=parts)


def text(content: str) -> TextPart:
    return TextPart(content=content)


def call(call_id: str, state: ToolCallState = "complete", **more: Any) -> ToolCallPart:
    return ToolCallPart(id=call_id, name="look", arguments='{"a": 1}', state=state, **more)


def answer(call_id: str, content: str = "42", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call_id, content=content, state=more.pop("state", "complete"), **more)


def medium(kind: MediaKind, source: str, value: str, mime_type: str | None = None, **more: Any) -> MediaPart:
    made = MediaSource(type=source, value=value, mime_type=mime_type)  # type: ignore[arg-type]  # one of the three
    return MediaPart(kind=kind, source=made, **more)


def request_for(provider: str, *messages: UIMessage, **options: Any) -> dict[str, Any]:
    """Make a request that its SDK would take."""
    request = make_request(provider, messages, **options)
    check_request(provider, request)
    return request


def answers_in(provider: str, request: dict[str, Any]) -> list[tuple[str, str]]:
    """Give (call id, answer) of a request, in order."""
    match provider:
        case "openai-responses":
            told = [entry for entry in request["input"] if entry.get("type") == "function_call_output"]
            return [(entry["call_id"], entry["output"]) for entry in told]
        case "openai-chat":
            told = [entry for entry in request["messages"] if entry["role"] == "tool"]
            return [(entry["tool_call_id"], entry["content"]) for entry in told]
        case _:
            blocks = [block for entry in request["messages"] for block in entry["content"]]
            told = [block for block in blocks if block["type"] == "tool_result"]
            return [(block["tool_use_id"], block["content"]) for block in told]


def test_a_new_segment_begins_at_each_result() -> None:
    """What an assistant says behind a result is a message of its own; parallel answers are one."""
    told = to_model_messages([assistant(text("Hm"), call("1"), call("2"), answer("2"), answer("1"), text("So."))])
    assert [(message.role, len(message.parts)) for message in told] == [("assistant", 3), ("tool", 2), ("assistant", 1)]


LOOP = (
    UIMessage(id="s", role="system", parts=(text("Be brief."),)),
    user(text("Look.")),
    assistant(text("I look."), call("1"), answer("1"), text("It is 42.")),
)


def test_a_loop_for_anthropic() -> None:
    """The system's words stand apart, answers are the user's."""
    assert request_for("anthropic-messages", *LOOP) == {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "1", "name": "look", "input": {"a": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "42"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is 42."}]},
        ],
    }


def test_a_loop_for_chat() -> None:
    """Each answer is a message."""
    function = {"name": "look", "arguments": '{"a": 1}'}
    calls = [{"id": "1", "type": "function", "function": function}]
    assert request_for("openai-chat", *LOOP)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "I look.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {"role": "assistant", "content": "It is 42."},
    ]


def test_a_loop_for_responses() -> None:
    """Everything is an item."""
    assert request_for("openai-responses", *LOOP)["input"] == [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": "Look."},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "42"},
        {"type": "message", "role": "assistant", "content": "It is 42."},
    ]


def test_later_words_of_the_system_keep_their_place() -> None:
    """Only what is said before anybody else speaks is Anthropic's `system`."""
    later = UIMessage(id="d", role="developer", parts=(text("Now in French."),))
    told = request_for("anthropic-messages", user(text("Hi")), later)
    assert "system" not in told
    assert [message["role"] for message in told["messages"]] == ["user", "system"]
    assert request_for("openai-chat", later)["messages"][0]["role"] == "developer"


# Calls and their answers


@each_format
def test_a_call_that_waits_is_answered_by_saying_so(provider: str) -> None:
    """Or left out, or refused: as the caller wants."""
    messages = (assistant(text("Hm"), call("1", "approval-requested", approval=Approval(id="p"))), user(text("And?")))
    assert answers_in(provider, request_for(provider, *messages)) == [("1", NO_RESULT)]
    assert "look" not in str(request_for(provider, *messages, pending="leave_out"))
    with pytest.raises(UnsendableError, match=r"message a: tool call 1 \(look\) has no result") as caught:
        make_request(provider, messages, pending="refuse")
    assert caught.value.message_id == "a"


@each_format
def test_a_denied_call_is_answered_by_saying_that_it_was(provider: str) -> None:
    """Whether or not calls that wait are."""
    denied = call("1", "approval-responded", approval=Approval(id="p", approved=False))
    for pending in ("answer", "refuse"):
        assert answers_in(provider, request_for(provider, assistant(denied), pending=pending)) == [("1", DENIED)]


@each_format
def test_an_output_without_a_result_part_is_the_answer(provider: str) -> None:
    """As some hosts store it: text as it is, anything else as JSON."""
    messages = assistant(call("1", output="plain"), call("2", output={"n": None}))
    assert answers_in(provider, request_for(provider, messages)) == [("1", "plain"), ("2", '{"n":null}')]


@each_format
def test_a_call_that_was_cut_off_was_not_made(provider: str) -> None:
    """Its arguments never became whole, so nobody can have answered it."""
    half = ToolCallPart(id="1", name="look", arguments='{"a', state="input-streaming")
    told = request_for(provider, assistant(text("Hm"), half), pending="refuse")
    assert "look" not in str(told)
    assert "Hm" in str(told)


@each_format
def test_an_answer_whose_call_was_cut_away_is_left_out(provider: str) -> None:
    """Providers refuse it."""
    assert answers_in(provider, request_for(provider, assistant(answer("1"), text("So.")))) == []


@each_format
def test_a_late_answer_is_moved_up_for_those_who_insist(provider: str) -> None:
    """It came after the approval, behind what was said meanwhile; OpenAI's Responses take it there."""
    messages = assistant(call("1"), call("2"), answer("2", "two"), text("Meanwhile."), answer("1", "one"))
    told = request_for(provider, messages)
    assert answers_in(provider, told) == [("2", "two"), ("1", "one")]
    last = str((told.get("input") or told["messages"])[-1])
    assert ("one" in last) == (provider == "openai-responses")


def test_a_failure_is_marked_where_there_is_a_mark_for_it() -> None:
    """Anthropic has one; the text says it to the others, and the error does if there is no text."""
    failed = assistant(call("1", "error"), answer("1", "", state="error", error="no such place"))
    (_, told) = request_for("anthropic-messages", failed)["messages"]
    assert told["content"] == [
        {"type": "tool_result", "tool_use_id": "1", "content": "no such place", "is_error": True}
    ]
    assert answers_in("openai-chat", request_for("openai-chat", failed)) == [("1", "no such place")]


def test_an_output_of_a_call_that_failed_is_a_failure() -> None:
    """Also where only the call says so."""
    (_, told) = request_for("anthropic-messages", assistant(call("1", "error", output="no")))["messages"]
    assert told["content"][0]["is_error"] is True


@each_format
def test_of_two_answers_the_last_counts_and_of_two_calls_the_first(provider: str) -> None:
    """Providers take one of each (a call that comes again behind its answer is another one; see test_reused_ids)."""
    messages = assistant(call("1"), call("2"), call("1"), answer("1", "old"), answer("2"), answer("1", "new"))
    told = request_for(provider, messages)
    assert answers_in(provider, told) == [("2", "42"), ("1", "new")]
    assert str(told).count("look") == 2


def test_a_tool_that_the_provider_ran_is_its_own() -> None:
    """Its call and its result stay in the assistant's message, as the blocks they were; others are not told of it."""
    block: dict[str, Any] = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    result: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    ran = assistant(
        text("Hm"),
        call("s", provider_data={"format": "anthropic-messages", "block": block, "origin": "provider"}),
        answer("s", provider_data={"format": "anthropic-messages", "block": result, "origin": "provider"}),
        text("So."),
    )
    (message,) = request_for("anthropic-messages", ran)["messages"]
    hm, so = ({"type": "text", "text": said} for said in ("Hm", "So."))
    assert message["content"] == [hm, block, result, so]
    for provider in PROVIDERS[1:]:
        assert "look" not in str(request_for(provider, ran))


# Thinking


def test_thinking_goes_back_to_where_it_was_thought() -> None:
    """One part shows both steps; the second signature stands behind the tool's answer."""
    steps = [
        {"stepId": "1", "content": "First. ", "signature": "sig-1"},
        {"stepId": "2", "content": "Then.", "signature": "sig-2", "at": 3},
    ]
    thinking = ThinkingPart(content="First. Then.", provider_data={"steps": steps})
    told = request_for("anthropic-messages", assistant(thinking, call("1"), answer("1"), text("So.")))["messages"]
    assert [block.get("signature") for message in told for block in message["content"]] == [
        "sig-1", None, None, "sig-2", None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "steps",
    [
        [{"stepId": "1", "content": "Hm", "signature": "sig", "at": 0}],
        [{"stepId": "1", "content": "Hm", "signature": "sig", "at": 2}],
        [{"stepId": "1", "content": "", "signature": "sig", "at": 2}, {"stepId": "2", "content": "Hm"}],
        [{"stepId": "1", "content": "something else", "signature": "sig"}],
        [{"stepId": "1", "content": "Hm", "signature": "sig"}, "no step"],
    ],
)
def test_steps_that_make_no_sense_stay_with_their_part(steps: list[Any]) -> None:
    """A place before the part, or out of order; contents that are not the part's: the part is where it is shown."""
    odd = assistant(text("One."), ThinkingPart(content="Hm", provider_data={"steps": steps}), text("Two."))
    told = to_model_messages([odd])
    assert [type(part).__name__ for part in told[0].parts] == ["TextPart", "Thought", "TextPart"]
    assert to_ui_messages(told) == (odd,)


def test_what_came_as_an_encrypted_value_is_opened_if_it_is_ours() -> None:
    """AG-UI 1.0 has a field for sealed data, and so our data can travel in it; that of others goes nowhere."""
    block = '{"format":"anthropic-messages","block":{"type":"thinking","thinking":"Hm","signature":"sig"}}'
    extra = '{"format":"anthropic-messages","block":{"caller":{"type":"direct"}}}'
    steps = [
        {"stepId": "1", "content": "Hm", "encryptedValue": block},
        {"stepId": "2", "content": "", "encryptedValue": "?"},
    ]
    thinking = ThinkingPart(content="Hm", provider_data={"steps": steps})
    made = assistant(thinking, call("1", provider_data={"encryptedValue": extra}), answer("1"))
    thought, used = request_for("anthropic-messages", made)["messages"][0]["content"]
    assert (thought["signature"], used["caller"]) == ("sig", {"type": "direct"})


@each_format
def test_thinking_that_nobody_sealed_stays_with_us(provider: str) -> None:
    """Providers refuse thoughts without their seal, and those of another provider."""
    foreign = {"format": "elsewhere", "block": {"secret": "x"}}
    told = request_for(
        provider, assistant(ThinkingPart(content="Hm"), ThinkingPart(content="Hm", provider_data=foreign), text("So."))
    )
    assert "Hm" not in str(told)
    assert "secret" not in str(told)


# Media


PNG = medium("image", "data", "aGk=", "image/png")


@pytest.mark.parametrize(
    ("provider", "part", "told"),
    [
        ("anthropic-messages", PNG, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        ("anthropic-messages", medium("image", "url", "https://x/y"), {"type": "image", "source": {"type": "url", "url": "https://x/y"}}),
        ("anthropic-messages", medium("image", "url", "data:image/png;base64,aGk="),
         {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        ("anthropic-messages", medium("document", "data", "aGk=", "text/plain", metadata={"filename": "n.txt"}),
         {"type": "document", "title": "n.txt", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}}),
        ("anthropic-messages", medium("document", "file", "f1"), {"type": "document", "source": {"type": "file", "file_id": "f1"}}),
        ("openai-chat", PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        ("openai-chat", medium("image", "url", "https://x/y", metadata={"detail": "low"}),
         {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}}),
        ("openai-chat", medium("audio", "data", "aGk=", "audio/mpeg"), {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}),
        ("openai-chat", medium("document", "data", "aGk=", "application/pdf"),
         {"type": "file", "file": {"filename": "document", "file_data": "data:application/pdf;base64,aGk="}}),
        ("openai-responses", PNG, {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}),
        ("openai-responses", medium("document", "url", "https://x/y"), {"type": "input_file", "file_url": "https://x/y"}),
        ("openai-responses", medium("image", "file", "f1"), {"type": "input_image", "detail": "auto", "file_id": "f1"}),
    ],
)  # fmt: skip
def test_media_stand_where_the_provider_has_a_place(provider: str, part: MediaPart, told: dict[str, Any]) -> None:
    """Beside the user's words, in their order."""
    request = request_for(provider, user(text("See:"), part))
    (message,) = request.get("input") or request["messages"]
    assert message["content"][1] == told


@pytest.mark.parametrize(
    ("provider", "part"),
    [
        ("anthropic-messages", medium("audio", "data", "aGk=", "audio/wav")),
        ("anthropic-messages", medium("image", "data", "aGk=", "image/tiff")),
        ("openai-chat", medium("document", "url", "https://x/y")),
        ("openai-chat", medium("audio", "data", "aGk=", "audio/ogg")),
        ("openai-responses", medium("video", "url", "https://x/y")),
        ("openai-responses", medium("image", "data", "aGk=")),
    ],
)
def test_what_a_provider_does_not_take_is_an_error_or_said_in_words(provider: str, part: MediaPart) -> None:
    """Left out silently, the model would answer about what it has not seen."""
    with pytest.raises(UnsendableError, match=f"message u: {provider} takes no .* in a message of the user"):
        make_request(provider, [user(part)])
    assert "could not be shown" in str(request_for(provider, user(part), unsendable="say"))


@each_format
def test_no_provider_takes_media_of_an_assistant(provider: str) -> None:
    """They are the user's alone."""
    with pytest.raises(UnsendableError, match="in a message of the assistant"):
        make_request(provider, [assistant(PNG)])
    assert "could not be shown" in str(request_for(provider, assistant(PNG), unsendable="say"))


@each_format
def test_empty_words_and_the_systems_media_are_not_sent(provider: str) -> None:
    """Providers refuse both; an empty text says nothing, a medium is an error."""
    told = request_for(provider, user(text(""), text("Hi"), text("")))
    assert str(told).count("text") <= 3
    with pytest.raises(UnsendableError, match="in a message of the system"):
        make_request(provider, [UIMessage(id="s", role="system", parts=(PNG,))])


def test_a_file_in_another_store_cannot_be_sent() -> None:
    """Its id means nothing here."""
    stored = MediaPart(kind="image", source=MediaSource(type="file", value="f1", provider="openai"))
    with pytest.raises(UnsendableError, match="file store"):
        make_request("anthropic-messages", [user(stored)])


def test_an_unknown_format_is_named() -> None:
    """With those there are."""
    with pytest.raises(ValueError, match="unknown format 'gemini': expected one of openai-chat, openai-responses"):
        make_request("gemini", [])
