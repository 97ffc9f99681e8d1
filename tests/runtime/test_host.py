"""The runtime as its host sees it: opening, limits, running whole turns, repeating a run exactly."""

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import THREAD, TURN, RecordingSink, begin, delta, finished, said, started
from turnwire.messages import (
    ClosedError,
    InvalidEventError,
    StreamEvent,
    StreamMessage,
    TooManyTurnsError,
    TurnComplete,
    encode_event,
)
from turnwire.runtime import Runtime, TurnOptions, open_runtime, wall_clock


async def stream(*events: StreamEvent | bytes) -> AsyncIterator[StreamEvent | bytes]:
    for event in events:
        await trio.lowlevel.checkpoint()
        yield event


async def test_a_turn_runs_from_a_stream_and_gives_its_snapshot(autojump_clock: MockClock) -> None:
    """Events or bytes; what comes back is what a reader knows at the end."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        events = stream(started(), encode_event(begin("m")), delta("m", "hi"), said("m", "hi!"), finished())
        snapshot = await runtime.run_turn(events, turn_id=TURN, thread_id=THREAD)
    assert snapshot.outputs == tuple(sink.outputs)
    assert isinstance(snapshot.terminal, TurnComplete)


async def test_a_malformed_event_in_a_stream_raises_unless_somebody_takes_note(autojump_clock: MockClock) -> None:
    """By default nothing bad goes unnoticed; with `on_invalid` the turn goes on."""
    noted: list[InvalidEventError] = []
    async with open_runtime(sink=RecordingSink()) as runtime:
        with pytest.raises(InvalidEventError):
            await runtime.run_turn(stream(b"{}"), turn_id=TURN, thread_id=THREAD)
        snapshot = await runtime.run_turn(
            stream(b"{}", said("m", "ok")), turn_id=TURN, thread_id=THREAD, on_invalid=noted.append
        )
    assert len(noted) == 1
    assert len(snapshot.items) == 1


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"batch_gradient": ()}, "batch_gradient"),
        ({"batch_gradient": (10, 0)}, "batch_gradient"),
        ({"batch_gradient": "10,10"}, "batch_gradient"),
        ({"batch_gradient": (10, float("nan"))}, "batch_gradient"),
        ({"growth": -1}, "growth"),
        ({"batch_timeout": 0}, "batch_timeout"),
        ({"retry_attempts": -1}, "retry_attempts"),
        ({"patience": -0.1}, "patience"),
        ({"channel_size": 0}, "channel_size"),
        ({"retry_jitter": 2}, "retry_jitter"),
    ],
)
def test_wrong_options_are_a_clear_value_error(wrong: dict[str, object], word: str) -> None:
    """The message names the option."""
    with pytest.raises(ValueError, match=word):
        TurnOptions(**wrong)  # type: ignore[arg-type]  # the mistake under test


async def test_turns_have_distinct_ids_that_are_not_empty(autojump_clock: MockClock) -> None:
    """A second turn under an open id would mix two streams; after the first has ended the id is free."""
    async with open_runtime(sink=RecordingSink()) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD):
            with pytest.raises(ValueError, match="open already"):
                runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD):
            pass
        with pytest.raises(ValueError, match="empty"):
            runtime.open_turn(turn_id="", thread_id=THREAD)


async def test_the_number_of_open_turns_is_limited(autojump_clock: MockClock) -> None:
    """One more is refused with an error of its own; one that has ended makes room."""
    async with open_runtime(sink=RecordingSink(), max_turns=2) as runtime:
        first = runtime.open_turn(turn_id="a", thread_id=THREAD)
        runtime.open_turn(turn_id="b", thread_id=THREAD)
        with pytest.raises(TooManyTurnsError, match="2 turns"):
            runtime.open_turn(turn_id="c", thread_id=THREAD)
        await first.aclose()
        runtime.open_turn(turn_id="c", thread_id=THREAD)
        assert runtime.open_turns == ("b", "c")


async def test_a_closed_runtime_opens_no_turn(autojump_clock: MockClock) -> None:
    """What was closed stays closed."""
    runtimes: list[Runtime] = []
    async with open_runtime(sink=RecordingSink()) as runtime:
        runtimes.append(runtime)
    with pytest.raises(ClosedError):
        runtimes[0].open_turn(turn_id=TURN, thread_id=THREAD)


async def test_an_exception_in_the_body_comes_out_as_it_is(autojump_clock: MockClock) -> None:
    """Not wrapped into a group by a nursery that is the runtime's own affair."""
    with pytest.raises(KeyError, match="mine"):
        async with open_runtime(sink=RecordingSink()):
            raise KeyError("mine")


async def test_a_run_with_given_ids_and_timestamps_can_be_repeated_exactly(autojump_clock: MockClock) -> None:
    """Everything that is put on a message comes from injected sources."""
    events = [started(), begin("m"), delta("m", "x" * 44), said("m", "done"), finished()]
    runs: list[list[StreamMessage]] = []
    for _ in range(2):
        sink = RecordingSink()
        began = trio.current_time()

        def since(at: float, began: float = began) -> int:
            return round((at - began) * 1000)

        async with (
            open_runtime(
                sink=sink,
                event_ids=lambda turn_id, seq: f"{turn_id}#{seq}",
                timestamps=since,
            ) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            for event in events:
                await turn.send(event)
                await trio.sleep(0.25)
        runs.append(sink.messages)
    assert runs[0] == runs[1]
    assert [message.event_id for message in runs[0]] == [f"{TURN}#{seq}" for seq in (1, 2, 3, 4)]
    assert [message.timestamp for message in runs[0]] == [0, 500, 750, 1000]


async def test_the_wall_clock_tells_when_an_emission_was_made(autojump_clock: MockClock) -> None:
    """Not when it was delivered: an emission that waited is stamped with its own time."""
    now = wall_clock(trio.current_time())
    await trio.sleep(5)
    assert abs(wall_clock(trio.current_time() - 5) - (wall_clock(trio.current_time()) - 5000)) <= 1
    assert wall_clock(trio.current_time()) - now < 5000  # the real clock did not wait


async def test_turns_expire_in_the_order_of_their_deadlines(autojump_clock: MockClock) -> None:
    """One keeper looks after all of them, also when a later turn expires sooner."""
    ends: list[tuple[str, float]] = []
    async with open_runtime(sink=RecordingSink()) as runtime, trio.open_nursery() as nursery:

        async def watch(name: str, deadline: float) -> None:
            turn = runtime.open_turn(turn_id=name, thread_id=THREAD, options=TurnOptions(deadline=deadline))
            await turn.wait_end()
            ends.append((name, trio.current_time()))

        for name, deadline in (("slow", 30.0), ("quick", 2.0), ("middle", 10.0)):
            nursery.start_soon(watch, name, deadline)
    assert ends == [("quick", 2.0), ("middle", 10.0), ("slow", 30.0)]
