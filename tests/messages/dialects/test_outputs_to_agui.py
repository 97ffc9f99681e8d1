"""The outputs of a turn as AG-UI: full states become deltas, for readers from the start and for those who join late."""

import tracemalloc
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.actors.core.plays import Play
from tests.kit.agui_client import ask_client
from tests.kit.responses import responses
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
from turnwire.messages.agui.codec import unstructure_agui
from turnwire.messages.agui.events import TextMessageContent
from turnwire.messages.agui.messages import AguiMessage, AssistantMessage, SpokenMessage
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects import OutputsToAgui, outputs_to_agui
from turnwire.messages.outputs import TurnFailure, TurnUsage

IDS: dict[str, Any] = {"turn_id": "t", "thread_id": "th"}
STARTED = TurnStarted(**IDS, model_id="m1", provider_id="acme")
COMPLETE = TurnComplete(**IDS, status="complete")


def message(status: Any, content: str, item_id: str = "m", **more: Any) -> Message:
    said: dict[str, Any] = {"origin": "agent", **more}
    return Message(**IDS, item_id=item_id, status=status, content=content, **said)


def thinking(status: Any, content: str) -> Thinking:
    return Thinking(**IDS, item_id="r", status=status, content=content, provider_id="acme")


def call(status: Any, item_id: str = "i", call_id: str = "c", **more: Any) -> ToolCall:
    given_: dict[str, Any] = {"content": "", "tool_name": "look", "tool_arguments": {"a": 1}, **more}
    return ToolCall(**IDS, item_id=item_id, status=status, call_id=call_id, **given_)


def converted(*outputs: Output, **options: Any) -> list[dict[str, Any]]:
    """Give the events on the wire, between the run's start and its end."""
    converter = OutputsToAgui(**options)
    told = [event for output in (STARTED, *outputs, COMPLETE) for event in converter.push(output)]
    return [unstructure_agui(event) for event in told][1:-1]


def play(events: Iterable[StreamEvent], gradient: Sequence[float] = (1,)) -> list[Output]:
    """Give the outputs of a turn, emitted as often as can be."""
    turn = Play(batch_gradient=gradient)
    for event in events:
        turn.push(event.payload)
    return turn.outputs


def texts_of(events: Iterable[AnyAguiEvent]) -> dict[str, str]:
    """Give the text of each block, as a reader that knows our notes has it: under the id of what it supersedes."""
    texts: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for event in events:
        wire = unstructure_agui(event)
        block: str = wire.get("messageId") or wire.get("toolCallId") or ""
        old: str = wire.get("metadata", {}).get("turnwire.supersedes", "")
        if old:
            names[block] = names.get(old, old)
            texts[names[block]] = []
        if wire["type"].endswith(("_START", "_CONTENT", "_ARGS")) and wire["type"] != "REASONING_START":
            texts.setdefault(names.get(block, block), []).append(wire.get("delta", ""))
    return {name: "".join(parts) for name, parts in texts.items()}


def test_full_states_become_deltas() -> None:
    """What is new in a state is the end of its text; a state that was told before gives nothing."""
    states = (
        message("create", "Hel"),
        message("update", "Hello"),
        message("update", "Hello"),
        message("complete", "Hello!"),
    )
    assert converted(*states) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "!"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]


def test_thinking_is_reasoning() -> None:
    """A short thought comes whole."""
    events = converted(thinking("complete", "Hmm"))
    assert [event["type"].removeprefix("REASONING_") for event in events] == [
        "START",
        "MESSAGE_START",
        "MESSAGE_CONTENT",
        "MESSAGE_END",
        "END",
    ]


def test_a_call_and_its_output() -> None:
    """Asked for when it is created, answered when it is complete; a reader who missed the first gets both."""
    done = call("complete", tool_output=[4], success=True)
    for states in ((call("create"), done), (done,)):
        start, args, end, result = converted(*states)
        assert (start["toolCallId"], start["toolCallName"], args["delta"]) == ("c", "look", '{"a":1}')
        assert (end["type"], result["content"], result["toolCallId"]) == ("TOOL_CALL_END", "[4]", "c")


