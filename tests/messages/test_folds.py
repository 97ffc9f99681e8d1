"""What many outputs, or many events, come to."""

from itertools import count
from typing import Any

import pytest

from turnwire.messages.events import (
    ErrorInfo,
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    FinalReasoning,
    Heartbeat,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    TraceContext,
    TurnAbortedByUser,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.folds import Response, ResponseItem, SnapshotFold, TurnSnapshot, fold_events, fold_outputs
from turnwire.messages.outputs import Message, Output, TurnComplete, TurnError, TurnFailure, TurnStarted

STARTED = TurnStarted(turn_id="t", thread_id="h", model_id="m")
COMPLETE = TurnComplete(turn_id="t", thread_id="h", status="complete")
BROKEN = TurnError(turn_id="t", thread_id="h", error=TurnFailure(code="E", message="m"))


def state(item_id: str, content: str, status: Any = "update") -> Message:
    return Message(turn_id="t", thread_id="h", item_id=item_id, status=status, content=content, origin="agent")


# Snapshot


def test_nothing_folds_to_nothing() -> None:
    """A turn without outputs is known to have none."""
    assert fold_outputs([]) == TurnSnapshot()
    assert fold_outputs([]).outputs == ()


def test_items_stand_in_order_of_first_sight_with_their_newest_state() -> None:
    """A late update moves no item."""
    outputs: list[Output] = [
        STARTED,
        state("b", "1", "create"),
        state("a", "1", "create"),
        state("b", "12"),
        state("a", "1!", "complete"),
    ]
    snapshot = fold_outputs(outputs)
    assert snapshot.started == STARTED
    assert snapshot.items == (state("b", "12"), state("a", "1!", "complete"))
    assert snapshot.terminal is None


@pytest.mark.parametrize(("first", "second"), [(COMPLETE, BROKEN), (BROKEN, COMPLETE)])
def test_the_first_terminal_wins(first: TurnComplete | TurnError, second: TurnComplete | TurnError) -> None:
    """A second one changes nothing."""
    assert fold_outputs([first, second]).terminal == first


def test_the_first_start_wins() -> None:
    """A turn starts once."""
    assert fold_outputs([STARTED, TurnStarted(turn_id="t", thread_id="h")]).started == STARTED


def test_a_snapshot_as_outputs_folds_to_itself() -> None:
    """A joiner that gets just these ends up with the same."""
    snapshot = fold_outputs([STARTED, state("a", "1", "create"), state("a", "12"), BROKEN])
    assert snapshot.outputs == (STARTED, state("a", "12"), BROKEN)
    assert fold_outputs(snapshot.outputs) == snapshot


def test_a_snapshot_is_not_changed_by_what_comes_later() -> None:
    """Each one is a picture."""
    fold = SnapshotFold()
    fold.push(state("a", "1", "create"))
    before = fold.snapshot()
    fold.push(state("a", "12"))
    assert before.items == (state("a", "1", "create"),)


# Response


START = ResponseStart(response_id="r", turn_id="t", thread_id="h", model_id="m", provider_id="p", created_at=0)
USAGE = Usage(prompt_tokens=10, completion_tokens=3)
OTHER_USAGE = Usage(prompt_tokens=1)
ERROR = ErrorInfo(code="E", message="m")


def event(payload: Payload, event_id: str) -> StreamEvent:
    return StreamEvent(
        event_id=event_id, timestamp=0, run_id="run", trace_context=TraceContext(traceparent="x"), payload=payload
    )


def folded(*payloads: Payload) -> Response:
    ids = count()
    return fold_events(event(payload, f"e{next(ids)}") for payload in payloads)


def item(*payloads: Payload) -> ResponseItem:
    [only] = folded(*payloads).items
    return only


def begin(item_id: str = "a", item_type: Any = "message", **more: Any) -> ItemStart:
    return ItemStart(item_id=item_id, item_type=item_type, **more)


def text(content: str, item_id: str = "a") -> ItemDelta:
    return ItemDelta(item_id=item_id, delta_content=content)


def done(final: Any, item_id: str = "a") -> ItemDone:
    return ItemDone(item_id=item_id, final_item=final)


def finish(status: str = "complete", usage: Usage | None = None, **more: Any) -> ResponseDone:
    return ResponseDone(response_id="r", status=status, usage=usage, **more)


def test_no_events_are_a_response_in_progress() -> None:
    """Nothing has been said yet."""
    assert folded() == Response()
    assert folded().status == "in_progress"


def test_the_text_of_an_open_item_is_what_came_so_far() -> None:
    """Initial content and deltas, joined."""
    assert item(begin(initial_content="He", origin="agent"), text("l"), text("lo")) == ResponseItem(
        item_id="a", item_type="message", state="open", text="Hello", origin="agent"
    )


def test_halves_of_a_pair_are_joined() -> None:
    """Over deltas; one that stays alone is a mark."""
    assert item(begin(), text("a\ud83d"), text("\ude00\ud83d")).text == "a😀\ufffd"


def test_a_final_item_wins_over_the_deltas() -> None:
    """In text, origin and state."""
    final = FinalMessage(id="f", content="final", origin="system")
    expected = ResponseItem(
        item_id="a", item_type="message", state="done", text="final", origin="system", final_item=final
    )
    assert item(begin(), text("streamed"), done(final)) == expected


def test_a_call_has_name_arguments_and_call_id() -> None:
    """From its start while it is open, from its end afterwards."""
    start = begin(item_type="function_call", name="ad", call_id="c0", arguments="{")
    now = item(start, text('"a"'))
    assert (now.name, now.call_id, now.text) == ("ad", "c0", '{"a"')
    then = item(start, done(FinalFunctionCall(id="f", name="add", call_id="c1", arguments='{"a":1}')))
    assert (then.name, then.call_id, then.text) == ("add", "c1", '{"a":1}')


def test_a_call_without_arguments_has_no_text() -> None:
    """Null acts as empty text."""
    assert (
        item(begin(item_type="function_call"), text("{"), done(FinalFunctionCall(id="f", name="n", call_id="c"))).text
        == ""
    )


def test_an_output_has_its_text_and_its_call() -> None:
    """Without a start it is built from its end."""
    result = item(done(FinalFunctionCallOutput(id="f", call_id="c", output="[1]")))
    assert (result.item_type, result.state, result.text, result.call_id) == ("function_call_output", "done", "[1]", "c")


@pytest.mark.parametrize(
    ("final", "item_type", "state"),
    [
        (FinalMessage(id="f", content="x"), "message", "done"),
        (FinalReasoning(id="f", content="x"), "reasoning", "done"),
        (FinalFunctionCall(id="f", name="n", call_id="c"), "function_call", "done"),
        (FinalError(id="f", code="E", message="m"), "error", "error"),
        (FinalCancelled(id="f"), "message", "cancelled"),
    ],
)
def test_an_unseen_item_is_built_from_its_end(final: Any, item_type: str, state: str) -> None:
    """The final item's type is the item's."""
    result = item(done(final))
    assert (result.item_type, result.state, result.final_item) == (item_type, state, final)


def test_items_stand_in_the_order_they_began() -> None:
    """Whatever comes for them later, and a second start changes nothing."""
    response = folded(
        begin("b"), begin("a"), text("1", "a"), begin("b", "reasoning", initial_content="no"), text("2", "b")
    )
    assert [(one.item_id, one.item_type, one.text) for one in response.items] == [
        ("b", "message", "2"),
        ("a", "message", "1"),
    ]


def test_an_error_ends_an_item_with_its_text() -> None:
    """What was said stays."""
    result = item(begin(), text("hi"), ItemError(item_id="a", error=ERROR))
    assert (result.state, result.text, result.error) == ("error", "hi", ERROR)


def test_a_final_error_is_the_items_error() -> None:
    """With its details."""
    result = item(begin(), done(FinalError(id="f", code="E", message="m", details=[1])))
    assert result.error == ErrorInfo(code="E", message="m", details=[1])


def test_a_cancelled_item_is_cancelled() -> None:
    """It is still there to be seen."""
    assert item(begin(), text("hi"), ItemCancelled(item_id="a")).state == "cancelled"


@pytest.mark.parametrize(
    "end", [done(FinalMessage(id="f", content="x")), ItemError(item_id="a", error=ERROR), ItemCancelled(item_id="a")]
)
@pytest.mark.parametrize(
    "late",
    [
        text("late"),
        done(FinalMessage(id="f", content="late")),
        ItemError(item_id="a", error=ErrorInfo(code="late", message="")),
        ItemCancelled(item_id="a"),
        begin(initial_content="late"),
    ],
)
def test_what_comes_for_an_ended_item_is_dropped(end: Payload, late: Payload) -> None:
    """The first end wins."""
    assert item(begin(), end, late) == item(begin(), end)


def test_what_comes_for_an_unknown_item_is_dropped() -> None:
    """A delta, an error or a cancellation makes no item."""
    assert folded(text("x"), ItemError(item_id="a", error=ERROR), ItemCancelled(item_id="a")).items == ()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("complete", "complete"),
        ("error", "error"),
        ("aborted", "aborted"),
        ("queued", "complete"),
        ("in_progress", "complete"),
    ],
)
def test_the_status_passes_or_counts_as_complete(status: str, expected: str) -> None:
    """As in a turn."""
    assert folded(finish(status)).status == expected


