"""The lines of the chat table that the recordings do not all reach."""

from typing import Any

import pytest

from tests.kit.recordings import adapt, make_adapter
from tests.kit.streams import brief, call_piece, chunk, final_call, final_message, finals
from turnwire.messages import StreamEvent
from turnwire.messages.events import FinalFunctionCall, ResponseDone
from turnwire.messages.providers.contract import check_contract

P = "openai-chat"


def lines(*events: Any) -> list[str]:
    told = adapt(P, events)
    check_contract(told)
    return brief(told)[1:]


def fed(*events: Any) -> list[StreamEvent]:
    """Give what a stream tells whose last event is `[DONE]`."""
    adapter = make_adapter(P)
    return [each for event in events for each in adapter.feed(event)] + adapter.feed_data("[DONE]")


def test_role_only_and_empty_deltas_tell_nothing() -> None:
    """An item begins with its first text, not with an announcement of it."""
    assert lines(chunk(role="assistant", content=""), chunk(), chunk("stop")) == ["end complete stop"]


def test_content_may_be_a_list_of_text_and_thinking() -> None:
    """Parts of a list are told by what they are; unknown ones are passed over."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    parts = [thinking, {"type": "text", "text": "Hi"}, {"type": "image", "url": "u"}]
    assert lines(chunk(content=parts), chunk("stop"))[:6] == [
        "start reasoning",
        "delta Hm.",
        "done reasoning Hm.",
        "start message",
        "delta Hi",
        "done message Hi",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "Hm", "reasoning": "copy"},
        {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "copy"}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "H"}, {"type": "reasoning.summary", "summary": "m"}]},
    ],
)
def test_one_of_the_copies_of_reasoning_is_taken(fields: dict[str, Any]) -> None:
    """reasoning_content before reasoning before reasoning_details."""
    assert lines(chunk(**fields), chunk("stop"))[:3] == ["start reasoning", "delta Hm", "done reasoning Hm"]


def test_calls_are_known_by_index() -> None:
    """Fragments that come mixed find their calls by index; id and name may repeat."""
    told = fed(
        call_piece('{"a"', index=0, name="one", call_id="c1"),
        call_piece('{"b"', index=1, name="two", call_id="c2"),
        call_piece(":1}", index=0, name="one", call_id="c1"),
        call_piece(":2}", index=1),
        chunk("tool_calls"),
    )
    check_contract(told)
    calls = [final for final in finals(told) if isinstance(final, FinalFunctionCall)]
    assert [(call.name, call.call_id, call.arguments) for call in calls] == [
        ("one", "c1", '{"a":1}'),
        ("two", "c2", '{"b":2}'),
    ]


def test_calls_without_index_are_known_by_id_then_by_position() -> None:
    """A host that sends no index is understood by ids, and where those are missing by the place in the list."""
    two = chunk(tool_calls=[{"id": "c1", "function": {"name": "one", "arguments": '{"a"'}},
                            {"id": "c2", "function": {"name": "two", "arguments": '{"b"'}}])  # fmt: skip
    by_id = chunk(tool_calls=[{"id": "c2", "function": {"arguments": ":2"}}])
    by_place = chunk(tool_calls=[{"function": {"arguments": ":1}"}}, {"function": {"arguments": "}"}}])
    told = lines(two, by_id, chunk(tool_calls=[{"id": "c1", "function": {}}]), by_place, chunk("tool_calls"))
    assert told[-3:-1] == ['done call one {"a":1}', 'done call two {"b":2}']


def test_a_host_that_numbers_all_calls_zero_is_understood() -> None:
    """A new id with a name, where a complete call stands, begins another call."""
    told = lines(
        call_piece('{"a":1}', name="one", call_id="c1"), call_piece('{"b":2}', name="two", call_id="c2"), chunk("tool_calls")
    )  # fmt: skip
    assert told[-3:-1] == ['done call one {"a":1}', 'done call two {"b":2}']


def test_a_call_starts_once_its_name_is_known() -> None:
    """Arguments that come ahead of the name wait for it."""
    told = lines(call_piece('{"a"', call_id="c1"), call_piece(":1}", name="look"), chunk("tool_calls"))
    assert told == ["start function_call look", 'delta {"a":1}', 'done call look {"a":1}', "end complete tool_calls"]


def test_a_call_that_never_gets_a_name_is_no_call() -> None:
    """Nobody could run it: it is counted and not told."""
    adapter = make_adapter(P)
    told = adapter.feed(call_piece("{}", call_id="c1")) + adapter.feed(chunk("stop")) + adapter.finish()
    assert brief(told) == ["begin", "end complete stop"]
    assert adapter.counts["nameless_call"] == 1


def test_arguments_may_come_as_an_object() -> None:
    """An object is taken as its JSON text."""
    assert final_call(adapt(P, [call_piece({"a": 1}, name="look", call_id="c1"), chunk("stop")])).arguments == '{"a":1}'


def test_the_legacy_function_call_is_one_tool() -> None:
    """`function_call` is a call at index 0."""
    told = lines(chunk(function_call={"name": "look", "arguments": ""}), chunk(function_call={"arguments": "{}"}),
                 chunk("function_call"))  # fmt: skip
    assert told == ["start function_call look", "delta {}", "done call look {}", "end complete tool_calls"]


def test_finish_closes_text_then_calls_and_waits_for_usage() -> None:
    """Items are closed by finish_reason; the response ends later, with the usage of a chunk that has no choices."""
    adapter = make_adapter(P)
    for event in (call_piece("{}", name="look", call_id="c1"), chunk(content="Hi")):
        adapter.feed(event)
    assert brief(adapter.feed(chunk("stop"))) == ["done message Hi", "done call look {}"]
    assert not adapter.ended
    assert adapter.feed({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}) == []
    assert brief(adapter.finish()) == ["usage", "end complete tool_calls"]


def test_any_call_makes_the_finish_reason_tool_calls() -> None:
    """Whatever the host says; what it said is kept beside it."""
    end = fed(call_piece("{}", name="look", call_id="c1"), chunk("stop"))[-1].payload
    assert isinstance(end, ResponseDone)
    assert (end.finish_reason, end.raw_finish_reason) == ("tool_calls", "stop")


def test_c11_a_call_cut_off_by_length_is_incomplete() -> None:
    """Half a call is an error; a whole one before it is a call."""
    told = lines(call_piece('{"a":1}', index=0, name="one", call_id="c1"), call_piece('{"b"', index=1, name="two", call_id="c2"),
                 chunk("length"))  # fmt: skip
    assert told[-3:-1] == ['done call one {"a":1}', "error INCOMPLETE_ARGUMENTS"]


def test_done_without_a_finish_reason_is_other() -> None:
    """`[DONE]` ends the response even if nobody said why; half calls are not offered."""
    assert brief(fed(chunk(content="Hi")))[-2:] == ["done message Hi", "end complete other"]
    assert "error INCOMPLETE_ARGUMENTS" in brief(fed(call_piece('{"a"', name="look", call_id="c1")))


def test_c08_at_a_truncation_a_call_that_others_have_followed_is_finished() -> None:
    """A complete call with another one after it stays; the last one, whole or not, does not."""
    told = lines(
        call_piece('{"a":1}', index=0, name="one", call_id="c1"),
        call_piece('{"b":2}', index=1, name="two", call_id="c2"),
    )
    assert told[-3:] == ['done call one {"a":1}', "error STREAM_TRUNCATED", "broken STREAM_TRUNCATED"]


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "no", "code": 500}},
        {"choices": [{"index": 0, "delta": {}, "error": {"message": "no", "code": 500}}]},
        {"error": {"message": "no", "code": 500}, "choices": [], "usage": {"prompt_tokens": 1}},
    ],
    ids=["top", "choice", "with usage"],
)
def test_c10_errors_inside_the_stream(event: dict[str, Any]) -> None:
    """An error at the top level or inside a choice breaks the response, with usage if that came along."""
    told = lines(chunk(content="Hi"), event)
    assert [line for line in told[2:] if line != "usage"] == ["error 500", "broken 500"]
    assert ("usage" in told) == ("usage" in event)


def test_only_the_first_choice_becomes_items() -> None:
    """Other choices are counted and dropped."""
    adapter = make_adapter(P)
    told = adapter.feed(
        {"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]}
    )
    assert brief(told) == ["begin", "start message", "delta yes"]
    assert adapter.counts["other_choice"] == 1


def test_annotations_are_collected_even_ahead_of_the_text() -> None:
    """Citations that come before the answer are on the answer."""
    told = adapt(P, [chunk(content="", annotations=[{"url": "u"}]), chunk(content="Hi"), chunk("stop")])
    assert final_message(told).annotations == [{"url": "u"}]


def test_c16_sealed_reasoning_details_are_kept() -> None:
    """Signed or encrypted details are kept as they came, with the reasoning or with what follows it."""
    sealed = {"type": "reasoning.encrypted", "data": "ZZ+/=", "index": 0}
    told = adapt(P, [chunk(reasoning_details=[sealed]), chunk(content="Hi"), chunk("stop")])
    assert final_message(told).provider_data == {"format": P, "before": [{"reasoning_details": [sealed]}]}
    signed = {"type": "reasoning.text", "text": "Hm", "signature": "sig"}
    reasoning, _ = finals(adapt(P, [chunk(reasoning_details=[signed]), chunk(content="Hi"), chunk("stop")]))
    assert reasoning.provider_data == {"format": P, "reasoning_details": [signed]}


def test_text_after_the_finish_is_not_lost() -> None:
    """A host that goes on after finish_reason gets a second message."""
    assert lines(chunk("stop", content="Hi"), chunk(content="!"))[2:] == [
        "done message Hi",
        "start message",
        "delta !",
        "done message !",
        "end complete stop",
    ]


def test_c03_nothing_of_a_chunk_is_told_after_an_error_inside_it() -> None:
    """Choices that stand behind a broken one in the same chunk come too late."""
    broken = {"index": 0, "error": {"code": 500}}
    late = {"index": 0, "delta": {"content": "late"}}
    assert lines({"choices": [broken, late]}) == ["broken 500"]