def test_a_call_that_failed() -> None:
    """Before it was whole or after: it is answered with why, and what it said is told."""
    trouble = {"error_code": "OOPS", "error_message": "it broke"}
    half = call("error", call_id="", tool_name="", tool_arguments={}, content='{"a', **trouble)
    events = converted(half)
    assert [event["type"] for event in events][-2:] == ["TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert (events[0]["toolCallId"], events[0]["toolCallName"], events[1]["delta"]) == ("i", "unknown", '{"a')
    assert events[-1]["error"] == "it broke"
    whole = converted(call("create"), call("error", **trouble))
    assert [event["type"] for event in whole][-2:] == ["TOOL_CALL_END", "TOOL_CALL_RESULT"]
    failed_tool = converted(call("complete", tool_output="no", success=False))
    assert failed_tool[-1]["error"] == "no"


def test_raw_arguments_are_told_as_they_were_written() -> None:
    """What is no JSON object stands in the content."""
    events = converted(call("create", tool_arguments={}, content="[1]"))
    assert events[1]["delta"] == "[1]"


def test_a_failed_message_says_so() -> None:
    """Its text is what there was; an error that empties it leaves what was shown, with the note."""
    trouble = {"error_code": "OOPS", "error_message": "it broke"}
    for content in ("Hel", ""):
        end = converted(message("create", "Hel"), message("error", content, **trouble))[-1]
        assert end["type"] == "TEXT_MESSAGE_END"
        assert end["metadata"] == {"turnwire.error": {"code": "OOPS", "message": "it broke"}}


def test_how_a_turn_ends() -> None:
    """Usage, abort, error, calls that wait; what is open is closed first."""
    usage = TurnUsage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    told = outputs_to_agui([STARTED, message("create", "Hel"), TurnComplete(**IDS, status="aborted", usage=usage)])
    end = unstructure_agui(told[-1])
    assert (end["outcome"], end["metadata"]) == ({"type": "cancelled"}, {"turnwire.status": "aborted"})
    assert end["usage"] == [{"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}]
    assert unstructure_agui(told[-2])["type"] == "TEXT_MESSAGE_END"
    failure = TurnFailure(code="OOPS", message="it broke")
    broken = unstructure_agui(outputs_to_agui([STARTED, TurnError(**IDS, error=failure)])[-1])
    assert (broken["type"], broken["code"], broken["message"]) == ("RUN_ERROR", "OOPS", "it broke")
    waiting = unstructure_agui(outputs_to_agui([STARTED, call("create"), COMPLETE])[-1])
    assert waiting["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


def test_a_log_without_an_end_and_what_comes_after_one() -> None:
    """A turn that was given up is a broken run; what comes late is counted."""
    converter = OutputsToAgui()
    assert converter.finish() == ()
    outputs: list[Output] = [STARTED, message("complete", "Hi"), message("complete", "Hi")]
    for output in outputs:
        converter.push(output)
    (end,) = converter.finish()
    assert unstructure_agui(end)["code"] == "STREAM_TRUNCATED"
    assert converter.push(COMPLETE) == converter.finish() == ()
    assert converter.counts == {"ended_item": 1, "after_end": 1}


def test_user_messages_are_told_on_demand() -> None:
    """The client that sent them has them already."""
    prompt = message("complete", "Hi", "p", origin="user")
    assert converted(prompt) == []
    assert converted(prompt, user_messages=True)[0]["role"] == "user"


def test_another_final_text_is_a_message_of_its_own() -> None:
    """Without the history a snapshot would wipe the conversation, so the final text follows under another id."""
    states = (message("create", "Hallo"), message("complete", "Hello"))
    assert [(event["type"], event["messageId"], event.get("metadata")) for event in converted(*states)[2:]] == [
        ("TEXT_MESSAGE_END", "m", {"turnwire.supersededBy": "m-final"}),
        ("TEXT_MESSAGE_START", "m-final", {"turnwire.supersedes": "m"}),
        ("TEXT_MESSAGE_CONTENT", "m-final", None),
        ("TEXT_MESSAGE_END", "m-final", None),
    ]


def test_a_state_in_between_that_rewrites_goes_on_under_its_new_id() -> None:
    """Nothing says that only final texts can be others."""
    states = (message("create", "Hallo"), message("update", "Hello"), message("complete", "Hello!", origin="system"))
    events = converted(*states)
    assert [event["delta"] for event in events if event.get("messageId") == "m-final" and "delta" in event] == [
        "Hello",
        "!",
    ]


def test_with_the_history_another_final_text_is_a_snapshot() -> None:
    """The official client ends up with the final text under the old id, and keeps the rest of the conversation."""
    history: list[AguiMessage] = [
        SpokenMessage(id="u", role="user", content="Hi"),
        AssistantMessage(id="a", content="Earlier"),
    ]
    states: list[Output] = [
        STARTED,
        thinking("complete", "Hmm"),
        message("create", "Hallo"),
        message("create", "Open", "n"),
        call("complete", tool_output="4"),
        message("complete", "Hello"),
        message("update", "Opened", "n"),
        message("update", "Closed", "n"),
        message("complete", "Closed.", "n"),
        COMPLETE,
    ]
    converter = OutputsToAgui(history=history)
    told = [event for state in states for event in converter.push(state)]
    assert [type(event).__name__ for event in told].count("MessagesSnapshot") == 2
    before = [{"id": "u", "role": "user", "content": "Hi"}, {"id": "a", "role": "assistant", "content": "Earlier"}]
    verdict = ask_client({"rewritten": told}, messages=before)["rewritten"]
    assert verdict.error is None
    assert verdict.texts() == ["Earlier", "Hello", "Closed."]
    assert (verdict.texts("user"), verdict.texts("reasoning")) == (["Hi"], ["Hmm"])
    assert (verdict.calls, verdict.results) == ([("c", "look", '{"a":1}')], {"c": "4"})


def test_without_it_the_official_client_has_both_and_the_note() -> None:
    """Nothing is lost, and whoever reads the note can hide what was superseded."""
    told = outputs_to_agui([STARTED, message("create", "Hallo"), message("complete", "Hello"), COMPLETE])
    verdict = ask_client({"rewritten": told})["rewritten"]
    assert verdict.error is None
    assert verdict.texts() == ["Hallo", "Hello"]
    assert verdict.messages[0]["metadata"] == {"turnwire.supersededBy": "m-final"}


@given(events=responses())
def test_every_turn_can_be_read_as_agui(events: list[StreamEvent]) -> None:
    """The texts are those that the turn's own fold has, whatever the items did."""
    outputs = play(events)
    expected = {
        item.item_id: item.content
        for item in fold_outputs(outputs).items
        if isinstance(item, Message | Thinking) and (item.content or item.status != "error")
    }
    told = texts_of(outputs_to_agui(outputs))
    assert {name: told[name] for name in expected} == expected


@given(events=responses(), share=st.floats(0, 1))
def test_a_reader_may_join_in_the_middle(events: list[StreamEvent], share: float) -> None:
    """From the snapshot of any moment on, the texts and the end are those of a reader from the start."""
    outputs = play(events)
    cut = int(share * len(outputs))
    converter = OutputsToAgui()
    joined = [*fold_outputs(outputs[:cut]).outputs, *outputs[cut:]]
    late = [event for output in joined for event in converter.push(output)]
    assert converter.counts == {}
    early = texts_of(outputs_to_agui(outputs))
    expected = {item.item_id for item in fold_outputs(outputs).items if item.status != "error"}
    told = texts_of(late)
    assert {name: told[name] for name in told if name in expected} == {
        name: early[name] for name in early if name in expected
    }
    assert type(late[-1]) is type(outputs_to_agui(outputs)[-1])


def test_a_reader_may_join_without_a_snapshot() -> None:
    """Whatever comes first, the run's start is told."""
    told = outputs_to_agui([message("update", "Hello"), message("complete", "Hello!"), COMPLETE])
    assert [type(event).__name__ for event in told][:2] == ["RunStarted", "TextMessageStart"]
    assert [event.delta for event in told if isinstance(event, TextMessageContent)] == ["Hello", "!"]


def test_a_state_is_compared_and_never_copied() -> None:
    """What a long text costs is a comparison with the one before; what is made anew is as long as the news."""
    size = 1_000_000
    texts = ["y" * size + "é" * number for number in range(20)]
    converter = OutputsToAgui()
    converter.push(message("create", texts[0]))
    states = [message("update", text) for text in texts[1:]]
    tracemalloc.start()
    try:
        for state in states:
            converter.push(state)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 10
