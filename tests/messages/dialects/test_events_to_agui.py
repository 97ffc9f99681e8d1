"""StreamEvents as AG-UI: which event becomes which, and what happens to what AG-UI has no event for."""

from typing import Any

import pytest

from tests.kit import turns
from tests.kit.turns import answered, begin, called, cancelled, delta, event, failed, finished, said, started, thought
from turnwire.messages import StreamEvent
from turnwire.messages.agui.codec import Dialect, unstructure_agui
from turnwire.messages.dialects import EventsToAgui, events_to_agui
from turnwire.messages.events import (
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    Heartbeat,
    ItemDone,
    ResponseDone,
    ScriptExecutionStart,
    UnknownPayload,
    Usage,
    UsageUpdate,
)


def converted(*events: StreamEvent, dialect: Dialect = "canonical", **options: Any) -> list[dict[str, Any]]:
    """Give the events as they stand on the wire, without times."""
    converter = EventsToAgui(dialect=dialect, **options)
    told = [*(each for event in events for each in converter.push(event)), *converter.finish()]
    wire = [unstructure_agui(each, dialect=dialect) for each in told]
    return [{key: value for key, value in each.items() if key != "timestamp"} for each in wire]


def types(events: list[dict[str, Any]]) -> list[str]:
    """Give the names of the events between the run's start and its end."""
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    return [each["type"] for each in events[1:-1]]


def test_text_is_start_content_end() -> None:
    """The item's id is the message's, and empty deltas are not sent."""
    events = converted(
        started(), begin("m"), delta("m", "Hel"), delta("m", ""), delta("m", "lo"), said("m", "Hello"), finished()
    )
    assert events[1:-1] == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]


def test_the_run_carries_thread_model_and_usage() -> None:
    """Ids are the run's and the thread's; what has no field is metadata."""
    events = converted(started(), event(UsageUpdate(response_id="r1", usage=Usage(prompt_tokens=3))), finished())
    assert events == [
        {
            "type": "RUN_STARTED",
            "runId": turns.TURN,
            "threadId": turns.THREAD,
            "metadata": {"turnwire.modelId": "m1", "turnwire.providerId": "acme"},
        },
        {
            "type": "RUN_FINISHED",
            "runId": turns.TURN,
            "threadId": turns.THREAD,
            "finishReason": "stop",
            "usage": {"promptTokens": 3},
        },
    ]


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("canonical", ["STEP_STARTED", "STEP_FINISHED", "STEP_FINISHED"]),
        (
            "1.0",
            [
                "REASONING_START",
                "REASONING_MESSAGE_START",
                "REASONING_MESSAGE_CONTENT",
                "REASONING_MESSAGE_END",
                "REASONING_END",
            ],
        ),
    ],
)
def test_thinking_is_steps_or_reasoning(dialect: Dialect, names: list[str]) -> None:
    """The canonical dialect has no end of a step: a last, empty delta says it."""
    stream = (started(), begin("t", "reasoning"), delta("t", "Hmm"), thought("t", "Hmm"), finished())
    events = converted(*stream, dialect=dialect)
    assert types(events) == names
    assert [each["delta"] for each in events if each.get("delta")] == ["Hmm"]


def test_a_signature_is_on_the_step() -> None:
    """What Anthropic wants back with a thought is where the conversation looks for it."""
    data = {"format": "anthropic-messages", "block": {"type": "thinking", "signature": "sealed"}}
    final = FinalReasoning(id="t", content="", provider_data=data)
    done = event(ItemDone(item_id="t", final_item=final))
    events = converted(started(), begin("t", "reasoning"), done, finished())
    assert events[-2]["signature"] == "sealed"
    assert events[-2]["metadata"]["turnwire.providerData"] == data


@pytest.mark.parametrize("dialect", ["canonical", "1.0"])
def test_a_call_streams_its_arguments_under_its_own_id(dialect: Dialect) -> None:
    """The provider's call id is AG-UI's; the item's travels as metadata."""
    start = begin("i", "function_call", name="look", call_id="c")
    stream = (started(), start, delta("i", '{"a":'), delta("i", "1}"), called("i", "c", '{"a":1}'), finished())
    events = converted(*stream, dialect=dialect)
    assert types(events) == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert {each["toolCallId"] for each in events[1:-1]} == {"c"}
    assert events[1]["metadata"] == {"turnwire.itemId": "i"}
    assert events[4].get("input") == ({"a": 1} if dialect == "canonical" else None)
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


