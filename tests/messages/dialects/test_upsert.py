"""The outputs of a turn as the older item_upsert objects."""

from typing import Any

import pytest

from turnwire.messages import Message, Output, Thinking, ToolCall, TurnComplete, TurnError, TurnStarted
from turnwire.messages.dialects import OutputsToUpsert, outputs_to_upsert
from turnwire.messages.outputs import TurnFailure, TurnUsage

IDS: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
WIRE_IDS = {"turnId": "t", "threadId": "th"}
ITEM = {"type": "item_upsert", "payloadType": "item_upsert"}


def call(status: Any, **more: Any) -> ToolCall:
    said: dict[str, Any] = {"content": "", "tool_name": "look", "tool_arguments": {"a": 1}, "call_id": "c", **more}
    return ToolCall(**IDS, item_id="i", status=status, **said)


@pytest.mark.parametrize(
    ("status", "change"), [("create", "created"), ("update", "updated"), ("complete", "completed")]
)
def test_a_message_says_how_it_changed(status: Any, change: str) -> None:
    """The status is the change type; all else is as the output has it."""
    output = Message(**IDS, item_id="m", status=status, content="Hi", origin="agent")
    assert OutputsToUpsert().push(output) == [
        {
            **ITEM,
            **WIRE_IDS,
            "changeType": change,
            "itemType": "message",
            "itemId": "m",
            "content": "Hi",
            "origin": "agent",
        }
    ]


def test_thinking_is_reasoning() -> None:
    """It keeps the name of the provider."""
    output = Thinking(**IDS, item_id="r", status="update", content="Hm", provider_id="acme")
    (told,) = OutputsToUpsert().push(output)
    assert (told["itemType"], told["changeType"], told["providerId"]) == ("reasoning", "updated", "acme")


def test_a_call_and_its_output_are_two_items_that_are_completed() -> None:
    """Under one item id, with name and arguments in both."""
    asked, answered = outputs_to_upsert([call("create"), call("complete", tool_output=[4], success=True)])
    common: dict[str, Any] = {
        **ITEM,
        **WIRE_IDS,
        "changeType": "completed",
        "itemId": "i",
        "content": "",
        "callId": "c",
    }
    common |= {"toolName": "look", "toolArguments": {"a": 1}}
    assert asked == {**common, "itemType": "tool_call"}
    assert answered == {**common, "itemType": "tool_output", "toolOutput": [4], "success": True}


@pytest.mark.parametrize(
    "failed",
    [
        Message(
            **IDS, item_id="x", status="error", content="so far", origin="agent", error_code="E", error_message="m"
        ),
        Thinking(
            **IDS, item_id="x", status="error", content="so far", provider_id="", error_code="E", error_message="m"
        ),
        call("error", error_code="E", error_message="m"),
    ],
)
def test_whatever_fails_is_a_completed_error(failed: Output) -> None:
    """With its code and message, and what there was of it."""
    (told,) = OutputsToUpsert().push(failed)
    assert (told["itemType"], told["changeType"]) == ("error", "completed")
    assert (told["errorCode"], told["errorMessage"]) == ("E", "m")
    assert "status" not in told


def test_the_turn_is_told_as_it_was() -> None:
    """Its start, its end and its failure, each under the older name."""
    usage = TurnUsage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    told = outputs_to_upsert(
        [
            TurnStarted(**IDS, model_id="m1"),
            TurnComplete(**IDS, status="aborted", usage=usage),
            TurnError(**IDS, error=TurnFailure(code="E", message="broke")),
        ]
    )
    tokens = {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3}
    assert told == [
        {"type": "turn_started", "payloadType": "turn_started", **WIRE_IDS, "modelId": "m1"},
        {"type": "turn_completed", "payloadType": "turn_completed", **WIRE_IDS, "status": "aborted", "usage": tokens},
        {"type": "turn_error", "payloadType": "turn_error", **WIRE_IDS, "error": {"code": "E", "message": "broke"}},
    ]
    assert OutputsToUpsert().finish() == []
