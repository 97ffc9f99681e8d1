"""The lines of the Responses table that the recordings do not all reach."""

from typing import Any

import pytest

from tests.kit.recordings import adapt, make_adapter
from tests.kit.streams import (
    Event,
    added,
    brief,
    completed,
    delta,
    done,
    final_call,
    final_message,
    finals,
    output_text,
)
from turnwire.messages.events import FinalReasoning, ItemStart, ResponseDone, ResponseError
from turnwire.messages.providers.contract import check_contract

P = "openai-responses"


def lines(*events: Any, **options: Any) -> list[str]:
    told = adapt(P, events, **options)
    check_contract(told)
    return brief(told)[1:]


def test_a_resumed_stream_needs_no_created() -> None:
    """Without response.created the items and the end are told all the same."""
    assert lines(delta(0, "output_text", "Hi"), completed()) == [
        "start message",
        "delta Hi",
        "done message Hi",
        "end complete stop",
    ]


def test_a_null_item_is_passed_over_and_its_deltas_make_it() -> None:
    """An added item may be null; the message is made by its first delta."""
    null = {"type": "response.output_item.added", "output_index": 0, "item": None}
    assert lines(null, delta(0, "output_text", "Hi"), completed())[:2] == ["start message", "delta Hi"]


def test_a_refusal_is_text_and_sets_the_finish_reason() -> None:
    """A refusal is shown as the message's text; the response finishes as refusal."""
    told = adapt(P, [added(0, "message", id="m"), delta(0, "refusal", "No."),
                     done(0, "message", id="m", content=[{"type": "refusal", "refusal": "No."}]), completed()])  # fmt: skip
    assert brief(told)[-2:] == ["done message No.", "end complete refusal"]


def test_reasoning_waits_for_text() -> None:
    """An empty reasoning item gives nothing at all."""
    assert lines(added(0, "reasoning", id="r", summary=[]), done(0, "reasoning", id="r", summary=[]), completed()) == [
        "end complete stop"
    ]


def test_a_second_summary_part_begins_with_a_blank_line() -> None:
    """Summary parts are one reasoning item, parted by a blank line, in the deltas as in the final text."""
    parts = [{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}]
    assert lines(
        added(0, "reasoning", id="r", summary=[]),
        delta(0, "reasoning_summary_text", "One", summary_index=0),
        delta(0, "reasoning_summary_text", "T", summary_index=1),
        delta(0, "reasoning_summary_text", "wo", summary_index=1),
        done(0, "reasoning", id="r", summary=parts),
        completed(),
    )[:5] == ["start reasoning", "delta One", "delta \n\nT", "delta wo", "done reasoning One\n\nTwo"]


@pytest.mark.parametrize("summary_first", [True, False])
def test_if_both_kinds_of_reasoning_come_the_summary_is_the_content(summary_first: bool) -> None:
    """Raw reasoning beside a summary is not the content, whichever of them comes first."""
    deltas = [delta(0, "reasoning_summary_text", "Short", summary_index=0), delta(0, "reasoning_text", "Long")]
    payload = {"summary": [{"text": "Short"}], "content": [{"text": "Long"}]}
    told = lines(
        added(0, "reasoning", id="r"),
        *(deltas if summary_first else reversed(deltas)),
        done(0, "reasoning", id="r", **payload),
        completed(),
    )
    assert told[2:] == ["done reasoning Short", "end complete stop"]
    assert told[1] == ("delta Short" if summary_first else "delta Long")


def test_c05_a_done_payload_that_goes_on_gives_one_corrective_delta() -> None:
    """The done payload wins; what it adds to the text is told by one more delta."""
    told = lines(added(0, "message", id="m"), delta(0, "output_text", "Hel"),
                 done(0, "message", id="m", content=output_text("Hello!")), completed())  # fmt: skip
    assert told[1:4] == ["delta Hel", "delta lo!", "done message Hello!"]


def test_c05_a_done_payload_that_differs_wins_alone() -> None:
    """Text that cannot be reached by a delta stands in the final item only."""
    told = lines(added(0, "message", id="m"), delta(0, "output_text", "Hallo"),
                 done(0, "message", id="m", content=output_text("Hello")), completed())  # fmt: skip
    assert told[1:3] == ["delta Hallo", "done message Hello"]


