"""All recorded streams against what they must come to, whole and cut off after every single event."""

import copy
import json
from typing import Any

from tests.kit.recordings import Recording, adapt, each_recording, make_adapter, told
from turnwire.messages import fold_events
from turnwire.messages.events import (
    FinalFunctionCall,
    ItemDone,
    ItemError,
    ResponseDone,
    ResponseError,
    StreamEvent,
)
from turnwire.messages.providers.contract import ContractChecker, check_contract
from turnwire.messages.providers.endings import STREAM_TRUNCATED

RESTARTED = "anomaly-spliced-message-start"
"""Its first attempt has finished a block of thinking before the provider starts over. That one was told and stays;
what is expected is the second attempt alone."""

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "completed": "stop",
    "max_output_tokens": "length",
}


@each_recording
def test_c03_c04_c05_hold_on_every_recording(recording: Recording) -> None:
    """A recording gives one start, items that are closed once and add up, and one terminal."""
    check_contract(adapt(recording.provider, recording.events, prompt="Hello"))
    check_contract(adapt(recording.provider, recording.events, show_server_tools=True))


@each_recording
def test_texts_are_those_that_are_expected(recording: Recording) -> None:
    """Messages hold the text runs of the recording, refusals included; two messages in a row stay two."""
    items = [item for item in recording.expected["items"] if item.get("choice", 0) == 0]
    expected = "".join(
        (item.get("text") or "") + (item.get("refusal") or "") for item in items if item["kind"] == "message"
    )
    seen = told(adapt(recording.provider, recording.events))
    assert "".join(seen.texts) == expected
    if recording.provider == "anthropic-messages":
        assert list(seen.texts) == [text for text in recording.final["text_runs"] if text]


@each_recording
def test_thinking_is_what_is_expected(recording: Recording) -> None:
    """Reasoning items hold the thinking of the recording; thinking without text gives none."""
    response = fold_events(adapt(recording.provider, recording.events))
    thoughts = ["".join(item.text.split()) for item in response.items if item.item_type == "reasoning"]
    if recording.name == RESTARTED:
        thoughts = thoughts[1:]
    assert thoughts == ["".join(text.split()) for text in recording.final["thinking"] if text]


@each_recording
def test_calls_are_those_that_are_expected(recording: Recording) -> None:
    """Whole calls come with name, call_id and arguments; a call that was cut off is an error, never a call."""
    events = adapt(recording.provider, recording.events)
    calls = {
        event.payload.final_item.call_id: event.payload.final_item
        for event in events
        if isinstance(event.payload, ItemDone) and isinstance(event.payload.final_item, FinalFunctionCall)
    }
    whole = [call for call in recording.final["tool_calls"] if _is_whole(recording, call)]
    assert list(calls) == [call["call_id"] for call in whole]
    for call in whole:
        made = calls[call["call_id"]]
        assert made.name == call["name"]
        assert made.arguments is not None
        if call["arguments_json"] is None:
            assert json.loads(made.arguments) == {"input": call["arguments"]}
        else:
            assert json.loads(made.arguments) == call["arguments_json"]
            assert not call["arguments"] or made.arguments == call["arguments"]
    failed = [event for event in events if isinstance(event.payload, ItemError)]
    assert len(failed) >= len(recording.final["tool_calls"]) - len(whole)


@each_recording
def test_c12_usage_is_what_is_expected(recording: Recording) -> None:
    """The counts are the recording's; those it does not have are left out."""
    usage = fold_events(adapt(recording.provider, recording.events)).usage
    expected: dict[str, int] | None = recording.final["usage"]
    if expected is None:
        assert usage is None
        return
    assert usage is not None
    assert usage.prompt_tokens == expected["prompt_total"]
    assert usage.completion_tokens == expected["output_tokens"]
    assert usage.total_tokens == expected["total"]
    assert (usage.cached_tokens or 0) == expected["cache_read"]
    assert (usage.cache_write_tokens or 0) == expected.get("cache_write", usage.cache_write_tokens or 0)
    assert (usage.reasoning_tokens or 0) == expected.get("reasoning_tokens", 0)


@each_recording
def test_c13_the_end_is_what_is_expected(recording: Recording) -> None:
    """Terminal, finish reason and its raw value, and the provider's own names, are the recording's."""
    adapter = make_adapter(recording.provider)
    events = [each for event in recording.events for each in adapter.feed(event)] + adapter.finish()
    end, status = events[-1].payload, recording.final["status"]
    assert adapter.served_model == (recording.expected["model"] or "")
    assert adapter.provider_response_id == (recording.expected["response_id"] or "")
    if status == "truncated":
        assert isinstance(end, ResponseError)
        assert end.error.code == STREAM_TRUNCATED
    elif status == "error":
        assert isinstance(end, ResponseError)
        assert end.error.code == str(recording.final["error"]["code"])
        assert end.error.message == recording.final["error"]["message"]
    else:
        assert isinstance(end, ResponseDone)
        assert end.status == "complete"
        assert end.raw_finish_reason == recording.final["finish_reason"]
        assert end.finish_reason == _finish_reason(recording)


@each_recording
def test_c08_cut_off_after_every_single_event(recording: Recording) -> None:
    """Wherever a stream is cut there is one terminal, every item is closed, and no half call is offered as whole."""
    whole_calls = _arguments(adapt(recording.provider, recording.events))
    going_on = make_adapter(recording.provider, prompt="Hello"), ContractChecker()
    for number, event in enumerate(recording.events):
        adapter, checker = copy.deepcopy(going_on)  # the stream so far, ended here
        last_words = adapter.finish()
        for each in last_words:
            checker.push(each)
        checker.end()
        for call_id, arguments in _arguments(last_words).items():
            assert arguments == whole_calls[call_id], f"cut after {number} events"
        for each in going_on[0].feed(event):
            going_on[1].push(each)
        if going_on[0].ended:
            return


@each_recording
def test_c09_aborted_at_any_place(recording: Recording) -> None:
    """An abort closes every item and says aborted; text that was shown stays."""
    for cut in range(0, len(recording.events), max(1, len(recording.events) // 20)):
        adapter = make_adapter(recording.provider)
        events = [each for event in recording.events[:cut] for each in adapter.feed(event)]
        if adapter.ended:
            assert adapter.abort() == []
            continue
        events += adapter.abort()
        check_contract(events)
        end = events[-1].payload
        assert isinstance(end, ResponseDone)
        assert end.status == "aborted"


def _is_whole(recording: Recording, call: dict[str, Any]) -> bool:
    if call["arguments_json"] is None and recording.name.startswith("tool-custom"):
        return True  # free text, no JSON, and complete
    still_open_at_the_error = recording.final["status"] == "error" and not call["arguments"]
    return call["arguments_complete"] is True and not still_open_at_the_error


def _finish_reason(recording: Recording) -> str:
    raw: str = recording.final["finish_reason"]
    if any(recording.final["refusal"]):
        return "refusal"
    if recording.final["tool_calls"] and recording.final["status"] == "complete":
        return "tool_calls"
    return FINISH_REASONS.get(raw, raw)


def _arguments(events: list[StreamEvent]) -> dict[str, str | None]:
    return {
        event.payload.final_item.call_id: event.payload.final_item.arguments
        for event in events
        if isinstance(event.payload, ItemDone) and isinstance(event.payload.final_item, FinalFunctionCall)
    }
