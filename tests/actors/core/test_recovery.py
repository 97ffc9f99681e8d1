"""What the readers of a turn are owed when its owner has died, case by case; and how the turn goes on."""

from collections.abc import Iterable
from math import inf
from typing import Any

import pytest

from tests.actors.core.plays import answered, called, message, said, thinking, tool
from tests.kit.turns import aborted, begin, broken, cancelled, delta, event, failed, finished, started, thought, tokens
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered, Recovery, resume_turn
from turnwire.messages import InvalidEventError, encode_event
from turnwire.messages.events import FinalItem, ItemDone, StreamEvent
from turnwire.messages.folds import fold_outputs
from turnwire.messages.outputs import Output, TurnComplete, TurnError, TurnFailure, TurnStarted

TURN, THREAD = "turn-1", "thread-1"
STARTED = TurnStarted(turn_id=TURN, thread_id=THREAD, model_id="m1", provider_id="acme")
COMPLETE = TurnComplete(turn_id=TURN, thread_id=THREAD, status="complete")


def done(item_id: str, final: FinalItem) -> StreamEvent:
    return event(ItemDone(item_id=item_id, final_item=final))


def recovered(events: Iterable[StreamEvent], *written: Output, now: float = 100.0, **options: Any) -> Recovered:
    return resume_turn(TURN, THREAD, TurnOptions(**options), events, fold_outputs(written), now=now)


def owed(events: Iterable[StreamEvent], *written: Output, **options: Any) -> list[Output]:
    return list(recovered(events, *written, **options).owed)


def next_outputs(turn: Recovered, one: StreamEvent | None = None, *, now: float = 100.0) -> list[Output]:
    """Give what comes out when an event, or just time, goes in."""
    before = turn.machine.outbox.made
    if one is None:
        turn.machine.tick(now=now)
    else:
        turn.machine.push(one.event_id, one.payload, now=now)
    return (
        list(turn.machine.outbox.outputs[before - turn.machine.outbox.made :])
        if turn.machine.outbox.made > before
        else []
    )


# The turn itself


def test_a_turn_of_which_nothing_is_written_is_owed_its_start() -> None:
    assert owed([started()]) == [STARTED]


def test_what_is_written_is_not_written_again() -> None:
    assert owed([started()], STARTED) == []


def test_a_terminal_comes_last_after_the_text_it_flushes() -> None:
    events = [started(), begin("m"), delta("m", "hi"), finished()]
    assert owed(events, STARTED) == [message("create", "hi", "m"), COMPLETE]
    assert owed(events, STARTED, message("create", "h", "m")) == [message("update", "hi", "m"), COMPLETE]
    assert owed(events, STARTED, message("create", "hi", "m")) == [COMPLETE]


@pytest.mark.parametrize(
    ("end", "terminal"),
    [
        (aborted(), TurnComplete(turn_id=TURN, thread_id=THREAD, status="aborted")),
        (
            broken(),
            TurnError(turn_id=TURN, thread_id=THREAD, error=TurnFailure(code="PROVIDER_ERROR", message="it broke")),
        ),
    ],
)
def test_every_terminal_is_owed(end: StreamEvent, terminal: Output) -> None:
    turn = recovered([started(), end], STARTED)
    assert turn.owed == (terminal,)
    assert turn.machine.ended


def test_a_turn_whose_terminal_is_written_is_over_whatever_its_events_say() -> None:
    turn = recovered([started(), begin("m"), delta("m", tokens(50))], STARTED, COMPLETE)
    assert turn.owed == ()
    assert turn.machine.ended
    assert next_outputs(turn, finished()) == []


def test_events_behind_the_terminal_are_owed_to_nobody() -> None:
    assert owed([started(), finished(), broken(), begin("m"), done("m", said("late"))]) == [STARTED, COMPLETE]


# Texts


