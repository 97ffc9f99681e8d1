"""The outputs of a turn as the AI SDK's UI message stream: the chunks, and what the SDK itself makes of them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actors.core.plays import Play
from tests.kit.responses import responses
from tests.kit.ui_message_client import UiVerdict, ask_sdk, require_sdk
from turnwire.messages import (
    Message,
    Output,
    StreamEvent,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnStarted,
    fold_outputs,
)
from turnwire.messages.dialects import OutputsToUiMessage, outputs_to_ui_message
from turnwire.messages.outputs import TurnFailure, TurnUsage
from turnwire.messages.runs import PendingCall

IDS: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
STARTED = TurnStarted(**IDS, model_id="m1", provider_id="acme")
COMPLETE = TurnComplete(**IDS, status="complete")
DYNAMIC = {"toolCallId": "c", "toolName": "look", "dynamic": True}


def message(status: Any, content: str, item_id: str = "m", **more: Any) -> Message:
    said: dict[str, Any] = {"origin": "agent", **more}
    return Message(**IDS, item_id=item_id, status=status, content=content, **said)


def thinking(status: Any, content: str, item_id: str = "r") -> Thinking:
    return Thinking(**IDS, item_id=item_id, status=status, content=content, provider_id="acme")


def call(status: Any, item_id: str = "i", call_id: str = "c", **more: Any) -> ToolCall:
    said: dict[str, Any] = {"content": "", "tool_name": "look", "tool_arguments": {"a": 1}, **more}
    return ToolCall(**IDS, item_id=item_id, status=status, call_id=call_id, **said)


def converted(*outputs: Output, **options: bool) -> list[dict[str, Any]]:
    """Give the chunks between the first step's start and its end, of a turn that ends by itself."""
    chunks = outputs_to_ui_message((STARTED, *outputs, COMPLETE), **options)
    assert [chunk["type"] for chunk in chunks[:2]] == ["start", "start-step"]
    assert [chunk["type"] for chunk in chunks[-2:]] == ["finish-step", "finish"]
    return chunks[2:-2]


def joined(outputs: list[Output], at: int) -> list[dict[str, Any]]:
    """Give the chunks of a reader who joins at this place, with a snapshot."""
    return outputs_to_ui_message([*fold_outputs(outputs[:at]).outputs, *outputs[at:]])


def test_full_states_become_deltas() -> None:
    """What is new in a state is the end of its text; a state that was told before gives no chunk."""
    states = (
        message("create", "Hel"),
        message("update", "Hello"),
        message("update", "Hello"),
        message("complete", "Hello!"),
    )
    assert converted(*states) == [
        {"type": "text-start", "id": "m"},
        {"type": "text-delta", "id": "m", "delta": "Hel"},
        {"type": "text-delta", "id": "m", "delta": "lo"},
        {"type": "text-delta", "id": "m", "delta": "!"},
        {"type": "text-end", "id": "m"},
    ]


def test_thinking_is_reasoning() -> None:
    """A short thought comes whole."""
    assert converted(thinking("complete", "Hmm")) == [
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "id": "r", "delta": "Hmm"},
        {"type": "reasoning-end", "id": "r"},
    ]


def test_the_start_names_the_turn_and_the_end_its_usage() -> None:
    """The message has the turn's id; tokens are counted in the SDK's words."""
    usage = TurnUsage(prompt_tokens=3, completion_tokens=4, total_tokens=7)
    chunks = outputs_to_ui_message([STARTED, TurnComplete(**IDS, status="complete", usage=usage)])
    ids = {"turnId": "t", "threadId": "th", "modelId": "m1", "providerId": "acme"}
    tokens = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
    assert chunks == [
        {"type": "start", "messageId": "t", "messageMetadata": ids},
        {"type": "start-step"},
        {"type": "finish-step"},
        {"type": "finish", "messageMetadata": {"status": "complete", "usage": tokens}},
    ]