def test_a_result_is_a_second_end_or_a_tool_call_result() -> None:
    """As each dialect has it; a tool that failed says so."""
    stream = (started(), called("i", "c"), answered("o", "c", "no", success=False), finished())
    canonical, one_zero = converted(*stream)[-2], converted(*stream, dialect="1.0")[-2]
    assert (canonical["type"], canonical["toolName"], canonical["result"]) == ("TOOL_CALL_END", "look", "no")
    assert (one_zero["type"], one_zero["messageId"], one_zero["content"]) == ("TOOL_CALL_RESULT", "o", "no")
    assert canonical["error"] == one_zero["error"] == "no"
    assert "outcome" not in converted(*stream)[-1]  # nothing is pending


def test_a_call_waits_for_its_name_and_free_text_for_its_end() -> None:
    """What AG-UI could not mend later is not told too early."""
    nameless = converted(started(), begin("i", "function_call"), delta("i", "{}"), called("i", "c"), finished())
    assert types(nameless) == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    final = FinalFunctionCall(id="i", name="run", call_id="i", arguments='{"input":"print(1)"}')
    custom = converted(
        started(),
        begin("i", "function_call", name="run"),
        delta("i", "print"),
        delta("i", "(1)"),
        event(ItemDone(item_id="i", final_item=final)),
        finished(),
        dialect="1.0",
    )
    assert [each["delta"] for each in custom if "delta" in each] == ['{"input":"print(1)"}']


@pytest.mark.parametrize("end", [failed("i"), cancelled("i"), finished()], ids=["failed", "cancelled", "left open"])
@pytest.mark.parametrize("dialect", ["canonical", "1.0"])
def test_no_tool_can_run_on_half_a_call(end: StreamEvent, dialect: Dialect) -> None:
    """A call that did not come about is ended, and answered at once with why."""
    start = begin("i", "function_call", name="look", call_id="c")
    events = converted(started(), start, delta("i", '{"a'), end, finished(), dialect=dialect)
    assert types(events) == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert events[4]["error"] == events[4]["content"] != ""
    assert "result" not in events[3]
    assert "outcome" not in events[-1]


def test_a_failed_call_is_not_pending_when_it_failed_after_its_end() -> None:
    """An error of the call's item, or of its output's item, is the call's result."""
    output = begin("o", "function_call_output", call_id="c")
    for trouble in ((failed("i"),), (output, failed("o")), (output, cancelled("o"))):
        events = converted(started(), called("i", "c"), *trouble, finished())
        assert types(events)[-1] == "TOOL_CALL_RESULT"
        assert "outcome" not in events[-1]


def test_a_failed_or_cancelled_message_says_so_on_its_end() -> None:
    """AG-UI cannot take text back: it stays, with a note."""
    events = converted(started(), begin("m"), delta("m", "Hel"), failed("m", "OOPS", "it broke"), finished())
    assert events[-2]["metadata"] == {"turnwire.error": {"code": "OOPS", "message": "it broke"}}
    events = converted(started(), begin("m"), delta("m", "Hel"), cancelled("m"), finished())
    assert events[-2]["metadata"] == {"turnwire.cancelled": True}


def test_a_longer_final_text_is_one_more_delta() -> None:
    """What the deltas left out is sent before the end."""
    events = converted(started(), begin("m"), delta("m", "Hel"), said("m", "Hello"), finished())
    assert [each["delta"] for each in events if "delta" in each] == ["Hel", "lo"]


def test_another_final_text_is_a_message_of_its_own() -> None:
    """The first is closed with a note, the second says what it supersedes."""
    events = converted(started(), begin("m"), delta("m", "Hallo"), said("m", "Hello"), finished(), dialect="1.0")
    assert events[3:-1] == [
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"turnwire.supersededBy": "m-final"}},
        {
            "type": "TEXT_MESSAGE_START",
            "messageId": "m-final",
            "role": "assistant",
            "metadata": {"turnwire.supersedes": "m"},
        },
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m-final", "delta": "Hello"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m-final"},
    ]


