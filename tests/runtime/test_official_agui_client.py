"""Every recording and the demo before the official AG-UI client.

As AG-UI 1.0 and on both roads, from StreamEvents and from the outputs of a turn: its verifier is silent, and the
messages it shows are those of our own folds.
"""

import re
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.kit.agui_client import Verdict, as_wire, ask_client, require_client
from tests.kit.recorded_turns import STREAMS, run_turns
from tests.kit.recordings import ALL, RECORDINGS
from turnwire.messages import Message, Output, StreamEvent, Thinking, ToolCall, fold_events, fold_outputs
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects.call_texts import arguments_of
from turnwire.messages.dialects.events_to_agui import EventsToAgui
from turnwire.messages.dialects.outputs_to_agui import outputs_to_agui
from turnwire.messages.folds import ResponseItem
from turnwire.messages.json_text import dump_json

OWN_FIELDS = re.compile(r"Removed unrecognised material at '/(finishReason|rawFinishReason|error|runId)' ")
"""Fields beside those of AG-UI 1.0, for readers who know them. The client drops them with a warning each."""


each_stream = pytest.mark.parametrize("name", STREAMS)


def convert(events: list[StreamEvent]) -> list[AnyAguiEvent]:
    """Give StreamEvents as AG-UI 1.0, with all there is to carry."""
    converter = EventsToAgui(dialect="1.0", provider_data=True)
    return [*(each for event in events for each in converter.push(event)), *converter.finish()]


@cache
def of_events() -> dict[str, Verdict]:
    """Give the client's verdict on StreamEvents as AG-UI."""
    require_client()
    return ask_client({name: convert(events) for name, events in STREAMS.items()})


@cache
def of_turns() -> dict[str, Verdict]:
    """Give the client's verdict on the outputs of turns as AG-UI."""
    require_client()
    return ask_client({name: outputs_to_agui(outputs) for name, outputs in run_turns().items()})


@cache
def of_late_readers() -> dict[str, Verdict]:
    """Give the client's verdict on turns that were joined halfway, with a snapshot."""
    require_client()

    def joined(outputs: tuple[Output, ...]) -> list[AnyAguiEvent]:
        half = len(outputs) // 2
        return outputs_to_agui([*fold_outputs(outputs[:half]).outputs, *outputs[half:]])

    return ask_client({name: joined(outputs) for name, outputs in run_turns().items()})


def test_the_recordings_were_there() -> None:
    """Say so if only the demo was put before the client."""
    if not ALL:
        pytest.skip(f"no recordings at {RECORDINGS}: only the demo was put before the client")


@each_stream
def test_events_as_agui_pass_the_official_verifier(name: str) -> None:
    """No event comes where it may not, and none has a field that its schema refuses."""
    verdict = of_events()[name]
    assert verdict.error is None
    assert [warning for warning in verdict.warnings if not OWN_FIELDS.search(warning)] == []


@each_stream
def test_a_turn_as_agui_passes_the_official_verifier(name: str) -> None:
    """The full states of a turn's log, cut into deltas, are a stream that the verifier has nothing against."""
    verdict = of_turns()[name]
    assert verdict.error is None
    assert [warning for warning in verdict.warnings if not OWN_FIELDS.search(warning)] == []


@each_stream
def test_the_client_shows_what_the_events_said(name: str) -> None:
    """Texts, thoughts, calls and results are those of our own fold, in its order."""
    items = [item for item in fold_events(STREAMS[name]).items if item.origin != "user"]
    verdict = of_events()[name]
    assert verdict.texts() == [item.text for item in items if item.item_type == "message"]
    assert verdict.texts("reasoning") == [item.text for item in items if item.item_type == "reasoning"]
    calls = [item for item in items if item.item_type == "function_call"]
    assert verdict.calls == [(_call_id(item), item.name, item.text) for item in calls]
    results = {item.call_id: item.text for item in items if item.item_type == "function_call_output"}
    failed = {_call_id(item) for item in calls if item.state in ("error", "cancelled")}
    assert {call: text for call, text in verdict.results.items() if call not in failed} == results
    assert failed <= verdict.results.keys()  # no tool may run on half a call


@each_stream
def test_the_client_shows_what_the_turn_said(name: str) -> None:
    """The same for the road through the actor, against the fold of the turn's log."""
    items, verdict = fold_outputs(run_turns()[name]).items, of_turns()[name]
    messages = [item for item in items if isinstance(item, Message) and item.origin != "user"]
    assert verdict.texts() == [item.content for item in messages]
    assert verdict.texts("reasoning") == [item.content for item in items if isinstance(item, Thinking)]
    calls = [item for item in items if isinstance(item, ToolCall)]
    assert verdict.calls == [(item.call_id, item.tool_name, _arguments(item)) for item in calls]
    assert verdict.results.keys() == {item.call_id for item in calls if item.status in ("complete", "error")}


@each_stream
def test_a_late_reader_is_shown_the_same(name: str) -> None:
    """Joined halfway, the stream passes the verifier and comes to the same messages."""
    late, early = of_late_readers()[name], of_turns()[name]
    assert late.error is None
    assert late.messages == early.messages


@each_stream
def test_every_event_fits_the_official_python_models(name: str) -> None:
    """Events of both roads are what the protocol's own Python package takes."""
    core = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed: its models were not asked")
    model: TypeAdapter[Any] = TypeAdapter(core.Event)
    for event in (*as_wire(convert(STREAMS[name])), *as_wire(outputs_to_agui(run_turns()[name]))):
        model.validate_json(dump_json(event))


def test_the_client_refuses_a_broken_stream() -> None:
    """The verifier is really asked: without its end, a message is still open when the run finishes."""
    converter = EventsToAgui(dialect="1.0")
    events = [each for event in STREAMS["demo"] for each in converter.push(event)]
    broken = [event for event in events if type(event).__name__ != "TextMessageEnd"]
    error = ask_client({"broken": broken})["broken"].error
    assert error is not None
    assert error["at"] == len(broken) - 1
    assert "still active" in error["message"]


def _call_id(item: ResponseItem) -> str:
    return item.call_id or item.item_id


def _arguments(call: ToolCall) -> str:
    failed_half = call.status == "error" and not call.tool_arguments
    return call.content if failed_half else arguments_of(call)