def test_c05_part_done_events_reconcile_an_item_that_is_never_done() -> None:
    """If the item's own end is missing, its parts' ends say what the text is."""
    part = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"}
    assert lines(delta(0, "output_text", "Hel"), part, completed())[2:4] == ["delta lo", "done message Hello"]


def test_annotations_are_collected() -> None:
    """Annotations come with the final item, from its payload or from their own events."""
    note = {"type": "url_citation", "url": "u"}
    event = {"type": "response.output_text.annotation.added", "output_index": 0, "annotation": note}
    streamed = adapt(P, [delta(0, "output_text", "Hi"), event, completed()])
    assert final_message(streamed).annotations == [note]
    payload = adapt(P, [done(0, "message", id="m", content=output_text("Hi", annotations=[note])), completed()])
    assert final_message(payload).annotations == [note]


def test_an_item_that_was_never_added_is_started_and_done() -> None:
    """output_item.done alone tells the whole item."""
    assert lines(done(0, "function_call", id="f", call_id="c", name="look", arguments='{"a":1}'), completed()) == [
        "start function_call look",
        'delta {"a":1}',
        'done call look {"a":1}',
        "end complete tool_calls",
    ]


def test_items_that_only_the_final_response_has_are_told() -> None:
    """response.completed fills in what the stream did not have, and repeats nothing that it had."""
    text = {"type": "message", "id": "m", "content": output_text("Hi")}
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": "{}"}
    told = lines(
        added(0, "message", id="m"), done(0, "message", id="m", content=output_text("Hi")), completed([text, call])
    )
    assert told == [
        "start message",
        "delta Hi",
        "done message Hi",
        "start function_call look",
        "delta {}",
        "done call look {}",
        "end complete tool_calls",
    ]


def test_the_final_response_closes_what_is_still_open() -> None:
    """An item whose own end was lost is closed by the final response's payload."""
    whole = {"type": "message", "id": "other-id", "content": output_text("Hello")}
    assert lines(added(0, "message", id="m"), delta(0, "output_text", "Hel"), completed([whole]))[1:4] == [
        "delta Hel",
        "delta lo",
        "done message Hello",
    ]


def test_c11_an_incomplete_call_is_an_error() -> None:
    """A call that is done with status incomplete is no call."""
    told = lines(added(0, "function_call", id="f", call_id="c", name="look"),
                 delta(0, "function_call_arguments", '{"a'),
                 done(0, "function_call", id="f", call_id="c", name="look", arguments='{"a', status="incomplete"),
                 {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}})  # fmt: skip
    assert told[-2:] == ["error INCOMPLETE_ARGUMENTS", "end complete length"]


def test_an_incomplete_response_closes_what_is_open_with_what_there_is() -> None:
    """Text that was cut off stays; a half call is an error; the reason is told in our words and its own."""
    told = adapt(P, [delta(0, "output_text", "Hel"), added(1, "function_call", id="f", call_id="c", name="look"),
                     delta(1, "function_call_arguments", '{"a'),
                     {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}])  # fmt: skip
    assert brief(told)[-3:] == ["done message Hel", "error INCOMPLETE_ARGUMENTS", "end complete content_filter"]
    end = told[-1].payload
    assert isinstance(end, ResponseDone)
    assert end.raw_finish_reason == "content_filter"


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": {"type": "server_error", "code": "boom", "message": "no"}},
        {"type": "error", "code": "boom", "message": "no", "param": None},
        {"type": "response.failed", "response": {"error": {"code": "boom", "message": "no"}}},
    ],
    ids=["nested", "flat", "failed"],
)
def test_c10_errors_of_both_shapes_are_one_error(error: dict[str, Any]) -> None:
    """Nested, flat or failed: the same code and message, and a failed after an error is dropped."""
    adapter = make_adapter(P)
    told = adapter.feed(delta(0, "output_text", "Hel")) + adapter.feed(error)
    told += adapter.feed({"type": "response.failed", "response": {"error": {"code": "boom"}}})
    check_contract(told)
    assert brief(told)[-2:] == ["error boom", "broken boom"]
    end = told[-1].payload
    assert isinstance(end, ResponseError)
    assert end.error.message == "no"


