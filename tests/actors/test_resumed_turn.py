"""A turn in the hands of its second owner, through the real actors, under a virtual clock; and turns ended from outside."""

from functools import partial

import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import THREAD, TURN, RecordingSink, begin, called, delta, finished, options, said, started, tokens
from turnwire.actors import Recovered, TurnOptions, make_event_id, resume_turn
from turnwire.messages import (
    ClosedError,
    Message,
    Output,
    RetryExhaustedError,
    StreamEvent,
    TurnError,
    TurnStarted,
    fold_outputs,
)
from turnwire.messages.outputs import TurnFailure
from turnwire.runtime import open_runtime

STARTED = TurnStarted(turn_id=TURN, thread_id=THREAD, model_id="m1", provider_id="acme")


def recover(*events: StreamEvent, written: tuple[Output, ...] = (), made: TurnOptions | None = None) -> Recovered:
    now = trio.current_time()
    return resume_turn(TURN, THREAD, made or TurnOptions(), events, fold_outputs(written), now=now)


async def test_a_resumed_turn_writes_what_is_owed_and_goes_on(autojump_clock: MockClock) -> None:
    """Under the ids of its epoch, counted from 1; its snapshot has what the former owner wrote too."""
    sink = RecordingSink()
    resume = recover(started(), begin("m"), delta("m", tokens(11)), written=(STARTED,))
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(
            turn_id=TURN, thread_id=THREAD, resume=resume, event_ids=partial(make_event_id, epoch=2)
        ) as turn:
            await turn.send(said("m", "all of it"))
            await turn.send(finished())
            snapshot = await turn.wait_end()
    assert sink.kinds == ["message create", "message complete", "turn_complete complete"]
    assert [message.event_id for message in sink.messages] == [f"{TURN}:2-{seq}" for seq in (1, 2, 3)]
    assert snapshot.started == STARTED
    assert len(snapshot.items) == 1


async def test_a_resumed_items_timeout_starts_afresh(autojump_clock: MockClock) -> None:
    """It has a task that sleeps for a whole batch timeout from the takeover on."""
    sink = RecordingSink()
    await trio.sleep(7)
    resume = recover(begin("m"), delta("m", "short"), made=options(100, batch_timeout=0.5))
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=resume):
            await trio.sleep(3)
    assert sink.told == ["message create 'short'"]
    assert sink.times == [7.5]


async def test_a_resumed_turn_that_has_ended_says_its_last_words_and_ends(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=recover(started(), finished()))
        snapshot = await turn.wait_end()
        assert not turn.is_open
        assert runtime.open_turns == ()
    assert sink.kinds == ["turn_started", "turn_complete complete"]
    assert snapshot.terminal is not None


async def test_a_resumed_turn_to_which_nothing_is_owed_and_that_is_over_ends_at_once(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    error = TurnError(turn_id=TURN, thread_id=THREAD, error=TurnFailure(code="TURN_STALLED", message="silent"))
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=recover(started(), written=(STARTED, error)))
        assert (await turn.wait_end()).terminal == error
    assert sink.messages == []


async def test_more_than_the_outbox_holds_may_be_owed(autojump_clock: MockClock) -> None:
    """Every owed output arrives, and events that come meanwhile wait their turn."""
    sink = RecordingSink(delay=0.01)
    resume = recover(*(called(f"f{number}", f"c{number}") for number in range(200)))
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=resume) as turn:
            await turn.send(finished())
    assert sink.kinds == [*["tool_call create"] * 200, "turn_complete complete"]


async def test_the_deadline_of_a_turn_does_not_start_again_with_each_owner(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    resume = recover(started(), written=(STARTED,))
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=resume, age=3590.0)
        await turn.wait_end()
    assert sink.told == ["turn_error TURN_TIMEOUT"]
    assert sink.times == [10.0]


async def test_a_turn_that_is_past_its_deadline_when_it_is_resumed_ends_at_once(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    resume = recover(begin("m"), delta("m", "text"))
    async with open_runtime(sink=sink) as runtime:
        await runtime.open_turn(turn_id=TURN, thread_id=THREAD, resume=resume, age=4000.0).wait_end()
    assert sink.told == ["message create 'text'", "turn_error TURN_TIMEOUT"]
    assert sink.times == [0.0, 0.0]


async def test_a_turn_cannot_resume_another(autojump_clock: MockClock) -> None:
    async with open_runtime(sink=RecordingSink()) as runtime:
        with pytest.raises(ValueError, match="turn other cannot resume turn turn-1"):
            runtime.open_turn(turn_id="other", thread_id=THREAD, resume=recover())


# Ended from outside


async def test_a_turn_is_ended_from_outside_behind_what_was_sent(autojump_clock: MockClock) -> None:
    """Text not yet emitted comes first; the error has the code and the words it was given."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(begin("m"))
        await turn.send(delta("m", "so far"))
        await turn.fail("TURN_STALLED", "silent for 300 s")
        snapshot = await turn.wait_end()
        assert not turn.is_open
        await turn.send(said("m", "too late"))
    assert sink.told == ["message create 'so far'", "turn_error TURN_STALLED"]
    assert isinstance(snapshot.terminal, TurnError)
    assert snapshot.terminal.error.message == "silent for 300 s"
    assert sink.times == [0.0, 0.0]


async def test_the_first_terminal_wins_over_an_end_from_outside(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(finished())
        await turn.fail("TURN_CLOSED", "no terminal came")
        await turn.wait_end()
        await turn.fail("TURN_CLOSED", "again")
    assert sink.kinds == ["turn_complete complete"]


async def test_an_end_from_outside_is_refused_after_closing(autojump_clock: MockClock) -> None:
    async with open_runtime(sink=RecordingSink()) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            pass
        with pytest.raises(ClosedError):
            await turn.fail("TURN_STALLED", "silent")


async def test_an_end_from_outside_tells_that_the_turn_has_failed(autojump_clock: MockClock) -> None:
    sink = RecordingSink(failures=100)
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=TurnOptions(retry_attempts=0))
        await turn.send(started())
        with pytest.raises(RetryExhaustedError):
            await turn.wait_end()
        with pytest.raises(RetryExhaustedError):
            await turn.fail("TURN_STALLED", "silent")


async def test_an_end_from_outside_waits_for_a_slow_sink_like_any_event(autojump_clock: MockClock) -> None:
    """It is no cancellation: all that was accepted is delivered first."""
    sink = RecordingSink(delay=1.0)
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        for number in range(3):
            await turn.send(said(f"m{number}", "whole"))
        await turn.fail("TURN_STALLED", "silent")
        assert isinstance((await turn.wait_end()).terminal, TurnError)
    assert sink.kinds == ["message complete"] * 3 + ["turn_error TURN_STALLED"]
    assert all(isinstance(output, Message) for output in sink.outputs[:3])
    assert sink.times == [1.0, 2.0, 3.0, 4.0]