def test_a_done_response_keeps_its_reasons() -> None:
    """Finish reason and the whole of response_done."""
    end = finish(finish_reason="stop", served_model="m2")
    response = folded(START, end)
    assert (response.started, response.finish_reason, response.done, response.error) == (START, "stop", end, None)


def test_a_broken_response_keeps_its_error() -> None:
    """Status error, with what went wrong."""
    response = folded(ResponseError(response_id="r", error=ERROR))
    assert (response.status, response.error, response.done) == ("error", ERROR, None)


def test_an_aborted_response_keeps_its_reason() -> None:
    """Status aborted."""
    response = folded(TurnAbortedByUser(turn_id="t", reason="enough"))
    assert (response.status, response.abort_reason) == ("aborted", "enough")


@pytest.mark.parametrize(
    ("updates", "final", "expected"),
    [
        ([], None, None),
        ([OTHER_USAGE], None, OTHER_USAGE),
        ([OTHER_USAGE, USAGE], None, USAGE),
        ([OTHER_USAGE], USAGE, USAGE),
        ([], USAGE, USAGE),
    ],
)
def test_usage_is_that_of_the_end_or_the_latest_update(
    updates: list[Usage], final: Usage | None, expected: Usage | None
) -> None:
    """response_done wins over all updates, the latest update over the others."""
    payloads = [UsageUpdate(response_id="r", usage=usage) for usage in updates]
    assert folded(*payloads, finish(usage=final)).usage == expected


