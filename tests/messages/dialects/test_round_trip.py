"""StreamEvents → AG-UI → JSON → AG-UI → StreamEvents: nothing that AG-UI can carry is lost, in either dialect."""

from typing import Any, get_args

import attrs
import pytest
from hypothesis import given

from tests.kit.recordings import Recording, adapt, each_recording
from tests.kit.responses import responses
from turnwire.messages import StreamEvent, fold_events, parse_json_or_text
from turnwire.messages.agui.codec import Dialect, decode_agui, encode_agui
from turnwire.messages.agui.events import RunFinished, ToolCallEnd
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects import AguiAdapter, EventsToAgui, agui_to_events
from turnwire.messages.events import FinalFunctionCall, FinalItem, ScriptExecutionStart
from turnwire.messages.testing import check_agui_contract, check_contract

each_dialect = pytest.mark.parametrize("dialect", get_args(Dialect))


def convert(events: list[StreamEvent], dialect: Dialect) -> list[AnyAguiEvent]:
    """Convert with all there is to carry."""
    converter = EventsToAgui(dialect=dialect, provider_data=True)
    return [*(each for event in events for each in converter.push(event)), *converter.finish()]


def there_and_back(events: list[StreamEvent], dialect: Dialect) -> list[StreamEvent]:
    """Convert, write, read, and convert back."""
    wire = [encode_agui(event, dialect=dialect) for event in convert(events, dialect)]
    return agui_to_events(decode_agui(line) for line in wire)


def essence(events: list[StreamEvent]) -> Any:
    """Give all that a stream says and AG-UI can carry: items in their order, how each ended, how the run did."""
    response = fold_events(events)
    items = [
        (
            item.item_id,
            item.item_type,
            item.state,
            parse_json_or_text(item.text or "{}") if item.item_type == "function_call" else item.text,
            item.origin,
            item.name,
            item.call_id or item.item_id if item.item_type == "function_call" else item.call_id,
            item.error and (item.error.code, item.error.message),
            _final(item.final_item),
        )
        for item in response.items
        if item.origin != "user"
    ]
    done = response.done
    return (
        sorted(
            items, key=lambda item: item[0]
        ),  # scripts and outputs are told when they are done, a call when it has a name
        [item.item_id for item in response.items if item.item_type in ("message", "reasoning")],
        response.status,
        response.usage,
        response.finish_reason,
        response.error,
        # An AG-UI agent's own name for its response is its run id, if it gives no other.
        (done.provider_response_id if done and done.provider_response_id != events[0].run_id else None),
        (done.served_model if done else None),
        [event.payload for event in events if isinstance(event.payload, ScriptExecutionStart)],
    )


def _final(final: FinalItem | None) -> Any:
    """Give a final item as it can be compared: arguments by what they say, an error as the item's own."""
    if isinstance(final, FinalFunctionCall):
        return attrs.evolve(final, arguments=parse_json_or_text(final.arguments or "{}"))
    return None if type(final).__name__ in ("FinalError", "FinalCancelled") else final


@each_dialect
@given(events=responses())
def test_what_agui_can_carry_comes_back(dialect: Dialect, events: list[StreamEvent]) -> None:
    """Items, their data and their ends, the run's end: all as before; and the contract of adapters is kept."""
    back = there_and_back(events, dialect)
    assert essence(back) == essence(events)


@each_dialect
@each_recording
def test_recordings_come_back(recording: Recording, dialect: Dialect) -> None:
    """The same for real streams, final items included to the last byte."""
    events = adapt(recording.provider, recording.events, show_server_tools=True)
    back = there_and_back(events, dialect)
    check_contract(back)
    assert essence(back) == essence(events)
    assert fold_events(back).items == fold_events(events).items


@each_dialect
@each_recording
def test_recordings_keep_the_contract_of_agui_adapters(recording: Recording, dialect: Dialect) -> None:
    """A provider's stream, converted, is what an adapter that speaks AG-UI must give."""
    check_agui_contract(convert(adapt(recording.provider, recording.events, prompt="Hello"), dialect))


@each_dialect
@given(events=responses())
def test_no_stream_gives_an_empty_delta_or_a_gap(dialect: Dialect, events: list[StreamEvent]) -> None:
    """Whatever the items do, starts and ends match, and no text is empty; tools that ran are the loop's to tell."""
    checked: list[AnyAguiEvent] = []
    for event in convert(events, dialect):
        if isinstance(event, RunFinished):  # any finish reason may follow any item here
            checked.append(attrs.evolve(event, finish_reason=None, outcome={"type": "cancelled"}))
        elif not isinstance(event, ToolCallEnd) or event.result is None:
            checked.append(event)
    check_agui_contract(checked)


@each_dialect
@given(events=responses())
def test_cut_off_anywhere_the_run_is_closed(dialect: Dialect, events: list[StreamEvent]) -> None:
    """A stream that stops without its terminal is told as broken, with nothing left open, on both roads."""
    for cut in range(1, len(events)):
        told = convert(events[:cut], dialect)
        assert type(told[-1]).__name__ == "RunError"
        adapter = AguiAdapter(run_id="run", thread_id="thread")
        back = [each for event in told[:-1] for each in adapter.push(event)] + adapter.finish()
        assert type(back[-1].payload).__name__ == "ResponseError"
