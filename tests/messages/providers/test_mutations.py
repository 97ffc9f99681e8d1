"""A stream comes to the same however its provider cuts it, and no stranger in it can break it."""

import copy
import random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.mutations import join_deltas, recut, rename_ids, split_deltas, with_pings, with_strangers
from tests.kit.recordings import ALL, Recording, adapt, each_recording, make_adapter, told
from turnwire.messages import StreamEvent
from turnwire.messages.events import Heartbeat
from turnwire.messages.json_shapes import is_list, is_object
from turnwire.messages.providers import ADAPTERS
from turnwire.messages.providers.contract import check_contract
from turnwire.messages.sse import SseParser


def from_bytes(provider: str, pieces: Any, **options: Any) -> list[StreamEvent]:
    adapter, parser = make_adapter(provider, **options), SseParser()
    events = [each for piece in pieces for sse in parser.feed(piece) for each in adapter.feed_data(sse.data, sse.name)]
    events += [each for sse in parser.finish() for each in adapter.feed_data(sse.data, sse.name)]
    return events + adapter.finish()


@each_recording
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_c15_recut_at_random_bytes(recording: Recording, line_end: str) -> None:
    """The SSE body cut anywhere, in characters and line ends too, gives the same StreamEvents as its events."""
    rng = random.Random(recording.name)
    pieces = recut(recording.body(line_end), rng, pieces=len(recording.events) * 3)
    trace = make_adapter(recording.provider)._trace_context
    assert from_bytes(recording.provider, pieces, trace_context=trace) == adapt(
        recording.provider, recording.events, trace_context=trace
    )


@each_recording
def test_deltas_split_and_joined_anew_come_to_the_same(recording: Recording) -> None:
    """How a provider cuts its deltas is not content."""
    rng = random.Random(recording.name)
    expected = told(adapt(recording.provider, recording.events))
    if recording.name == "anomaly-duplicated-events":
        return  # its repeats are known by the sequence numbers that new deltas do not have
    for events in (
        split_deltas(recording.provider, recording.events, rng),
        join_deltas(recording.provider, recording.events),
    ):
        seen = adapt(recording.provider, events)
        check_contract(seen)
        assert told(seen) == expected


@each_recording
def test_c06_renamed_ids_change_nothing_but_ids(recording: Recording) -> None:
    """Items are known by their place: ids that change, even within an item, change no content."""
    seen = adapt(recording.provider, rename_ids(recording.provider, recording.events))
    check_contract(seen)
    assert told(seen) == told(adapt(recording.provider, recording.events))


@each_recording
def test_c14_pings_become_at_most_heartbeats(recording: Recording) -> None:
    """Pings anywhere change nothing of the content."""
    pinged = with_pings(recording.provider, recording.events, random.Random(recording.name))
    seen = adapt(recording.provider, pinged)
    check_contract(seen)
    assert told(seen) == told(adapt(recording.provider, recording.events))
    beats = sum(isinstance(event.payload, Heartbeat) for event in seen)
    assert beats <= sum(event.get("type") == "ping" for event in pinged)


@each_recording
def test_c07_strangers_are_passed_over_and_counted(recording: Recording) -> None:
    """Unknown events, blocks, deltas and fields raise nothing, show nothing, and are counted."""
    rng = random.Random(recording.name)
    adapter = make_adapter(recording.provider)
    seen = [each for event in with_strangers(recording.provider, recording.events, rng) for each in adapter.feed(event)]
    seen += adapter.finish()
    check_contract(seen)
    assert told(seen) == told(adapt(recording.provider, recording.events))
    assert adapter.counts.total() >= 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KNOWN_WORDS = sorted(
    {"type", "index", "delta", "choices", "content", "tool_calls", "function", "arguments", "name", "id", "item",
          "output_index", "response", "error", "usage", "content_block", "message", "text", "summary_index",
          "reasoning_details", "finish_reason", "stop_reason", "sequence_number", "output", "summary", "annotations"}
)  # fmt: skip
KNOWN_TYPES = [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "ping", "error", "text", "thinking", "tool_use", "redacted_thinking", "server_tool_use", "text_delta",
    "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "web_search_tool_result", "compaction",
    "response.created", "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.output_text.done", "response.function_call_arguments.delta", "response.function_call_arguments.done",
    "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.completed",
    "response.incomplete", "response.failed", "response.cancelled", "message", "reasoning", "function_call",
    "custom_tool_call", "web_search_call", "response.output_text.annotation.added", "response.refusal.delta",
]  # fmt: skip
KNOWN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=4) | st.sampled_from(KNOWN_TYPES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KNOWN_WORDS), inner, max_size=5),
    max_leaves=12,
)


@given(
    provider=st.sampled_from(sorted(ADAPTERS)),
    events=st.lists(JSON | KNOWN_JSON, max_size=8),
    shown=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_c07_no_json_whatsoever_raises(provider: str, events: list[Any], shown: bool) -> None:
    """Any sequence of JSON values, likely or not, gives a valid response and no exception."""
    check_contract(adapt(provider, events, show_server_tools=shown))


@pytest.mark.skipif(not ALL, reason="no recordings")
@given(data=st.data())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_c07_mutated_recordings_never_raise(data: st.DataObject) -> None:
    """A real stream with events dropped, doubled, swapped, or with values replaced by any JSON, is survived."""
    recording = data.draw(st.sampled_from([each for each in ALL if len(each.events) < 130]))
    events = copy.deepcopy(recording.events)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(events) - 1))
        match data.draw(st.sampled_from(["drop", "double", "swap", "value"])):
            case "drop" if len(events) > 1:
                del events[place]
            case "double":
                events.insert(place, copy.deepcopy(events[place]))
            case "swap":
                other = data.draw(st.integers(0, len(events) - 1))
                events[place], events[other] = events[other], events[place]
            case _:
                _replace_somewhere(events[place], data)
    shown = data.draw(st.booleans())
    check_contract(adapt(recording.provider, events, show_server_tools=shown))


def _replace_somewhere(value: Any, data: st.DataObject) -> None:
    while value and (is_object(value) or is_list(value)):
        keys: Any = sorted(value) if is_object(value) else range(len(value))
        key: Any = data.draw(st.sampled_from(keys))
        inner: Any = cast("Any", value)[key]
        if not inner or not (is_object(inner) or is_list(inner)) or data.draw(st.booleans()):
            cast("Any", value)[key] = data.draw(JSON)
            return
        value = inner