def test_text_below_its_threshold_is_not_owed_and_waits_for_a_fresh_timeout() -> None:
    """The batch timeout starts when the turn goes on, not when the text came."""
    turn = recovered([begin("m"), delta("m", tokens(10))], now=100.0)
    assert turn.owed == ()
    assert turn.machine.items.due == 101.0
    assert next_outputs(turn, now=100.999) == []
    assert next_outputs(turn, now=101.0) == [message("create", tokens(10), "m")]


def test_max_latency_starts_afresh_too() -> None:
    turn = recovered([begin("m"), delta("m", "hi")], now=100.0, max_latency=0.5)
    assert turn.machine.items.due == 100.5
    assert recovered([begin("m")], now=100.0, max_latency=0.5).machine.items.due == 101.0


def test_text_that_has_crossed_a_threshold_is_owed_as_it_stood_then() -> None:
    """The rest is below the next threshold."""
    turn = recovered([begin("m"), delta("m", tokens(11)), delta("m", tokens(3))])
    assert turn.owed == (message("create", tokens(11), "m"),)
    assert next_outputs(turn, delta("m", tokens(6))) == []
    assert next_outputs(turn, delta("m", tokens(1))) == [message("update", tokens(21), "m")]


def test_of_many_crossed_thresholds_only_the_newest_text_is_owed() -> None:
    events = [begin("m"), *(delta("m", tokens(1)) for _ in range(45))]
    assert owed(events) == [message("create", tokens(41), "m")]
    assert owed(events, message("create", tokens(11), "m")) == [message("update", tokens(41), "m")]
    assert owed(events, message("create", tokens(41), "m")) == []


def test_a_timeouts_emission_past_the_threshold_is_enough() -> None:
    """Log B may show more than any threshold asks for; what is new beyond it is told by the next timeout."""
    events = [begin("m"), *(delta("m", tokens(1)) for _ in range(15))]
    turn = recovered(events, message("create", tokens(13), "m"))
    assert turn.owed == ()
    assert next_outputs(turn, now=101.0) == [message("update", tokens(15), "m")]


def test_a_timeout_with_nothing_new_says_nothing() -> None:
    turn = recovered([begin("m"), delta("m", "all")], message("create", "all", "m"))
    assert next_outputs(turn, now=101.0) == []
    assert next_outputs(turn, finished(), now=102.0) == [COMPLETE]


def test_an_ended_item_is_owed_its_end_alone() -> None:
    events = [begin("m"), delta("m", tokens(50)), done("m", said("short"))]
    assert owed(events) == [message("complete", "short", "m")]
    assert owed(events, message("create", "sh", "m")) == [message("complete", "short", "m")]
    assert owed(events, message("complete", "short", "m")) == []


def test_failed_and_thinking_items_are_owed_their_ends() -> None:
    events = [
        started(),
        begin("r", "reasoning"),
        delta("r", "hm"),
        thought("r", "hm!"),
        begin("m"),
        failed("m", "E", "no"),
    ]
    assert owed(events, STARTED) == [
        thinking("complete", "hm!", "r", provider_id="acme"),
        message("error", "", "m", error_code="E", error_message="no"),
    ]


def test_what_is_owed_stands_in_the_order_of_the_events_that_caused_it() -> None:
    events = [
        *(started(), begin("a"), begin("b"), delta("a", tokens(11)), delta("b", tokens(11)), delta("a", tokens(10))),
        *(done("c", called()), done("b", said("b!"))),
    ]
    assert owed(events, STARTED) == [
        message("create", tokens(21), "a"),
        tool("create", "c"),
        message("complete", "b!", "b"),
    ]


def test_text_that_the_events_contradict_is_put_right() -> None:
    """A former owner may have counted a repeated event twice."""
    turn = recovered([begin("m"), delta("m", "one two")], message("create", "one one", "m"))
    assert turn.owed == ()
    assert next_outputs(turn, now=101.0) == [message("update", "one two", "m")]