def test_c09_a_cancelled_response_is_an_abort() -> None:
    """response.cancelled keeps the text that was shown and ends as aborted."""
    assert lines(delta(0, "output_text", "Hel"), {"type": "response.cancelled", "response": {}})[2:] == [
        "done message Hel",
        "end aborted None",
    ]


def test_a_custom_tools_input_is_wrapped_at_the_end() -> None:
    """Free text streams as it is, and becomes {"input": text} in the final arguments."""
    told = adapt(P, [added(0, "custom_tool_call", id="x", call_id="c", name="sql"),
                     delta(0, "custom_tool_call_input", 'SELECT "a"'),
                     done(0, "custom_tool_call", id="x", call_id="c", name="sql", input='SELECT "a"'), completed()])  # fmt: skip
    assert brief(told)[2] == 'delta SELECT "a"'
    assert final_call(told).arguments == '{"input":"SELECT \\"a\\""}'


def test_indices_may_have_gaps_and_run_backwards() -> None:
    """Items are told in the order in which they come, whatever their indices are."""
    assert lines(
        done(7, "message", id="a", content=output_text("One")), done(2, "message", id="b", content=output_text("Two")), completed()
    )[2::3] == ["done message One", "done message Two"]  # fmt: skip


def test_events_seen_before_are_dropped() -> None:
    """A sequence_number that comes again is a replay, not more text."""
    adapter = make_adapter(P)
    one = {**delta(0, "output_text", "Hi"), "sequence_number": 4}
    told = adapter.feed(one) + adapter.feed(one) + adapter.feed(completed())
    assert brief(told)[1:4] == ["start message", "delta Hi", "done message Hi"]
    assert adapter.counts["duplicate"] == 1


def test_c06_an_id_that_is_taken_is_not_used_again() -> None:
    """Two items of one id get two ids: the second is named by its place."""
    told = adapt(P, [done(0, "message", id="same", content=output_text("One")),
                     done(1, "message", id="same", content=output_text("Two")), completed()])  # fmt: skip
    check_contract(told)
    assert [event.payload.item_id for event in told if isinstance(event.payload, ItemStart)] == ["same", "run-0-1"]


def test_c16_encrypted_reasoning_is_kept_byte_for_byte() -> None:
    """Encrypted reasoning with a summary is kept in its own item, without one in the item that follows it."""
    sealed: Event = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "gAAA+/="}
    shown = {
        "type": "reasoning",
        "id": "r2",
        "summary": [{"type": "summary_text", "text": "Hm"}],
        "encrypted_content": "x",
    }
    told = adapt(P, [{"type": "response.output_item.done", "output_index": 0, "item": sealed},
                     {"type": "response.output_item.done", "output_index": 1, "item": shown},
                     done(2, "message", id="m", content=output_text("Hi")), completed()])  # fmt: skip
    reasoning, message = finals(told)
    assert isinstance(reasoning, FinalReasoning)
    assert reasoning.provider_data == {"format": P, "before": [sealed], "item": shown}
    assert message.provider_data == {"format": P, "item": {"id": "m"}}


def test_c17_server_tools_give_no_item_by_default() -> None:
    """Web search and its kin are not offered to our tool runner, and do not finish as tool_calls."""
    assert lines(added(0, "web_search_call", id="w"), {"type": "response.web_search_call.searching", "output_index": 0},
                 done(0, "web_search_call", id="w", status="completed", action={"query": "q"}), completed()) == [
        "end complete stop"
    ]  # fmt: skip


def test_c17_server_tools_are_shown_on_request() -> None:
    """Shown, they are a call and its output with origin provider."""
    told = adapt(P, [added(0, "mcp_call", id="w", name="ask", server_label="s"),
                     done(0, "mcp_call", id="w", name="ask", server_label="s", arguments='{"q":1}', output="42"), completed()],
                 show_server_tools=True)  # fmt: skip
    check_contract(told)
    call, output = finals(told)
    assert (call.origin, output.origin) == ("provider", "provider")
    assert brief(told)[1:] == ["start function_call ask", 'delta {"q":1}', 'done call ask {"q":1}',
                               "start function_call_output", "done output 42", "end complete stop"]  # fmt: skip
