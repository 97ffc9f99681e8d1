"""The lines of the Anthropic table that the recordings do not all reach."""

from typing import Any

import pytest

from tests.kit.recordings import adapt, make_adapter
from tests.kit.streams import (
    block_delta,
    block_start,
    block_stop,
    brief,
    final_call,
    final_message,
    finals,
    message_end,
    message_start,
    text_block,
)
from turnwire.messages import fold_events
from turnwire.messages.events import FinalReasoning, Usage
from turnwire.messages.providers.contract import check_contract

P = "anthropic-messages"


def lines(*events: Any, **options: Any) -> list[str]:
    told = adapt(P, events, **options)
    check_contract(told)
    return brief(told)[1:]


def call_block(index: int, *pieces: str, **fields: Any) -> list[dict[str, Any]]:
    deltas = [block_delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [
        block_start(index, "tool_use", **{"id": "t1", "name": "look", "input": {}, **fields}),
        *deltas,
        block_stop(index),
    ]


def test_adjacent_text_blocks_are_one_message() -> None:
    """Blocks that cut a sentence are one item; its end is the next block that is no text."""
    told = lines(
        message_start(), *text_block(0, "One"), *text_block(1, " two"), *call_block(2), *message_end("tool_use")
    )
    assert told[:5] == ["start message", "delta One", "delta  two", "done message One two", "start function_call look"]


def test_initial_text_is_a_delta() -> None:
    """Text that stands in the block's start is not lost."""
    assert lines(message_start(), block_start(0, "text", text="Hi"), block_stop(0), *message_end())[1] == "delta Hi"


def test_thinking_starts_with_its_first_text_and_keeps_its_signature() -> None:
    """The signature is assigned, not appended, and is kept byte for byte (C16)."""
    told = adapt(P, [message_start(), block_start(0, "thinking", thinking="", signature=""),
                     block_delta(0, "thinking_delta", thinking="Hm"), block_delta(0, "signature_delta", signature="old"),
                     block_delta(0, "signature_delta", signature="s+/="), block_stop(0), *message_end()])  # fmt: skip
    (reasoning,) = finals(told)
    assert isinstance(reasoning, FinalReasoning)
    assert reasoning.content == "Hm"
    assert reasoning.provider_data == {
        "format": P,
        "block": {"type": "thinking", "thinking": "Hm", "signature": "s+/="},
    }


def test_c16_thinking_without_text_travels_with_the_next_item() -> None:
    """Redacted thinking and a signature alone show nothing, and are kept in front of what follows."""
    redacted = {"type": "redacted_thinking", "data": "EqkE+/="}
    told = adapt(P, [message_start(), {"type": "content_block_start", "index": 0, "content_block": redacted}, block_stop(0),
                     block_start(1, "thinking", thinking="", signature=""),
                     block_delta(1, "signature_delta", signature="sig"), block_stop(1),
                     *text_block(2, "Hi"), *message_end()])  # fmt: skip
    assert brief(told)[1:4] == ["start message", "delta Hi", "done message Hi"]
    signed = {"type": "thinking", "thinking": "", "signature": "sig"}
    assert final_message(told).provider_data == {"format": P, "before": [redacted, signed]}


def test_c16_thinking_at_the_very_end_is_not_lost() -> None:
    """With nothing after it, it gets an empty reasoning item of its own."""
    redacted = {"type": "redacted_thinking", "data": "x"}
    told = adapt(P, [message_start(), {"type": "content_block_start", "index": 0, "content_block": redacted}, block_stop(0),
                     *message_end("max_tokens")])  # fmt: skip
    (reasoning,) = finals(told)
    assert reasoning.provider_data == {"format": P, "before": [redacted]}


def test_a_non_empty_initial_input_counts_if_no_delta_follows() -> None:
    """A call may carry its whole input at its start."""
    assert (
        final_call(adapt(P, [message_start(), *call_block(0, input={"a": 1}), *message_end("tool_use")])).arguments
        == '{"a":1}'
    )
    streamed = adapt(P, [message_start(), *call_block(0, '{"b":2}', input={"a": 1}), *message_end("tool_use")])
    assert final_call(streamed).arguments == '{"b":2}'


@pytest.mark.parametrize("stopped", [True, False])
def test_c11_max_tokens_inside_a_call(stopped: bool) -> None:
    """A call cut off by max_tokens is an error, whether its block was stopped or not."""
    events = call_block(0, '{"a": "ha')[: 3 if stopped else 2]
    assert lines(message_start(), *events, *message_end("max_tokens"))[2:] == [
        "error INCOMPLETE_ARGUMENTS",
        "end complete length",
    ]


def test_bad_json_of_a_model_that_ended_its_call_is_passed_on() -> None:
    """Only truncation makes a call incomplete; bad JSON is for the tool runner to refuse."""
    assert lines(message_start(), *call_block(0, "{a}"), *message_end("tool_use"))[2:] == [
        "done call look {a}",
        "end complete tool_calls",
    ]


def test_a_second_message_start_with_blocks_open_starts_over() -> None:
    """What was open is cancelled, and what the first attempt had cost is forgotten."""
    told = adapt(P, [message_start(input_tokens=5), block_start(0, "text", text="Hal"),
                     message_start(input_tokens=7), *text_block(0, "Hello"), *message_end(output_tokens=1)])  # fmt: skip
    check_contract(told)
    assert brief(told)[1:6] == ["start message", "delta Hal", "cancelled", "start message", "delta Hello"]
    assert fold_events(told).usage == Usage(prompt_tokens=7, completion_tokens=1, total_tokens=8)


def test_a_second_message_start_with_no_block_open_is_ignored() -> None:
    """A repeated start between blocks changes nothing."""
    adapter = make_adapter(P)
    events = [message_start(), *text_block(0, "One"), message_start(), *text_block(1, " two"), *message_end()]
    told = [each for event in events for each in adapter.feed(event)]
    assert final_message(told).content == "One two"
    assert adapter.counts["duplicate"] == 1


def test_c12_usage_is_cumulative_and_null_says_nothing() -> None:
    """Later counts overwrite, nulls do not; the prompt is all of it, cached parts included."""
    told = adapt(P, [message_start(input_tokens=10, cache_read_input_tokens=20, cache_creation_input_tokens=5, output_tokens=1),
                     *message_end(output_tokens=9, input_tokens=None)])  # fmt: skip
    assert fold_events(told).usage == Usage(
        prompt_tokens=35, completion_tokens=9, total_tokens=44, cached_tokens=20, cache_write_tokens=5
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("from_the_future", "other"),
    ],
)
def test_c13_stop_reasons(raw: str, reason: str) -> None:
    """Each stop reason in our words; the status stays complete."""
    assert lines(message_start(), *message_end(raw)) == [f"end complete {reason}"]