def test_a_call_and_its_output() -> None:
    """Asked for when it is created, answered when it is complete; a reader who missed the first gets both."""
    done = call("complete", tool_output=[4], success=True)
    for states in ((call("create"), done), (done,)):
        assert converted(*states) == [
            {"type": "tool-input-start", **DYNAMIC},
            {"type": "tool-input-available", **DYNAMIC, "input": {"a": 1}},
            {"type": "tool-output-available", "toolCallId": "c", "output": [4], "dynamic": True},
        ]


def test_tools_may_have_types_of_their_own() -> None:
    """Without `dynamic`, the SDK names the part after the tool."""
    chunks = converted(call("complete", tool_output="4"), dynamic_tools=False)
    assert not any("dynamic" in chunk for chunk in chunks)


def test_a_tool_that_failed_and_a_call_that_failed() -> None:
    """An output that is none is an error; so is a call that broke after it was made."""
    asked = call("create")
    *_, told = converted(asked, call("complete", tool_output="no such file", success=False))
    assert (told["type"], told["errorText"]) == ("tool-output-error", "no such file")
    *_, told = converted(asked, call("error", error_code="E", error_message="cut off"))
    assert (told["type"], told["errorText"]) == ("tool-output-error", "cut off")


def test_nobody_is_offered_half_a_call() -> None:
    """A call that failed before it was whole is an input error, never an input that a client's tool may run on."""
    chunks = converted(call("error", tool_arguments={}, content='{"a', error_message="cut off"))
    assert chunks == [
        {"type": "tool-input-start", **DYNAMIC},
        {"type": "tool-input-error", **DYNAMIC, "input": '{"a', "errorText": "cut off"},
    ]


def test_calls_with_one_id_stay_apart() -> None:
    """The second one's id gets a number, and its output goes to it."""
    outputs = (call("create", "i1"), call("create", "i2"), call("complete", "i2", tool_output="b"))
    assert converted(*outputs)[-1] == {
        "type": "tool-output-available",
        "toolCallId": "c-2",
        "output": "b",
        "dynamic": True,
    }


def test_calls_without_a_result_are_the_reason_to_finish() -> None:
    """A client with tools of its own learns that it is its turn."""
    assert outputs_to_ui_message([STARTED, call("create"), COMPLETE])[-1]["finishReason"] == "tool-calls"


def test_a_text_behind_a_call_begins_a_step() -> None:
    """Parallel calls stand in one step, what the model says to their results in the next, whenever those came."""
    a, b, text = call("create", "i1", "a"), call("create", "i2", "b"), message("complete", "So.")
    done_a, done_b = call("complete", "i1", "a", tool_output=""), call("complete", "i2", "b", tool_output="")
    for order in ((a, b, done_a, done_b, text), (done_a, done_b, text), (a, b, text, done_b, done_a)):
        kinds = [chunk["type"] for chunk in converted(*order)]
        assert kinds.count("start-step") == 1
        assert kinds.index("start-step") == kinds.index("text-start") - 1
        assert kinds[kinds.index("start-step") - 1] == "finish-step"


def test_a_step_does_not_end_an_open_block() -> None:
    """The SDK forgets what is open at finish-step, so a step is not finished over a text that goes on."""
    kinds = [
        chunk["type"]
        for chunk in converted(
            message("create", "a"), call("create"), thinking("complete", "b"), message("complete", "ac")
        )
    ]
    assert "finish-step" not in kinds
    assert kinds[-2:] == ["text-delta", "text-end"]


def test_another_final_text_supersedes_what_was_shown() -> None:
    """The block is closed with a note, and the final text follows in a new one."""
    assert converted(message("create", "Hello wrld"), message("complete", "Hello world")) == [
        {"type": "text-start", "id": "m"},
        {"type": "text-delta", "id": "m", "delta": "Hello wrld"},
        {"type": "text-end", "id": "m", "providerMetadata": {"turnwire": {"superseded": True}}},
        {"type": "text-start", "id": "m"},
        {"type": "text-delta", "id": "m", "delta": "Hello world"},
        {"type": "text-end", "id": "m"},
    ]