def test_a_held_prompt_is_owed_nothing_before_its_end() -> None:
    events = [begin("p", origin="user"), delta("p", tokens(99))]
    assert owed(events) == []
    assert owed([*events, done("p", said("ask", origin="user"))]) == [message("complete", "ask", "p", origin="user")]


def test_half_a_surrogate_pair_waits_for_its_other_half_across_owners() -> None:
    turn = recovered([begin("m"), delta("m", "x\ud83d")], message("create", "x", "m"))
    assert next_outputs(turn, delta("m", "\ude00")) == []
    assert next_outputs(turn, now=101.0) == [message("update", "x😀", "m")]


# Calls


def test_a_call_without_its_output_is_owed_its_create() -> None:
    assert owed([done("f", called())]) == [tool("create", "f")]
    assert owed([done("f", called())], tool("create", "f")) == []
    assert owed([begin("f", "function_call"), delta("f", "{")]) == []


def test_a_call_with_its_output_is_owed_one_complete_even_if_its_create_is_missing() -> None:
    events = [done("f", called()), done("o", answered("ok"))]
    complete = tool("complete", "f", tool_output="ok")
    assert owed(events) == [complete]
    assert owed(events, tool("create", "f")) == [complete]
    assert owed(events, tool("create", "f"), complete) == []


def test_an_open_call_is_found_by_an_output_that_comes_live() -> None:
    turn = recovered([done("f", called())], tool("create", "f"))
    assert next_outputs(turn, done("o", answered("ok"))) == [tool("complete", "f", tool_output="ok")]


def test_a_failed_call_is_owed_its_error() -> None:
    error = tool("error", "f", error_code="E", error_message="no")
    assert owed([done("f", called()), failed("f", "E", "no")]) == [error]


# Cancelled items


@pytest.mark.parametrize("tell", [False, True])
def test_a_cancelled_item_that_nobody_saw_is_owed_nothing(tell: bool) -> None:
    text = [begin("m"), delta("m", tokens(50)), cancelled("m")]
    call = [done("f", called()), cancelled("f")]
    assert owed([*text, *call], emit_cancelled=tell) == []


def test_a_cancelled_item_that_was_seen_is_owed_nothing_more() -> None:
    """Not even the text that came between."""
    events = [begin("m"), delta("m", tokens(50)), cancelled("m"), done("f", called()), cancelled("f")]
    assert owed(events, message("create", "x", "m"), tool("create", "f")) == []


def test_a_cancelled_item_that_was_seen_is_owed_its_error_if_the_options_say_so() -> None:
    error: dict[str, Any] = {"error_code": "ITEM_CANCELLED", "error_message": "the item was cancelled"}
    written = (message("create", "x", "m"), tool("create", "f"))
    events = [begin("m"), delta("m", tokens(2)), cancelled("m"), done("f", called()), cancelled("f")]
    expected: list[Output] = [message("error", tokens(2), "m", **error), tool("error", "f", **error)]
    assert owed(events, *written, emit_cancelled=True) == expected
    assert owed(events, *written, *expected, emit_cancelled=True) == []


# Going on


def test_repeated_events_count_once_over_the_whole_log_and_later() -> None:
    """However far back the first one is."""
    deltas = [delta("m", f"{number} ") for number in range(500)]
    turn = recovered([begin("m"), *deltas, *deltas[:300]])
    text = "".join(f"{number} " for number in range(500))
    assert next_outputs(turn, deltas[0], now=100.1) == []
    assert next_outputs(turn, finished(), now=100.2)[0] == message("update", text, "m")


def test_what_is_owed_and_what_follows_come_one_after_the_other() -> None:
    """Going live ends the conflation: what happens next has an output of its own."""
    turn = recovered([started(), begin("m"), delta("m", tokens(11))])
    assert not turn.machine.outbox.is_behind
    next_outputs(turn, delta("m", tokens(10)))
    assert turn.machine.outbox.outputs == (*turn.owed, message("update", tokens(21), "m"))


