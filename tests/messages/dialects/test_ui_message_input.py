"""What the AI SDK's client sends: read into a conversation, and refused with its place where it is none."""

from typing import Any

import pytest

from turnwire.messages.dialects.ui_message_input import read_chat_messages
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.runs import ApprovalAnswer
from turnwire.messages.ui import MediaPart, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart


def parts_of(*parts: dict[str, Any], role: str = "assistant") -> tuple[Part, ...]:
    chat = read_chat_messages([{"id": "m", "role": role, "parts": list(parts)}])
    return chat.messages[0].parts


def tool(state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-look", "toolCallId": "c", "state": state, "input": {"at": "this"}, **more}


def test_text_and_thinking_are_read_and_the_views_own_parts_are_left_out() -> None:
    """Steps, sources and data are for the client's eyes."""
    assert parts_of(
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm", "state": "done"},
        {"type": "text", "text": "Hello", "state": "done"},
        {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
        {"type": "data-weather", "data": {}},
    ) == (ThinkingPart(content="hm"), TextPart(content="Hello"))


@pytest.mark.parametrize(
    ("media", "kind"),
    [("image/png", "image"), ("audio/wav", "audio"), ("video/mp4", "video"), ("text/csv", "document")],
)
def test_files_are_media(media: str, kind: str) -> None:
    """Inline ones by their bytes, others by their address."""
    inline, linked = parts_of(
        {"type": "file", "mediaType": media, "url": f"data:{media};base64,QUJD"},
        {"type": "file", "mediaType": media, "url": "https://example.org/x"},
        role="user",
    )
    assert isinstance(inline, MediaPart)
    assert isinstance(linked, MediaPart)
    assert (inline.kind, inline.source.type, inline.source.value) == (kind, "data", "QUJD")
    assert (linked.kind, linked.source.type, linked.source.value) == (kind, "url", "https://example.org/x")


@pytest.mark.parametrize(
    ("part", "state", "result"),
    [
        (tool("input-streaming"), "input-streaming", None),
        (tool("input-available"), "input-complete", None),
        (tool("approval-requested", approval={"id": "a"}), "approval-requested", None),
        (tool("output-available", output={"found": 1}), "complete", '{"found":1}'),
        (tool("output-available", output="as it is"), "complete", "as it is"),
        (tool("output-error", errorText="no such thing"), "error", "no such thing"),
        (tool("output-denied", approval={"id": "a", "approved": False}), "error", "the user did not allow this"),
    ],
)
def test_a_tool_is_a_call_and_what_came_of_it(part: dict[str, Any], state: str, result: str | None) -> None:
    """Whatever state the client has it in; dynamic tools too."""
    for named in (part, {**part, "type": "dynamic-tool", "toolName": "look"}):
        call, *results = parts_of(named)
        assert isinstance(call, ToolCallPart)
        assert (call.id, call.name, call.arguments, call.state) == ("c", "look", '{"at":"this"}', state)
        texts = [it.content for it in results if isinstance(it, ToolResultPart)]
        assert texts == ([] if result is None else [result])


def test_the_users_word_on_an_approval_is_an_answer() -> None:
    """Only what was responded to just now; the call itself waits on until it counts."""
    parts = [
        tool("approval-responded", approval={"id": "a", "approved": True}),
        tool("approval-responded", approval={"id": "b", "approved": False}),
        tool("approval-requested", approval={"id": "c"}),
        tool("output-available", output=1, approval={"id": "d", "approved": True}),
    ]
    chat = read_chat_messages([{"id": "m", "role": "assistant", "parts": parts}])
    assert chat.answers == (
        ApprovalAnswer(approval_id="a", approved=True),
        ApprovalAnswer(approval_id="b", approved=False),
    )


WRONG: list[tuple[Any, str]] = [
    (None, "$.messages"),
    ({}, "$.messages"),
    ([1], "$.messages[0]"),
    ([{"id": "", "role": "user", "parts": []}], "$.messages[0].id"),
    ([{"id": "m", "role": "tool", "parts": []}], "$.messages[0].role"),
    ([{"id": "m", "role": "user"}], "$.messages[0].parts"),
    ([{"id": "m", "role": "user", "parts": [{}]}], "$.messages[0].parts[0].type"),
    ([{"id": "m", "role": "user", "parts": [{"type": "text", "text": 1}]}], "$.messages[0].parts[0].text"),
    ([{"id": "m", "role": "user", "parts": [{"type": "file", "url": "x"}]}], "$.messages[0].parts[0].mediaType"),
    ([{"id": "m", "role": "user", "parts": [tool("dancing")]}], "$.messages[0].parts[0].state"),
    (
        [{"id": "m", "role": "user", "parts": [{**tool("input-available"), "type": "dynamic-tool"}]}],
        "$.messages[0].parts[0].toolName",
    ),
]


@pytest.mark.parametrize(("document", "path"), WRONG)
def test_what_is_no_message_is_refused_with_its_place(document: object, path: str) -> None:
    """The client's developer finds it by the path."""
    with pytest.raises(InvalidEventError) as caught:
        read_chat_messages(document)
    assert caught.value.path == path