def test_c08_a_stop_reason_and_closed_items_may_end_well() -> None:
    """A stream that ends after its stop reason, without message_stop, is done."""
    assert lines(message_start(), *text_block(0, "Hi"), message_end()[0])[-1] == "end complete stop"


def test_c08_text_whose_block_has_stopped_is_finished() -> None:
    """A message waits for its neighbours, but at a truncation one whose blocks are all stopped stays."""
    assert lines(message_start(), *text_block(0, "Hi"))[2:] == ["done message Hi", "broken STREAM_TRUNCATED"]


def test_c14_a_ping_is_a_heartbeat() -> None:
    """Pings say that the stream is alive."""
    assert lines({"type": "ping"}, message_start(), *message_end())[0] == "heartbeat"


def test_c10_an_error_has_its_type_as_the_code() -> None:
    """Overloaded in the middle of a call: the call fails with it, then the response."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert lines(message_start(), *call_block(0, '{"a')[:2], error)[2:] == [
        "error overloaded_error",
        "broken overloaded_error",
    ]


def test_citations_are_collected() -> None:
    """Citations are the message's annotations, and where they stood is kept for the way back."""
    told = adapt(P, [message_start(), *text_block(0, "As said, "), block_start(1, "text", text=""),
                     block_delta(1, "citations_delta", citation={"n": 1}), block_delta(1, "text_delta", text="so"), block_stop(1),
                     *message_end()])  # fmt: skip
    message = final_message(told)
    assert message.annotations == [{"n": 1}]
    assert message.provider_data == {"format": P, "parts": [[9, 0], [2, 1]]}


def test_c17_server_tools_are_hidden_or_shown() -> None:
    """Hidden they travel as opaque blocks with the next item; shown they are a call and an output of the provider."""
    events = [message_start(), block_start(0, "server_tool_use", id="s1", name="web_search", input={}),
              block_delta(0, "input_json_delta", partial_json='{"query":"q"}'), block_stop(0),
              block_start(1, "web_search_tool_result", tool_use_id="s1", content=[{"url": "u"}]), block_stop(1),
              *text_block(2, "Hi"), *message_end()]  # fmt: skip
    hidden = adapt(P, events)
    assert brief(hidden)[1] == "start message"
    call, result = final_message(hidden).provider_data["before"]
    assert call == {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    assert result["content"] == [{"url": "u"}]
    shown = lines(*events, show_server_tools=True)
    assert shown[:5] == ["start function_call web_search", 'delta {"query":"q"}', 'done call web_search {"query":"q"}',
                         "start function_call_output", 'done output [{"url":"u"}]']  # fmt: skip
    assert shown[-1] == "end complete stop"


def test_c17_a_result_may_refer_to_a_call_of_an_earlier_response() -> None:
    """A resumed turn begins with the result of a call that this stream has never seen."""
    told = adapt(P, [message_start(), block_start(0, "code_execution_tool_result", tool_use_id="earlier", content={"type": "code_execution_tool_result_error"}),
                     block_stop(0), *message_end()], show_server_tools=True)  # fmt: skip
    check_contract(told)
    (output,) = finals(told)
    assert (getattr(output, "call_id", None), getattr(output, "success", None)) == ("earlier", False)


def test_a_lost_block_start_loses_no_text() -> None:
    """Deltas of a block whose start never came are shown all the same."""
    assert lines(message_start(), block_delta(0, "text_delta", text="Hi"), block_stop(0), *message_end())[:3] == [
        "start message",
        "delta Hi",
        "done message Hi",
    ]


def test_c04_a_block_whose_index_is_given_away_is_still_closed() -> None:
    """A call that waits for its stop reason is not forgotten when another block takes its index."""
    told = lines(message_start(), *call_block(0, '{"a'), *text_block(0, "Hi"), *message_end("max_tokens"))
    assert told[-3:] == ["error INCOMPLETE_ARGUMENTS", "done message Hi", "end complete length"]
