"""Each actor is cancelled while it is blocked on each thing it can block on: what was the sink told, what is left?"""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import (
    THREAD,
    TURN,
    RecordingSink,
    begin,
    delta,
    finished,
    options,
    running,
    said,
    started,
)
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.turn import Turn
from turnwire.messages import ClosedError, StreamMessage
from turnwire.runtime import Runtime, open_runtime


class HangingSink(RecordingSink):
    """Takes a few messages, then never comes back."""

    def __init__(self, takes: int = 0) -> None:
        super().__init__()
        self.takes = takes
        self.hanging = False

    async def __call__(self, message: StreamMessage) -> None:
        if len(self.messages) >= self.takes:
            self.hanging = True
            await trio.sleep_forever()
        await super().__call__(message)


async def a_turn_that_waits_for_events(turn: Turn) -> None:
    await turn.send(started())
    await wait_all_tasks_blocked()
    assert running() == [f"turn {TURN}"]


async def a_turn_with_a_sleeping_item(turn: Turn) -> None:
    await a_turn_that_waits_for_events(turn)
    await turn.send(begin("m"))
    await turn.send(delta("m", "some text"))
    await wait_all_tasks_blocked()
    assert running() == ["item m", f"turn {TURN}"]


@pytest.mark.parametrize("scene", [a_turn_that_waits_for_events, a_turn_with_a_sleeping_item])
async def test_a_cancelled_turn_flushes_nothing_and_leaves_no_task(
    scene: Callable[[Turn], Awaitable[None]], autojump_clock: MockClock
) -> None:
    """Cancelling is stopping at once: the sink hears no more."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await scene(turn)
        turn.cancel()
        with pytest.raises(ClosedError):
            await turn.send(delta("m", "more"))
        await turn.wait_end()
        assert running() == []
        assert runtime.open_turns == ()
    assert sink.told == ["turn_started"]
    assert trio.current_time() == 0


async def test_a_turn_cancelled_before_its_task_began_ends_all_the_same(autojump_clock: MockClock) -> None:
    """There is no moment at which a cancel is lost."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        turn.cancel()
        await turn.wait_end()
        assert running() == []
    assert sink.told == []