ENDS: list[Payload] = [
    finish("complete"),
    ResponseError(response_id="r", error=ERROR),
    TurnAbortedByUser(turn_id="t", reason="x"),
]


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize(
    "late",
    [
        *ENDS,
        ResponseError(response_id="r", error=ErrorInfo(code="late", message="")),
        START,
        begin("b"),
        text("late"),
        UsageUpdate(response_id="r", usage=USAGE),
    ],
)
def test_what_comes_after_the_terminal_is_dropped(first: Payload, late: Payload) -> None:
    """The first terminal wins, the first error among them."""
    assert folded(begin(), first, late) == folded(begin(), first)


def test_repeated_events_are_dropped_over_the_whole_log() -> None:
    """However far apart, unlike in a live turn."""
    events = [event(begin(), "start"), event(text("x"), "same")]
    events += [event(Heartbeat(), f"beat-{number}") for number in range(500)]
    events += [event(text("x"), "same"), event(text("y"), "other")]
    [only] = fold_events(events).items
    assert only.text == "xy"


def test_what_says_nothing_changes_nothing() -> None:
    """Heartbeats and unknown payloads."""
    assert folded(Heartbeat(), UnknownPayload(type="poem", fields={})) == Response()


def test_the_first_response_start_wins() -> None:
    """A response starts once."""
    other = ResponseStart(response_id="r2", turn_id="t", thread_id="h", model_id="m2", provider_id="p", created_at=0)
    assert folded(START, other).started == START
