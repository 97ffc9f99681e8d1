"""AG-UI as StreamEvents: both dialects, streams of other people's agents, and whatever does not fit."""

from typing import Any

import pytest

from turnwire.messages import StreamEvent, fold_events
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.dialects import AguiAdapter, agui_to_events
from turnwire.messages.dialects.agui_chunks import AguiChunks
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalReasoning,
    ResponseDone,
    ResponseError,
    ResponseStart,
    Usage,
)
from turnwire.messages.folds import Response
from turnwire.messages.testing import check_contract

Wire = dict[str, Any]
START: Wire = {"type": "RUN_STARTED", "runId": "run", "threadId": "thread"}
FINISH: Wire = {"type": "RUN_FINISHED", "runId": "run", "threadId": "thread"}


def text(message_id: str, *deltas: str) -> list[Wire]:
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta} for delta in deltas]
    start = {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    return [start, *contents, {"type": "TEXT_MESSAGE_END", "messageId": message_id}]


def call(call_id: str, *deltas: str, **end: Any) -> list[Wire]:
    start = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": "look"}
    return [
        start,
        *({"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta} for delta in deltas),
        {"type": "TOOL_CALL_END", "toolCallId": call_id, **end},
    ]


def result(call_id: str, content: Any, **more: Any) -> Wire:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"{call_id}-r", "toolCallId": call_id, "content": content, **more}


def adapted(*events: Wire, **options: Any) -> list[StreamEvent]:
    """Give all StreamEvents of a stream, checked against the contract of adapters."""
    told = agui_to_events(map(structure_agui, events), **options)
    check_contract(told)
    return told


def folded(*events: Wire, **options: Any) -> Response:
    """Give what a stream comes to."""
    return fold_events(adapted(*events, **options))


def items(response: Response) -> list[tuple[str, str, str]]:
    """Give type, text and state of each item."""
    return [(item.item_type, item.text, item.state) for item in response.items]


def test_text_thinking_call_and_result_of_one_zero() -> None:
    """The ids are AG-UI's, the call's and its output's are tied together."""
    thinking = [
        {"type": "REASONING_START", "messageId": "t"},
        {"type": "REASONING_MESSAGE_START", "messageId": "t", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "t", "delta": "Hmm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "t"},
        {"type": "REASONING_END", "messageId": "t"},
    ]
    response = folded(START, *thinking, *text("m", "Hel", "lo"), *call("c", '{"a":', "1}"), result("c", "4"), FINISH)
    assert items(response) == [
        ("reasoning", "Hmm", "done"),
        ("message", "Hello", "done"),
        ("function_call", '{"a":1}', "done"),
        ("function_call_output", "4", "done"),
    ]
    assert [item.item_id for item in response.items] == ["t", "m", "c", "c-r"]
    assert response.items[3].call_id == "c"
    assert (response.status, response.finish_reason) == ("complete", "stop")


def test_canonical_steps_end_when_something_else_begins() -> None:
    """A step that goes on later is a new item; the signature is kept."""
    step = {"type": "STEP_FINISHED", "stepId": "s"}
    response = folded(
        START,
        {"type": "STEP_STARTED", "stepId": "s"},
        {**step, "delta": "Hm"},
        {**step, "delta": "m", "signature": "sealed"},
        *text("m", "Hello"),
        {**step, "delta": "Again"},
        {**FINISH, "finishReason": "stop"},
    )
    assert items(response) == [
        ("reasoning", "Hmm", "done"),
        ("message", "Hello", "done"),
        ("reasoning", "Again", "done"),
    ]
    final = response.items[0].final_item
    assert isinstance(final, FinalReasoning)
    assert final.provider_data == {"format": "ag-ui", "signature": "sealed"}


def test_steps_of_one_zero_are_mere_marks() -> None:
    """They have a name and no text, and are nobody's thinking."""
    marks = [{"type": "STEP_STARTED", "stepName": "plan"}, {"type": "STEP_FINISHED", "stepName": "plan"}]
    assert items(folded(START, *marks, FINISH)) == []


def test_a_step_may_say_all_its_thinking_at_once() -> None:
    """`content` counts when there is no delta."""
    told = [{"type": "STEP_FINISHED", "stepId": "s", "content": content} for content in ("Hm", "Hmm")]
    assert items(folded(START, *told, FINISH)) == [("reasoning", "Hmm", "done")]


def test_input_wins_over_the_streamed_arguments() -> None:
    """Where they say the same the text stays as it was written."""
    response = folded(START, *call("c", '{"a": 1}', input={"a": 1}), *call("d", '{"a": 1}', input={"b": 2}), FINISH)
    assert [item.text for item in response.items] == ['{"a": 1}', '{"b":2}']


def test_a_call_may_be_told_by_its_end_alone() -> None:
    """Name and input are all it takes; an end for nobody is counted."""
    end = {"type": "TOOL_CALL_END", "toolCallId": "c", "toolName": "look", "input": {"a": 1}}
    assert items(folded(START, end, FINISH)) == [("function_call", '{"a":1}', "done")]
    adapter = AguiAdapter(run_id="run", thread_id="thread")
    adapter.feed({"type": "TOOL_CALL_END", "toolCallId": "nobody"})
    assert adapter.counts == {"unknown_block": 1}


def test_a_second_end_with_a_result_is_the_tools_output() -> None:
    """An empty text is a result; an error is one too, and makes it a failure."""
    again = {"type": "TOOL_CALL_END", "toolCallId": "c", "toolName": "look"}
    response = folded(START, *call("c", "{}"), {**again, "result": ""}, FINISH)
    assert items(response)[1] == ("function_call_output", "", "done")
    response = folded(START, *call("c", "{}"), {**again, "error": "no"}, FINISH)
    assert items(response)[1] == ("function_call_output", "no", "done")
    assert getattr(response.items[1].final_item, "success", None) is False


def test_parts_of_a_result_are_text() -> None:
    """Texts are joined; with a picture among them the parts are given as JSON."""
    words = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    picture = {"type": "image", "source": {"type": "url", "value": "http://localhost/a.png"}}
    response = folded(
        START, *call("c", "{}"), result("c", words), *call("d", "{}"), result("d", [*words, picture]), FINISH
    )
    assert response.items[1].text == "ab"
    assert '"image"' in response.items[3].text


def test_chunks_are_spelled_out() -> None:
    """Names are given once; whatever says what happens next ends a block."""
    response = folded(
        START,
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "lo"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{"},
        {"type": "RAW", "event": {}},
        {"type": "TOOL_CALL_CHUNK", "delta": "}"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "d", "toolCallName": "look"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "t", "delta": "Hmm"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "Bye"},
        FINISH,
    )
    assert [(kind, said) for kind, said, _ in items(response)] == [
        ("message", "Hello"),
        ("function_call", "{}"),
        ("function_call", "{}"),
        ("reasoning", "Hmm"),
        ("message", "Bye"),
    ]


def test_a_chunk_of_nothing_is_counted() -> None:
    """The first one must say what it belongs to, and a call's also which tool."""
    adapter = AguiAdapter(run_id="run", thread_id="thread")
    for chunk in ({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}, {"type": "TOOL_CALL_CHUNK", "toolCallId": "c"}):
        adapter.feed(chunk)
    assert adapter.counts == {"nameless_chunk": 2}
    assert AguiChunks(adapter.counts).finish() == ()


def test_the_iterations_of_a_loop_are_one_response() -> None:
    """One start, one end, usage summed up; RUN_FINISHED in the middle ends nothing."""
    used = {"usage": [{"inputTokens": 3, "outputTokens": 2}]}
    told = adapted(
        START,
        *call("c", "{}"),
        {**FINISH, **used, "finishReason": "tool_calls"},
        result("c", "4"),
        {**START, "runId": "run-2"},
        *text("m", "Four."),
        {**FINISH, **used, "runId": "run-2", "finishReason": "stop"},
    )
    response = fold_events(told)
    assert [type(event.payload) for event in told].count(ResponseDone) == 1
    assert [kind for kind, _, _ in items(response)] == ["function_call", "function_call_output", "message"]
    assert (response.finish_reason, response.usage) == ("stop", Usage(prompt_tokens=6, completion_tokens=4))


def test_calls_without_a_result_make_it_tool_calls() -> None:
    """AG-UI 1.0 has no finish reason of its own."""
    assert folded(START, *call("c", "{}"), FINISH).finish_reason == "tool_calls"
    assert folded(START, *call("c", "{}"), result("c", "4"), FINISH).finish_reason == "stop"
    assert folded(START, {**FINISH, "finishReason": None, "rawFinishReason": "pause"}).finish_reason == "pause"
    assert folded(START, {**FINISH, "finishReason": None, "rawFinishReason": "odd"}).finish_reason == "other"


def test_run_finished_closes_what_is_open() -> None:
    """Text as it is; a call if its arguments are whole, and no tool runs on half a call."""
    open_calls = [*call("c", '{"a":1}')[:-1], *call("d", '{"a"')[:-1], *call("e")[:-1]]
    response = folded(START, *text("m", "Hel")[:-1], *open_calls, FINISH)
    assert [state for _, _, state in items(response)] == ["done", "done", "error", "done"]
    assert response.items[3].text == "{}"


def test_a_cancelled_run_is_aborted() -> None:
    """As AG-UI 1.0 says it."""
    assert folded(START, *text("m", "Hel"), {**FINISH, "outcome": {"type": "cancelled"}}).status == "aborted"


@pytest.mark.parametrize("error", [{"message": "busy", "code": "overloaded"}, {"error": {"message": "busy"}}])
def test_run_error_ends_the_response(error: Wire) -> None:
    """Either dialect's; what is open fails with it, and it says whether to try again."""
    response = folded(START, *text("m", "Hel")[:-1], {"type": "RUN_ERROR", **error})
    assert items(response) == [("message", "Hel", "error")]
    assert response.error is not None
    assert response.error.message == "busy"
    assert response.error.details == {"retryable": "code" in error}


def test_a_stream_that_stops_is_truncated() -> None:
    """No RUN_FINISHED, no end."""
    response = folded(START, *text("m", "Hel")[:-1])
    assert response.error is not None
    assert response.error.code == "STREAM_TRUNCATED"


def test_encrypted_values_are_kept() -> None:
    """With their block while it is open; later, with the next item."""

    def sealed(subtype: str, entity: str) -> Wire:
        return {"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": entity, "encryptedValue": "x"}

    begun, *rest = call("c", "{}")
    response = folded(START, begun, sealed("tool-call", "c"), *rest, sealed("tool-call", "c"), *text("m", "Hi"), FINISH)
    first, second = (item.final_item for item in response.items)
    assert isinstance(first, FinalFunctionCall)
    assert first.provider_data == {"format": "ag-ui", "encryptedValue": "x"}
    assert second is not None
    assert second.provider_data["before"][0]["entityId"] == "c"


def test_ids_and_roles_are_ours() -> None:
    """Our own ids; a user's words are a turn's prompt and not told again; a developer's are the system's."""
    users, systems = text("u", "Hi"), text("s", "Mind")
    users[0]["role"], systems[0]["role"] = "user", "developer"
    told = adapted(START, *users, *systems, FINISH, run_id="mine", thread_id="ours", prompt="Hi")
    start = told[0].payload
    assert isinstance(start, ResponseStart)
    assert (start.turn_id, start.thread_id, start.provider_id) == ("mine", "ours", "ag-ui")
    assert [(item.item_id, item.origin) for item in fold_events(told).items] == [
        ("mine-user-prompt", "user"),
        ("s", "system"),
    ]


def test_what_does_not_fit_is_counted_and_never_raised() -> None:
    """Unknown, repeated, late and malformed events change nothing."""
    adapter = AguiAdapter(run_id="run", thread_id="thread")
    odd: list[Any] = [
        START,
        *text("m", "Hi"),
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "late"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "nobody", "delta": "x"},
        *call("c", "{}"),
        *call("c", "{}")[:1],
        {"type": "SURPRISE"},
        {"type": "CUSTOM", "name": "turnwire.response_done", "value": {}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": 7},
        None,
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        FINISH,
    ]
    told = [each for event in odd for each in adapter.feed(event)] + adapter.finish()
    check_contract(told)
    assert [item.text for item in fold_events(told).items] == ["Hi", "{}"]
    assert adapter.push(structure_agui(START)) == adapter.feed(START) == []
    assert adapter.counts == {
        "unknown_block": 2,
        "repeated_start": 1,
        "unknown_event": 2,
        "malformed": 3,
        "after_end": 2,
    }


def test_text_that_was_never_announced_begins_by_itself() -> None:
    """Content is worth more than its start."""
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi"}
    assert items(folded(START, content, FINISH)) == [("message", "Hi", "done")]


def test_a_stream_without_a_run_needs_ids() -> None:
    """Ids are the caller's, or those of the first RUN_STARTED."""
    with pytest.raises(ValueError, match="run_id"):
        agui_to_events([])
    assert [type(event.payload) for event in agui_to_events([], run_id="r", thread_id="t")] == [
        ResponseStart,
        ResponseError,
    ]


def test_a_result_may_come_before_the_end_of_its_call() -> None:
    """The call is whole then: its tool has run."""
    response = folded(START, *call("c", "{}")[:-1], result("c", "4"), FINISH)
    assert items(response) == [("function_call", "{}", "done"), ("function_call_output", "4", "done")]


def test_a_stream_that_stops_in_a_chunk() -> None:
    """The chunk's block is closed, the response is cut off all the same."""
    response = folded(START, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hel"})
    assert (items(response), response.status) == ([("message", "Hel", "done")], "error")


def test_a_final_text_that_never_came_or_came_in_part() -> None:
    """What there is when the run ends is all there is."""
    *begun, end = text("m", "Hallo")
    superseded = {**end, "metadata": {"turnwire.supersededBy": "n"}}
    assert items(folded(START, *begun, superseded, FINISH)) == [("message", "Hallo", "done")]
    successor = text("n", "Hel", "lo")
    successor[0]["metadata"] = {"turnwire.supersedes": "m"}
    assert items(folded(START, *begun, superseded, *successor[:-2], FINISH)) == [("message", "Hel", "done")]
    assert items(folded(START, *begun, superseded, *successor, FINISH)) == [("message", "Hello", "done")]


def test_an_item_of_ours_is_told_once() -> None:
    """Scripts and error items come back whole; what is malformed or known already is counted."""
    final = {"type": "error", "id": "e", "code": "OOPS", "message": "it broke"}
    custom: Wire = {"type": "CUSTOM", "name": "turnwire.item_done", "value": {"item_id": "e", "final_item": final}}
    adapter = AguiAdapter(run_id="run", thread_id="thread")
    odd: Wire = {"type": "CUSTOM", "name": "turnwire.item_done", "value": {"item_id": "f", "final_item": {}}}
    told = [each for event in (START, custom, custom, odd, FINISH) for each in adapter.feed(event)] + adapter.finish()
    check_contract(told)
    assert [(item.item_type, item.state) for item in fold_events(told).items] == [("error", "error")]
    assert adapter.counts == {"unknown_event": 1, "malformed": 1}


def test_repeated_starts_change_nothing() -> None:
    """Of text and of thinking."""
    start, *rest = text("m", "Hi")
    thought = {"type": "REASONING_MESSAGE_START", "messageId": "t", "role": "reasoning"}
    response = folded(START, start, start, *rest, thought, thought, FINISH)
    assert items(response) == [("message", "Hi", "done"), ("reasoning", "", "done")]