def test_other_final_arguments_are_the_input_or_another_call() -> None:
    """The canonical end says what the arguments are; AG-UI 1.0 needs a new call, and the old one must not run."""
    start = begin("i", "function_call", name="look", call_id="c")
    stream = (started(), start, delta("i", '{"a":1'), called("i", "c", '{"b":2}'), finished())
    assert converted(*stream)[-2]["input"] == {"b": 2}
    events = converted(*stream, dialect="1.0")
    assert [(each["type"], each["toolCallId"]) for each in events[3:-1]] == [
        ("TOOL_CALL_END", "c"),
        ("TOOL_CALL_RESULT", "c"),
        ("TOOL_CALL_START", "c-final"),
        ("TOOL_CALL_ARGS", "c-final"),
        ("TOOL_CALL_END", "c-final"),
    ]
    assert events[-1]["outcome"]["pendingToolCallIds"] == ["c-final"]


def test_user_messages_are_told_on_demand() -> None:
    """The client that sent them has them; a system's message is part of the turn."""
    prompt = begin("run-user-prompt", initial_content="Hi")
    stream = (started(), prompt, said("run-user-prompt", "Hi", "user"), said("s", "Mind the gap", "system"), finished())
    assert [each["role"] for each in converted(*stream) if "role" in each] == ["system"]
    assert [each["role"] for each in converted(*stream, user_messages=True) if "role" in each] == ["user", "system"]


@pytest.mark.parametrize(
    ("reason", "raw", "said_reason", "beside"),
    [
        ("stop", "end_turn", "stop", "end_turn"),
        ("tool_calls", None, "tool_calls", None),
        ("content_filter", None, "content_filter", None),
        ("refusal", None, "content_filter", "refusal"),
        ("pause", "pause_turn", None, "pause_turn"),
        ("other", None, None, "other"),
        (None, None, None, None),
    ],
)
def test_finish_reasons(reason: str | None, raw: str | None, said_reason: str | None, beside: str | None) -> None:
    """Refusal is content_filter; pause and other are null; the raw word stands beside."""
    done = ResponseDone(response_id="r1", status="complete", finish_reason=reason, raw_finish_reason=raw)
    end = converted(started(), event(done))[-1]
    assert (end["finishReason"], end.get("rawFinishReason")) == (said_reason, beside)


def test_an_abort_is_a_cancelled_run() -> None:
    """Whichever way it was told; what is open is closed first."""
    for end in (turns.aborted(), finished("aborted")):
        events = converted(started(), begin("m"), delta("m", "Hel"), end)
        assert types(events)[-1] == "TEXT_MESSAGE_END"
        assert events[-1]["outcome"] == {"type": "cancelled"}
        assert events[-1]["metadata"]["turnwire.status"] == "aborted"


def test_an_error_of_the_response_is_an_error_of_the_run() -> None:
    """Code and message; the provider's own words only where they may be seen."""
    events = converted(started(), begin("m"), delta("m", "Hel"), turns.broken("overloaded", "busy"), dialect="1.0")
    assert types(events)[-1] == "TEXT_MESSAGE_END"
    assert (events[-1]["message"], events[-1]["code"]) == ("busy", "overloaded")


def test_a_stream_that_stops_is_a_broken_run() -> None:
    """The end of a stream without a terminal is told; a stream that never began is nothing."""
    assert converted() == []
    events = converted(started(), begin("m"), delta("m", "Hel"))
    assert types(events)[-1] == "TEXT_MESSAGE_END"
    assert events[-1]["error"]["code"] == "STREAM_TRUNCATED"


def test_scripts_travel_under_their_own_names_and_the_rest_is_counted() -> None:
    """What AG-UI has no event for is a CUSTOM event; heartbeats are nothing."""
    converter = EventsToAgui()
    script = event(ScriptExecutionStart(item_id="s", code="1 + 1"))
    odd = [event(Heartbeat()), event(UnknownPayload(type="x", fields={})), delta("nobody", "x"), started()]
    for each in (started(), begin("m"), begin("m"), said("m", ""), said("m", ""), *odd):
        converter.push(each)
    (custom,) = converter.push(script)
    assert unstructure_agui(custom)["value"] == {"item_id": "s", "code": "1 + 1"}
    assert unstructure_agui(custom)["name"] == "turnwire.script_execution_start"
    converter.push(finished())
    assert converter.push(delta("m", "late")) == ()
    assert converter.counts == {
        "repeated_item": 1,
        "ended_item": 1,
        "unknown_payload": 1,
        "unknown_item": 1,
        "repeated_start": 1,
        "after_end": 1,
    }