def test_a_failed_item_keeps_its_failure_in_its_part() -> None:
    """The SDK's error chunk would end the message; a failed item does not end the turn."""
    *_, end = converted(message("error", "so far", error_code="E", error_message="lost"))
    assert end["providerMetadata"] == {"turnwire": {"error": {"code": "E", "message": "lost"}}}


def test_the_users_messages_are_left_out_unless_wanted() -> None:
    """The client that sent them has them already; another may have them as data."""
    prompt = message("complete", "Weather?", origin="user")
    assert converted(prompt) == []
    assert converted(prompt, user_messages=True) == [
        {"type": "data-user-message", "id": "m", "data": {"content": "Weather?"}}
    ]


def test_a_text_that_turns_out_to_be_the_users_is_superseded() -> None:
    """Producers that do not say it at the start say it at the end."""
    *_, end = converted(message("create", "Weath"), message("complete", "Weather?", origin="user"))
    assert end == {"type": "text-end", "id": "m", "providerMetadata": {"turnwire": {"superseded": True}}}


def test_an_aborted_turn_ends_in_abort() -> None:
    """What is open is closed, and the message knows its status."""
    chunks = outputs_to_ui_message([STARTED, message("create", "Hel"), TurnComplete(**IDS, status="aborted")])
    assert [chunk["type"] for chunk in chunks[-4:]] == ["text-end", "finish-step", "message-metadata", "abort"]


def test_a_turn_that_broke_ends_in_error() -> None:
    """The text says why; code and message are in the metadata, since the SDK stops reading at an error."""
    error = TurnFailure(code="E", message="broke")
    *_, metadata, last = outputs_to_ui_message([STARTED, TurnError(**IDS, error=error)])
    assert metadata["messageMetadata"] == {"status": "error", "error": {"code": "E", "message": "broke"}}
    assert last == {"type": "error", "errorText": "broke"}


def test_a_log_without_an_end_is_told_as_broken() -> None:
    """Once, and only if anything was told at all."""
    reader = OutputsToUiMessage()
    assert reader.finish() == []
    reader.push(message("create", "Hel"))
    assert [chunk["type"] for chunk in reader.finish()] == ["text-end", "finish-step", "message-metadata", "error"]
    assert reader.finish() == []
    assert reader.push(COMPLETE) == []
    assert reader.counts == {"after_end": 1}


def test_an_approval_is_asked_for_behind_its_call() -> None:
    """By the call's own id; what nobody called, or what is no approval, is counted."""
    pending = PendingCall(
        kind="approval", thread_id="th", run_id="t", tool_call_id="c", tool_name="look", approval_id="approve-c"
    )
    reader = OutputsToUiMessage()
    assert reader.ask_approval(pending) == []
    reader.push(call("create"))
    assert reader.ask_approval(pending) == [
        {"type": "tool-approval-request", "approvalId": "approve-c", "toolCallId": "c"}
    ]
    assert reader.counts == {"unknown_approval": 1}


def test_an_ended_item_stays_as_it_is() -> None:
    """What comes for it again is counted."""
    reader = OutputsToUiMessage()
    reader.push(message("complete", "Hello"))
    assert reader.push(message("update", "Hello again")) == []
    assert reader.counts == {"ended_item": 1}


