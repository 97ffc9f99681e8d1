"""UIMessages ⇄ JSON."""

import json
from typing import Any

import pytest

from turnwire.messages import (
    SavedConversation,
    UIMessage,
    decode_saved,
    decode_ui_message,
    encode_saved,
    encode_ui_message,
)
from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import Usage
from turnwire.messages.ui import (
    Approval,
    CalledTool,
    MediaPart,
    ProcessorResult,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from turnwire.messages.ui_codec import unstructure_result, unstructure_ui_message

MESSAGE = UIMessage(
    id="a",
    role="assistant",
    created_at=17,
    provider_data={"encryptedValues": {"x": "y"}},
    parts=(
        ThinkingPart(content="Hm", provider_data={"steps": [{"stepId": "s", "content": "Hm", "signature": "sig"}]}),
        TextPart(content="So"),
        ToolCallPart(
            id="c",
            name="n",
            arguments="null",
            state="complete",
            input=None,
            output=None,
            approval=Approval(id="q", approved=True),
        ),
        ToolResultPart(tool_call_id="c", content="null", state="error", error="no"),
        MediaPart(
            kind="audio", source=MediaSource(type="data", value="AA==", mime_type="audio/ogg"), metadata={"s": 3}
        ),
    ),
)


def test_a_message_comes_back_as_it_was() -> None:
    assert decode_ui_message(encode_ui_message(MESSAGE)) == MESSAGE


def test_the_wire_is_camel_case_and_leaves_out_what_is_absent() -> None:
    wire = json.loads(encode_ui_message(MESSAGE))
    assert list(wire) == ["id", "role", "parts", "createdAt", "providerData"]
    assert wire["parts"][1:] == [
        {"type": "text", "content": "So"},
        {
            "type": "tool-call", "id": "c", "name": "n", "arguments": "null", "state": "complete", "input": None, "output": None,
            "approval": {"id": "q", "needsApproval": True, "approved": True},
        },
        {"type": "tool-result", "toolCallId": "c", "content": "null", "state": "error", "error": "no"},
        {"type": "audio", "source": {"type": "data", "value": "AA==", "mimeType": "audio/ogg"}, "metadata": {"s": 3}},
    ]  # fmt: skip
    call = ToolCallPart(id="c", name="n", arguments="", state="awaiting-input")
    (bare,) = unstructure_ui_message(UIMessage(id="a", role="assistant", parts=(call,)))["parts"]
    assert bare == {"type": "tool-call", "id": "c", "name": "n", "arguments": "", "state": "awaiting-input"}


MALFORMED: list[tuple[list[Any], str]] = [
    ([{"type": "text"}], "$.parts[0].content"),
    ([{"type": "smell"}], "$.parts[0].type"),
    ([{"content": "x"}], "$.parts[0].type"),
    ([5], "$.parts[0]"),
    ([{"type": "tool-call", "id": "c", "name": "n", "arguments": "", "state": "lost"}], "$.parts[0].state"),
    (
        [{"type": "tool-call", "id": "c", "name": "n", "arguments": "", "state": "complete", "approval": {}}],
        "$.parts[0].approval.id",
    ),
]


@pytest.mark.parametrize(("parts", "path"), MALFORMED)
def test_a_malformed_message_is_an_error_that_says_where(parts: list[Any], path: str) -> None:
    with pytest.raises(InvalidEventError) as caught:
        decode_ui_message(json.dumps({"id": "a", "role": "user", "parts": parts}))
    assert caught.value.path == path
    with pytest.raises(InvalidEventError, match="not JSON"):
        decode_ui_message("x")


def test_a_result_says_what_there_is_to_say() -> None:
    assert unstructure_result(ProcessorResult()) == {"content": "", "finishReason": None}
    full = ProcessorResult(
        content="x", thinking="y", tool_calls=(CalledTool(id="c", name="n", arguments="{}"),), finish_reason="stop",
        usage=Usage(prompt_tokens=1, total_tokens=2),
    )  # fmt: skip
    wire = unstructure_result(full)
    assert wire == {
        "content": "x", "thinking": "y", "toolCalls": [{"id": "c", "name": "n", "arguments": "{}"}], "finishReason": "stop",
        "usage": {"promptTokens": 1, "totalTokens": 2},
    }  # fmt: skip


def test_a_saved_conversation_comes_back_as_it_was() -> None:
    saved = SavedConversation(messages=(MESSAGE,), state={"a": [1]})
    assert decode_saved(encode_saved(saved)) == saved
    assert decode_saved("{}") == SavedConversation()