def test_what_is_owed_counts_as_made_now() -> None:
    turn = recovered([started()], now=77.0)
    emission = turn.machine.outbox.take()
    assert emission is not None
    assert emission.at == 77.0
    assert emission.event_id == ""


def test_the_shell_is_told_which_items_need_a_timer() -> None:
    """Those that are live and not held; ended ones are none of its business."""
    turn = recovered([begin("a"), begin("p", origin="user"), begin("gone"), done("gone", said("")), begin("b")])
    assert [item.item_id for item in turn.machine.items.changed] == ["a", "b"]
    assert recovered([begin("p", origin="user")]).machine.items.due == inf


def test_a_lost_turn_is_ended_at_once_with_one_output_per_item() -> None:
    recovery = Recovery(TURN, THREAD, TurnOptions(), fold_outputs([STARTED]))
    for one in [started(), begin("m"), delta("m", tokens(11)), delta("m", "!")]:
        recovery.push(one)
    turn = recovery.finish(now=1.0, lost=TurnFailure(code="ENGINE_LOST", message="its worker died"))
    lost = TurnError(turn_id=TURN, thread_id=THREAD, error=TurnFailure(code="ENGINE_LOST", message="its worker died"))
    assert turn.owed == (message("create", tokens(11) + "!", "m"), lost)
    assert turn.machine.ended


def test_a_lost_turn_that_had_its_terminal_keeps_it() -> None:
    recovery = Recovery(TURN, THREAD, TurnOptions(), fold_outputs([STARTED]))
    recovery.push(finished())
    assert recovery.finish(now=1.0, lost=TurnFailure(code="ENGINE_LOST", message="")).owed == (COMPLETE,)


# A log of events that has lost its tail


def test_what_readers_know_stays_known_when_the_events_have_to_come_again() -> None:
    """No second create, no second end, and text is news only when it is longer."""
    written = (
        *(STARTED, message("complete", "done", "a"), message("create", "hello", "b"), tool("create", "f")),
        tool("complete", "g", call_id="call-2", tool_output="ok"),
    )
    turn = recovered([begin("a"), done("g", called(call_id="call-2"))], *written)
    assert turn.owed == ()
    tail = [
        *(started(), delta("a", tokens(50)), done("a", said("done")), done("o", answered("ok", call_id="call-2"))),
        *(begin("b"), delta("b", "hel"), delta("b", "lo"), done("f", called())),
    ]
    assert [output for one in tail for output in next_outputs(turn, one)] == []
    assert next_outputs(turn, delta("b", tokens(20))) == [message("update", "hello" + tokens(20), "b")]
    assert next_outputs(turn, done("p", answered("yes"))) == [tool("complete", "f", tool_output="yes")]


# Bytes


def test_events_may_be_their_json() -> None:
    """As they stand in the log; a malformed one is named and changes nothing."""
    recovery = Recovery(TURN, THREAD, TurnOptions(), fold_outputs([]))
    for one in (begin("m"), delta("m", "he"), delta("m", "y")):
        recovery.push(encode_event(one))
    with pytest.raises(InvalidEventError):
        recovery.push(b'{"event_id": "x"}')
    recovery.push(encode_event(done("m", said("hey"))))
    assert recovery.finish(now=0.0).owed == (message("complete", "hey", "m"),)


def test_a_delta_that_was_too_large_when_it_came_is_too_large_for_the_next_owner() -> None:
    """Else readers would be owed a text that its first owner had refused."""
    recovery = Recovery(TURN, THREAD, TurnOptions(batch_gradient=(1,), max_event_bytes=1000), fold_outputs(()))
    for one in (started(), begin("m"), delta("m", tokens(10))):
        recovery.push(encode_event(one))
    with pytest.raises(InvalidEventError):
        recovery.push(encode_event(delta("m", tokens(300))))
    assert [output.content for output in recovery.finish(now=0.0).owed[1:]] == [tokens(10)]  # type: ignore[union-attr]
