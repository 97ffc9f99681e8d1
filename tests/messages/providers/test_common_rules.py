"""The rules that all adapters share, each by its number, on hand-made streams."""

import re

import pytest

from tests.kit.recordings import adapt, each_provider, make_adapter
from tests.kit.streams import (
    Event,
    added,
    block_delta,
    block_start,
    block_stop,
    brief,
    call_piece,
    chunk,
    completed,
    delta,
    done,
    final_call,
    message_end,
    message_start,
    output_text,
    text_block,
)
from turnwire.messages import fold_events
from turnwire.messages.events import (
    ItemDone,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    TraceContext,
    Usage,
)
from turnwire.messages.providers import Adapter
from turnwire.messages.providers.contract import check_contract

HELLO: dict[str, list[Event]] = {
    "openai-responses": [
        added(0, "message", id="msg_1"),
        delta(0, "output_text", "Hel"),
        delta(0, "output_text", "lo"),
        done(0, "message", id="msg_1", content=output_text("Hello")),
        completed(input_tokens=3, output_tokens=2),
    ],
    "openai-chat": [
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk("stop"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    ],
    "anthropic-messages": [
        message_start(input_tokens=3, output_tokens=1),
        *text_block(0, "Hel", "lo"),
        *message_end(output_tokens=2),
    ],
}
HALF_CALL: dict[str, list[Event]] = {
    "openai-responses": [
        added(0, "function_call", id="fc_1", call_id="c1", name="look"),
        delta(0, "function_call_arguments", '{"a": '),
    ],
    "openai-chat": [call_piece('{"a": ', name="look", call_id="c1")],
    "anthropic-messages": [
        message_start(),
        block_start(0, "tool_use", id="c1", name="look", input={}),
        block_delta(0, "input_json_delta", partial_json='{"a": '),
    ],
}
TOLD = ["start message", "delta Hel", "delta lo", "done message Hello"]


def open_text(provider: str) -> Adapter:
    """Give an adapter that has shown `Hel` and nothing more."""
    adapter = make_adapter(provider)
    upto = next(place for place, event in enumerate(HELLO[provider]) if "Hel" in str(event))
    for event in HELLO[provider][: upto + 1]:
        adapter.feed(event)
    return adapter


@each_provider
def test_c01_the_start_does_not_wait_for_the_provider(provider: str) -> None:
    """response_start comes before anything was fed, once, with our ids; the provider's own travel at the end."""
    adapter = make_adapter(provider, turn_id="turn", model_id="asked-for", provider_id="someone", agent_id="agent")
    (first,) = adapter.start()
    assert adapter.start() == []
    assert first.payload == ResponseStart(
        response_id="run",
        turn_id="turn",
        thread_id="thread",
        model_id="asked-for",
        provider_id="someone",
        agent_id="agent",
        created_at=0,
    )
    events = [each for event in HELLO[provider] for each in adapter.feed(event)] + adapter.finish()
    end = events[-1].payload
    assert isinstance(end, ResponseDone)
    assert end.response_id == "run"
    assert end.served_model == "m" or provider == "openai-responses"
    assert end.provider_response_id in ("resp_1", "chatcmpl-1", "msg_1")


@each_provider
def test_c01_every_event_has_a_trace_context(provider: str) -> None:
    """Without one of the caller's, a run makes one valid W3C context and keeps it."""
    contexts = {event.trace_context.traceparent for event in adapt(provider, HELLO[provider])}
    (context,) = contexts
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", context)
    given = TraceContext(traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    assert {event.trace_context for event in adapt(provider, HELLO[provider], trace_context=given)} == {given}


@each_provider
def test_c02_the_prompt_is_an_item(provider: str) -> None:
    """The user's prompt is told first, as a finished item with origin user."""
    _, start, end, *_ = adapt(provider, HELLO[provider], prompt="Say hello")
    assert start.payload == ItemStart(
        item_id="run-user-prompt", item_type="message", origin="user", initial_content="Say hello"
    )
    assert isinstance(end.payload, ItemDone)
    assert (end.payload.final_item.id, end.payload.final_item.origin) == ("run-user-prompt", "user")


@each_provider
@pytest.mark.parametrize("prompt", [None, ""])
def test_c02_an_empty_prompt_is_none(provider: str, prompt: str | None) -> None:
    """No prompt, or an empty one, gives no item."""
    assert brief(adapt(provider, HELLO[provider], prompt=prompt))[1] == "start message"


@each_provider
def test_c02_c12_a_later_iteration_goes_on_where_the_first_stopped(provider: str) -> None:
    """A tool loop's next response has no start, no prompt, fresh ids, and the sum of what all have cost."""
    first = make_adapter(provider, prompt="Hello")
    before = [each for event in HELLO[provider] for each in first.feed(event)] + first.finish()
    events = adapt(provider, HELLO[provider], prompt="Hello", after=first.continuation())
    check_contract(events, continued=True)
    assert brief(events)[:4] == TOLD
    assert not {event.event_id for event in before} & {event.event_id for event in events}
    assert not {e.payload.item_id for e in before if isinstance(e.payload, ItemStart)} & {
        e.payload.item_id for e in events if isinstance(e.payload, ItemStart)
    }
    assert before[0].trace_context == events[0].trace_context
    assert fold_events(events).usage == Usage(prompt_tokens=6, completion_tokens=4, total_tokens=10)


@each_provider
def test_c03_after_the_terminal_there_is_nothing(provider: str) -> None:
    """Whatever is fed, finished, aborted or failed after the end gives nothing and is counted."""
    adapter = make_adapter(provider)
    for event in HELLO[provider]:
        adapter.feed(event)
    adapter.finish()
    assert adapter.ended
    assert adapter.feed(HELLO[provider][0]) == []
    assert adapter.finish() == adapter.abort() == adapter.fail("X", "y") == adapter.feed_data("[DONE]") == []
    assert adapter.counts["after_end"] == 1


@each_provider
def test_c04_c05_text_is_told_as_it_comes(provider: str) -> None:
    """A message starts, grows by deltas that add up, and is done; then usage and the end."""
    assert brief(adapt(provider, HELLO[provider])) == ["begin", *TOLD, "usage", "end complete stop"]


@each_provider
def test_c06_a_replay_gives_the_same_ids(provider: str) -> None:
    """The same stream twice gives the same item ids and event ids."""
    one, two = adapt(provider, HELLO[provider]), adapt(provider, HELLO[provider])
    assert [event.event_id for event in one] == [event.event_id for event in two]
    assert [event.event_id for event in one[:2]] == ["run-e1", "run-e2"]
    assert [getattr(event.payload, "item_id", None) for event in one] == [
        getattr(event.payload, "item_id", None) for event in two
    ]


@each_provider
@pytest.mark.parametrize("nonsense", [None, 7, "text", [], {}, {"type": "future"}, {"type": None}])
def test_c07_nonsense_is_counted(provider: str, nonsense: object) -> None:
    """What cannot be understood is counted, never raised."""
    adapter = make_adapter(provider)
    assert brief(adapter.feed(nonsense)) == ["begin"]
    assert adapter.counts.total() == 1


@each_provider
def test_c08_an_end_with_open_text_is_a_truncation(provider: str) -> None:
    """Open items and the response both end with STREAM_TRUNCATED, usage if it is known before the last."""
    adapter = open_text(provider)
    lines = brief(adapter.finish())
    assert [line for line in lines if line != "usage"] == ["error STREAM_TRUNCATED", "broken STREAM_TRUNCATED"]


@each_provider
def test_c08_an_empty_stream_is_a_truncation(provider: str) -> None:
    """A stream that says nothing at all still gets a start and a terminal."""
    assert brief(adapt(provider, [])) == ["begin", "broken STREAM_TRUNCATED"]


@each_provider
def test_c09_an_abort_keeps_what_was_shown(provider: str) -> None:
    """Open text is done with what there is; the response ends as aborted."""
    lines = brief(open_text(provider).abort())
    assert [line for line in lines if line != "usage"] == ["done message Hel", "end aborted None"]


@each_provider
def test_c09_an_aborted_call_is_incomplete(provider: str) -> None:
    """An open call cannot be kept: no tool may run on half of it."""
    adapter = make_adapter(provider)
    for event in HALF_CALL[provider]:
        adapter.feed(event)
    assert brief(adapter.abort()) == ["error INCOMPLETE_ARGUMENTS", "end aborted None"]


@each_provider
def test_c10_a_transport_error_ends_every_open_item(provider: str) -> None:
    """Each open item gets the response's own error code, and the error says whether to try again."""
    adapter = open_text(provider)
    events = adapter.fail("GATEWAY", "no way", retryable=True, details={"status": 502})
    assert [line for line in brief(events) if line != "usage"] == ["error GATEWAY", "broken GATEWAY"]
    end = events[-1].payload
    assert isinstance(end, ResponseError)
    assert end.error.details == {"retryable": True, "provider_error": {"status": 502}}


@each_provider
@pytest.mark.parametrize(
    ("payload", "code", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded_error", True),
        ({"type": "error", "error": {"type": "rate_limit_error"}}, "rate_limit_error", True),
        ({"code": 503, "message": "later"}, "503", True),
        ({"code": "insufficient_quota", "type": "insufficient_quota"}, "insufficient_quota", False),
        ({"code": 400}, "400", False),
        ("just words", "PROVIDER_ERROR", False),
        (None, "PROVIDER_ERROR", False),
    ],
)
def test_c10_errors_of_every_shape_are_read(provider: str, payload: object, code: str, retryable: bool) -> None:
    """A provider's error object is taken as it comes, wrapped or bare, and kept whole."""
    end = make_adapter(provider).fail_from(payload)[-1].payload
    assert isinstance(end, ResponseError)
    assert end.error.code == code
    assert end.error.message
    assert end.error.details["retryable"] is retryable
    assert "provider_error" in end.error.details


@pytest.mark.parametrize(
    ("provider", "events"),
    [
        ("openai-responses", [added(0, "function_call", id="f", call_id="c1", name="look"),
                              done(0, "function_call", id="f", call_id="c1", name="look", arguments=""), completed()]),
        ("openai-chat", [call_piece("", name="look", call_id="c1"), chunk("tool_calls")]),
        ("anthropic-messages", [message_start(), block_start(0, "tool_use", id="c1", name="look", input={}),
                                block_delta(0, "input_json_delta", partial_json=""), block_stop(0),
                                *message_end("tool_use")]),
    ],
)  # fmt: skip
def test_c11_no_arguments_are_an_empty_object(provider: str, events: list[Event]) -> None:
    """A call without arguments has `{}`, told by a delta like any other text."""
    told = adapt(provider, events)
    assert brief(told)[1:4] == ["start function_call look", "delta {}", "done call look {}"]
    assert final_call(told).call_id == "c1"


@each_provider
def test_c12_unknown_counts_are_left_out(provider: str) -> None:
    """What the provider did not say is absent, not zero."""
    usage = fold_events(adapt(provider, HELLO[provider])).usage
    assert usage == Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)


@each_provider
def test_ids_must_not_be_empty(provider: str) -> None:
    """An adapter without a run or a thread is refused at once."""
    with pytest.raises(ValueError, match="must not be empty"):
        make_adapter(provider, run_id="")


@each_provider
def test_event_ids_and_time_may_be_the_hosts(provider: str) -> None:
    """A host may give its own event ids and its own clock."""
    numbers = iter(range(100, 200))
    events = adapt(provider, HELLO[provider], new_event_id=lambda: f"own-{next(numbers)}", now=lambda: 12345)
    assert [event.event_id for event in events][:2] == ["own-100", "own-101"]
    assert {event.timestamp for event in events} == {12345}