async def test_a_writer_cancelled_inside_the_sink_reports_what_it_had(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The emission in flight and those behind it are counted, not silently gone."""
    sink = HangingSink(takes=1)
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        for event in (started(), begin("m"), said("m", "one"), begin("n"), said("n", "two")):
            await turn.send(event)
        await wait_all_tasks_blocked()
        assert running() == [f"turn {TURN}", f"writer of turn {TURN}"]
        turn.cancel()
        await turn.wait_end()
        assert running() == []
    assert sink.told == ["turn_started"]
    assert f"turn {TURN}: 2 emissions and 0 events not delivered" in caplog.text


async def test_a_writer_cancelled_between_retries_ends_at_once(autojump_clock: MockClock) -> None:
    """Waiting for the next try is no reason to stay."""
    sink = RecordingSink(failures=1000)
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(started())
        await trio.sleep(0.5)
        turn.cancel()
        await turn.wait_end()
        assert running() == []
    assert (sink.calls, sink.told) == (1, [])
    assert trio.current_time() == 0.5


async def test_a_turn_cancelled_while_its_outbox_is_full_ends_at_once(autojump_clock: MockClock) -> None:
    """Held up by a sink that hangs, with events still in the channel: they are counted."""
    sink = HangingSink()
    full = TurnOptions(outbox_limit=2, patience=float("inf"))
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=full)
        for number in range(10):
            await turn.send(said(f"m{number}", "text"))
        await wait_all_tasks_blocked()
        turn.cancel()
        await turn.wait_end()
        assert running() == []
    assert sink.told == []


async def test_a_cancelled_send_was_not_sent(autojump_clock: MockClock) -> None:
    """A sender that waits for room and is cancelled leaves no trace of its event."""
    sink = RecordingSink()
    gate = trio.Event()

    async def gated(message: StreamMessage) -> None:
        await gate.wait()
        await sink(message)

    tight = TurnOptions(outbox_limit=1, patience=float("inf"), channel_size=1)
    async with (
        open_runtime(sink=gated) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=tight) as turn,
    ):
        sent = 0
        for number in range(20):
            with trio.move_on_after(1) as patience:
                await turn.send(said(f"m{number}", str(number)))
                sent += 1
            if patience.cancelled_caught:
                break
        assert 0 < sent < 20
        gate.set()
    assert sink.told == [f"message complete '{number}'" for number in range(sent)]


@pytest.mark.parametrize("blocked_in", ["flush", "aclose", "wait_end"])
async def test_a_host_cancelled_while_it_waits_for_a_turn_unwinds(blocked_in: str, autojump_clock: MockClock) -> None:
    """The sink gets the grace time, then the turn is gone and the host goes on."""
    sink = HangingSink(takes=1)
    async with open_runtime(sink=sink, grace=3.0) as runtime:
        with trio.move_on_after(1) as host:
            async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                await turn.send(started())
                await turn.send(said("m", "text"))
                await getattr(turn, blocked_in)()
        assert host.cancelled_caught
        assert trio.current_time() == 1 + 3.0
        assert running() == []
    assert sink.told == ["turn_started"]


async def test_a_cancelled_host_still_delivers_what_was_accepted(autojump_clock: MockClock) -> None:
    """What a producer handed over before the shutdown is emitted, text below its threshold included."""
    sink = RecordingSink(delay=0.5)
    with trio.move_on_after(1) as host:
        async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            await turn.send(started())
            await turn.send(begin("m"))
            await turn.send(delta("m", "unfinished"))
            await trio.sleep_forever()
    assert host.cancelled_caught
    assert sink.told == ["turn_started", "message create 'unfinished'"]
    assert running() == []


async def test_a_cancelled_runtime_closes_turns_that_nobody_holds(autojump_clock: MockClock) -> None:
    """Turns opened without a block are the runtime's to end."""
    sink = RecordingSink()
    with trio.move_on_after(1):
        async with open_runtime(sink=sink) as runtime:
            turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
            await turn.send(begin("m"))
            await turn.send(delta("m", "kept"))
            await trio.sleep_forever()
    assert sink.told == ["message create 'kept'"]
    assert running() == []


async def test_shutdown_is_bounded_and_reports_what_was_not_delivered(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Past the deadline comes cancellation, with a count and the turn's id."""
    sink = HangingSink()
    seen: list[Runtime] = []
    async with open_runtime(sink=sink, grace=2.0) as runtime:
        seen.append(runtime)
        for name in ("a", "b"):
            turn = runtime.open_turn(turn_id=name, thread_id=THREAD)
            await turn.send(said("m", "text"))
    assert trio.current_time() == 2.0
    assert seen[0].undelivered == {"a": 1, "b": 1}
    assert "turn a: 1 emissions and 0 events not delivered" in caplog.text
    assert running() == []


async def test_many_turns_cancelled_at_every_step_leave_nothing_behind(autojump_clock: MockClock) -> None:
    """Whatever step of its life a turn is in, cancelling ends all of its tasks."""
    life = [started(), begin("m"), delta("m", "x" * 44), begin("r", "reasoning"), delta("r", "y"), said("m", "z")]
    for steps in range(len(life) + 1):
        sink = RecordingSink(delay=0.1)
        async with open_runtime(sink=sink) as runtime:
            turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options(10, batch_timeout=0.05))
            for event in life[:steps]:
                await turn.send(event)
                await trio.sleep(0.03)
            turn.cancel()
            await turn.wait_end()
            assert running() == []


async def test_a_finished_turn_leaves_nothing_behind_before_its_block_is_left(autojump_clock: MockClock) -> None:
    """The terminal ends the turn's tasks; the block only waits for the last emission."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        for event in (started(), begin("m"), begin("n"), delta("m", "x"), finished()):
            await turn.send(event)
        await turn.wait_end()
        assert running() == []
        assert runtime.open_turns == ()