SCENES: dict[str, list[Output]] = {
    "an approval": [STARTED, call("create"), COMPLETE],
    "interleaved": [
        STARTED,
        message("create", "a"),
        call("create"),
        thinking("create", "b"),
        message("update", "ab"),
        call("complete", tool_output={"x": None}),
        thinking("complete", "bc"),
        message("complete", "abc", origin="system"),
        COMPLETE,
    ],
    "a failed call": [
        STARTED,
        call("create", tool_arguments={}),
        call("error", tool_arguments={}, error_message="lost"),
        call("create", "j", "d", tool_arguments={}, content="free text"),
        message("complete", "Hm"),
        call("error", "j", "d", tool_arguments={}, content="free text", error_message="lost too"),
        COMPLETE,
    ],
    "superseded": [
        STARTED,
        thinking("create", "one"),
        thinking("complete", "two"),
        message("create", "three"),
        message("error", "", error_code="E", error_message="m"),
        COMPLETE,
    ],
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_sdk_shows_a_late_reader_the_same(scene: str) -> None:
    """Joined at any place, the stream comes to the same message, and no chunk is refused."""
    outputs = SCENES[scene]
    verdicts = ask_sdk({str(at): joined(outputs, at) for at in range(len(outputs) + 1)})
    early = verdicts["0"]
    for verdict in verdicts.values():
        assert (verdict.refused, verdict.errors) == ([], [])
        assert (verdict.parts, verdict.message["metadata"]) == (early.parts, early.message["metadata"])


def test_the_sdk_shows_what_was_asked_and_failed() -> None:
    """An approval is a state of the call's part, an abort and an error leave what was there."""
    reader = OutputsToUiMessage()
    pending = PendingCall(
        kind="approval", thread_id="th", run_id="t", tool_call_id="c", tool_name="look", approval_id="yes?"
    )
    asked = [*reader.push(call("create")), *reader.ask_approval(pending), *reader.push(COMPLETE)]
    broken = TurnError(**IDS, error=TurnFailure(code="E", message="broke"))
    said = ask_sdk({"asked": asked, "broken": outputs_to_ui_message([message("create", "Hel"), broken])})
    (part,) = said["asked"].calls
    assert (part["state"], part["approval"]) == ("approval-requested", {"id": "yes?"})
    assert said["broken"].errors == ["broke"]
    assert said["broken"].texts() == ["Hel"]


def test_the_sdk_shows_every_response_to_every_reader() -> None:
    """Made-up responses with all that may go wrong in them: early and late readers come to the fold's texts and calls."""
    require_sdk()
    turns: list[list[Output]] = []
    streams: dict[str, list[dict[str, Any]]] = {}

    @settings(max_examples=60, database=None)
    @given(events=responses(), share=st.floats(0, 1))
    def collect(events: list[StreamEvent], share: float) -> None:
        turn = Play(batch_gradient=(1,))
        for event in events:
            turn.push(event.payload)
        streams[f"{len(turns)} early"] = joined(turn.outputs, 0)
        streams[f"{len(turns)} late"] = joined(turn.outputs, round(share * len(turn.outputs)))
        turns.append(turn.outputs)

    collect()
    verdicts = ask_sdk({name: chunks for name, chunks in streams.items() if chunks})
    for number, outputs in enumerate(turns):
        for reader in ("early", "late"):
            if (verdict := verdicts.get(f"{number} {reader}")) is not None:
                _check(verdict, outputs)


def _check(verdict: UiVerdict, outputs: list[Output]) -> None:
    fold = fold_outputs(outputs)
    broken = [fold.terminal.error.message or fold.terminal.error.code] if isinstance(fold.terminal, TurnError) else []
    assert (verdict.refused, verdict.errors) == ([], broken)
    texts = [item.content for item in fold.items if isinstance(item, Message) and item.origin != "user"]
    assert sorted(verdict.texts()) == sorted(texts)  # a text that was superseded stands where it was mended
    assert sorted(verdict.texts("reasoning")) == sorted(
        item.content for item in fold.items if isinstance(item, Thinking)
    )
    calls = [item for item in fold.items if isinstance(item, ToolCall)]
    assert [part["state"] for part in verdict.calls] == [_state(item) for item in calls]


def _state(item: ToolCall) -> str:
    if item.status == "error" or item.success is False:
        return "output-error"
    return "output-available" if item.status == "complete" else "input-available"