def test_provider_data_is_not_for_user_interfaces() -> None:
    """AG-UI 1.0 leaves it out unless asked for, and then says it in its own event."""
    final = FinalMessage(id="m", content="Hi", provider_data={"format": "acme", "seal": "x"})
    stream = (started(), event(ItemDone(item_id="m", final_item=final)), finished())
    assert "seal" not in str(converted(*stream, dialect="1.0"))
    events = converted(*stream, dialect="1.0", provider_data=True)
    sealed = next(each for each in events if each["type"] == "REASONING_ENCRYPTED_VALUE")
    assert (sealed["entityId"], sealed["encryptedValue"]) == ("m", '{"format":"acme","seal":"x"}')


def test_two_calls_with_one_call_id_are_answered_in_their_order() -> None:
    """Each has an id of its own for AG-UI."""
    stream = (
        started(),
        called("i", "c"),
        called("j", "c"),
        answered("o", "c", "1"),
        answered("p", "c", "2"),
        finished(),
    )
    events = converted(*stream, dialect="1.0")
    assert [(each["toolCallId"], each["content"]) for each in events if "content" in each] == [("c", "1"), ("c-2", "2")]


def test_a_character_cut_in_two_is_joined() -> None:
    """Half a surrogate pair waits for the other half, and is U+FFFD if that never comes."""
    cut = (delta("m", "a\ud83d"), delta("m", "\ude00b"), delta("m", "\ud83d"))
    events = converted(started(), begin("m"), *cut, cancelled("m"), finished())
    assert [each["delta"] for each in events if "delta" in each] == ["a", "😀b", "�"]


def test_a_run_that_goes_on_has_a_start_too() -> None:
    """A later iteration of a loop has no response_start; the run's id is on every event."""
    events = converted(said("m", "Hi"), finished(), thread_id="th")
    assert (events[0]["runId"], events[0]["threadId"]) == (turns.TURN, "th")


def test_final_items_that_do_not_fit() -> None:
    """An item keeps its type: its text is what was streamed, and a call that turns out to be none must not run."""

    def done(item_id: str, final: FinalItem) -> StreamEvent:
        return event(ItemDone(item_id=item_id, final_item=final))

    wrong_call = FinalFunctionCall(id="m", name="look", call_id="m", arguments="{}")
    assert types(converted(started(), begin("m"), delta("m", "Hi"), done("m", wrong_call), finished())) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
    start = begin("i", "function_call", name="look")
    assert types(converted(started(), start, said("i", "Hi"), finished())) == [
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]
    taken_back = converted(started(), begin("m"), done("m", FinalCancelled(id="m", reason="no")), finished())
    assert taken_back[-2]["metadata"] == {"turnwire.cancelled": "no"}
    assert types(converted(started(), done("x", FinalCancelled(id="x")), thought("t", "Hmm"), finished())) == [
        "STEP_STARTED",
        "STEP_FINISHED",
        "STEP_FINISHED",
    ]


def test_an_error_item_travels_under_its_own_name() -> None:
    """Announced or not; it is no message."""
    final = event(ItemDone(item_id="e", final_item=FinalError(id="e", code="OOPS", message="it broke")))
    for announced in ((), (begin("e", "error"),)):
        events = converted(started(), *announced, final, finished())
        assert [each["name"] for each in events[1:-1]] == ["turnwire.item_done"]
        assert events[1]["data"]["final_item"]["code"] == "OOPS"


def test_what_fails_for_nobody_is_counted() -> None:
    """An item that was never announced, and an output of a call that nobody made."""
    converter = EventsToAgui()
    outputs = [begin("o", "function_call_output", call_id="c"), begin("o", "function_call_output"), delta("o", "x")]
    for each in (started(), failed("x"), cancelled("x"), *outputs, failed("o"), called("i", "c"), failed("x")):
        converter.push(each)
    assert converter.counts == {"unknown_item": 3, "repeated_item": 1}
    (result,) = (each for each in converter.push(answered("p", "elsewhere", "4")))
    assert unstructure_agui(result)["toolCallId"] == "elsewhere"


def test_the_last_half_of_a_failed_call_is_told() -> None:
    """Half a character at the very end of cut-off arguments is U+FFFD, as in a text."""
    start = begin("i", "function_call", name="look")
    events = converted(started(), start, delta("i", '{"a": "\ud83d'), failed("i"), finished())
    assert [each["delta"] for each in events if "delta" in each] == ['{"a": "', "\ufffd"]


def test_a_whole_run_at_once() -> None:
    """The function is the converter, pushed and finished."""
    stream = [started(), said("m", "Hi"), finished()]
    converter = EventsToAgui()
    assert events_to_agui(stream) == [each for event in stream for each in converter.push(event)]
