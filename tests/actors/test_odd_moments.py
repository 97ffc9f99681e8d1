"""Moments that are easy to get wrong: two things at once, an end while somebody waits, a failure inside a failure."""

from math import inf

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import (
    THREAD,
    TURN,
    RecordingSink,
    begin,
    delta,
    event,
    failed,
    finished,
    options,
    running,
    said,
    started,
)
from turnwire.actors.core.options import TurnOptions
from turnwire.messages import FencedError, Message, ProtocolError, RetryExhaustedError, StreamMessage
from turnwire.messages.events import Heartbeat
from turnwire.runtime import open_runtime


async def test_two_failed_turns_in_one_block_tie_no_knot(autojump_clock: MockClock) -> None:
    """The body's error keeps both failures as its context, each once, and the chain has an end."""
    dead = options(10, retry_attempts=0)
    with pytest.raises(KeyError) as caught:
        async with (
            open_runtime(sink=RecordingSink(failures=99), options=dead) as runtime,
            runtime.open_turn(turn_id="a", thread_id=THREAD) as first,
            runtime.open_turn(turn_id="b", thread_id=THREAD) as second,
        ):
            await first.send(started(turn_id="a"))
            await second.send(started(turn_id="b"))
            await trio.sleep(1)
            raise KeyError("mine")
    chain: list[BaseException] = [caught.value]
    while (earlier := chain[-1].__context__) is not None:
        chain.append(earlier)
        assert len(chain) < 10
    failed = {exc.turn for exc in chain if isinstance(exc, RetryExhaustedError)}
    assert failed == {"a", "b"}


@pytest.mark.parametrize("attempt", range(10))
async def test_a_turn_that_fails_in_the_moment_it_expires_is_alone_in_it(
    attempt: int, autojump_clock: MockClock
) -> None:
    """Whichever comes first, the deadline's task or the writer's last try: the other turns do not notice."""
    sink = RecordingSink()

    async def dead(message: StreamMessage) -> None:
        raise OSError("no")

    async with open_runtime(sink=sink) as runtime:
        bad = runtime.open_turn(
            turn_id="bad", thread_id=THREAD, sink=dead, options=options(10, retry_attempts=1, deadline=1.0)
        )
        good = runtime.open_turn(turn_id="good", thread_id=THREAD)
        await bad.send(started(turn_id="bad"))
        await bad.send(finished())
        await good.send(started(turn_id="good"))
        await trio.sleep(2)
        await good.send(said("m", "still here"))
        await good.aclose()
        with pytest.raises(RetryExhaustedError):
            await bad.wait_end()
    assert sink.kinds == ["turn_started", "message complete"]


@pytest.mark.parametrize("attempt", range(10))
async def test_senders_that_race_with_the_failure_get_the_failure(attempt: int, autojump_clock: MockClock) -> None:
    """Not some error of the nursery they know nothing of; and the sink is called just as often as allowed."""
    sink = RecordingSink(failures=99)
    seen: list[type[BaseException]] = []

    async def produce(name: str) -> None:
        try:
            for number in range(100):
                await turn.send(said(f"{name}{number}", "text"))
                await trio.lowlevel.checkpoint()
        except RetryExhaustedError as exc:
            seen.append(type(exc))

    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options(10, retry_attempts=0))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce, "a")
            nursery.start_soon(produce, "b")
    assert seen == [RetryExhaustedError, RetryExhaustedError]
    assert sink.calls == 1


async def test_a_failing_turn_with_a_full_channel_does_not_break_the_shutdown_of_others(
    autojump_clock: MockClock,
) -> None:
    """The runtime still closes within its grace time, and raises nothing of its own."""

    async def sink(message: StreamMessage) -> None:
        if message.turn_id == "hangs":
            await trio.sleep_forever()
        await trio.sleep(1)
        raise OSError("dead")

    tight = TurnOptions(outbox_limit=1, patience=inf, channel_size=1, retry_attempts=0)
    async with open_runtime(sink=sink, options=tight, grace=3.0) as runtime:
        hangs = runtime.open_turn(turn_id="hangs", thread_id=THREAD)
        await hangs.send(said("m", "1"))
        dies = runtime.open_turn(turn_id="dies", thread_id=THREAD)
        for number in range(3):
            await dies.send(said(f"m{number}", "1"))
    assert trio.current_time() == 3.0
    assert running() == []


async def test_a_turn_may_be_closed_by_two_at_once(autojump_clock: MockClock) -> None:
    """Closing twice is fine, also when both have to wait for room."""
    sink = RecordingSink(delay=0.5)
    tight = TurnOptions(outbox_limit=1, patience=inf, channel_size=1)
    async with open_runtime(sink=sink, options=tight) as runtime, trio.open_nursery() as nursery:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        for number in range(3):
            await turn.send(said(f"m{number}", "1"))
        nursery.start_soon(turn.aclose)
        nursery.start_soon(turn.aclose)
    assert len(sink.outputs) == 3


@pytest.mark.parametrize(
    ("how", "turn_options"),
    [
        ("behind the terminal", TurnOptions(outbox_limit=1)),
        ("while the sink dies", TurnOptions(outbox_limit=1, retry_attempts=0, patience=inf)),
        ("waiting for room", TurnOptions(outbox_limit=1, channel_size=1, patience=inf)),
    ],
)
async def test_a_flush_ends_when_its_turn_does(how: str, turn_options: TurnOptions, autojump_clock: MockClock) -> None:
    """However the turn ends while a flush is on its way, the flush returns or raises; it never waits for ever."""
    dying = how == "while the sink dies"

    async def sink(message: StreamMessage) -> None:
        await trio.sleep(0.01)
        if dying:
            raise OSError("dead")

    with trio.fail_after(60):
        async with open_runtime(sink=sink, options=turn_options) as runtime:
            turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
            for each in (started(), begin("m"), delta("m", "x"), finished()):
                await turn.send(each)
            if dying:
                with pytest.raises(RetryExhaustedError):
                    await turn.flush()
            else:
                await turn.flush()


async def test_the_last_words_of_a_crashed_turn_can_be_cancelled(autojump_clock: MockClock) -> None:
    """A sink that hangs on the turn_error does not keep the host."""

    async def sink(message: StreamMessage) -> None:
        await trio.sleep_forever()

    def ids(turn_id: str, seq: int) -> str:
        if seq == 1:
            raise RuntimeError("once")
        return f"{turn_id}:{seq}"

    async with open_runtime(sink=sink, event_ids=ids, grace=1.0) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(started())
        await trio.sleep(1)
        turn.cancel()
        with trio.fail_after(1), pytest.raises(ProtocolError):
            await turn.wait_end()


async def test_a_sink_that_is_no_checkpoint_hears_nothing_after_a_cancel(autojump_clock: MockClock) -> None:
    """Cancelled means: nothing more reaches the sink."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(started())
        await turn.send(said("m", "text"))
        turn.cancel()
        await turn.wait_end()
    assert sink.told == []


async def test_max_latency_holds_for_text_that_came_just_before_an_emission(autojump_clock: MockClock) -> None:
    """A delta that gave no wake-up, because a timer was near, is not forgotten by that timer."""
    sink = RecordingSink()
    quick = TurnOptions(batch_gradient=(10, 1000), max_latency=0.1, batch_timeout=30.0)
    async with open_runtime(sink=sink, options=quick) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            await turn.send(begin("m"))
            await trio.sleep_until(0.5)
            await turn.send(delta("m", "x" * 8))
            await trio.sleep_until(0.55)
            await turn.send(delta("m", "y" * 40))
            await trio.sleep_until(0.58)
            await turn.send(delta("m", "z"))
            await trio.sleep_until(2)
            assert sink.times == [0.55, pytest.approx(0.68, abs=1e-9)]


async def test_senders_that_waited_for_room_do_not_turn_time_back(autojump_clock: MockClock) -> None:
    """Emissions carry timestamps that never fall, whoever got in first."""
    sink = RecordingSink(delay=1.0)
    tight = TurnOptions(outbox_limit=1, patience=inf, channel_size=1)
    async with (
        open_runtime(sink=sink, options=tight, timestamps=lambda at: round(at * 1000)) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        trio.open_nursery() as nursery,
    ):
        for number in range(8):
            nursery.start_soon(turn.send, said(f"m{number}", "x"))
            await trio.sleep(0.3)
    stamps = [message.timestamp for message in sink.messages]
    assert stamps == sorted(stamps)
    assert len(stamps) == 8


async def test_a_flush_during_a_normal_close_is_no_error(autojump_clock: MockClock) -> None:
    """Everything arrived, so nobody is told otherwise."""
    sink = RecordingSink(delay=0.5)
    async with open_runtime(sink=sink) as runtime, trio.open_nursery() as nursery:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(started())
        nursery.start_soon(turn.flush)
        await wait_all_tasks_blocked()
        nursery.start_soon(turn.aclose)
    assert sink.kinds == ["turn_started"]


async def test_commands_do_not_count_as_events_that_were_not_delivered(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Three events sent, none taken: three."""

    async def sink(message: StreamMessage) -> None:
        await trio.sleep_forever()

    stuck = TurnOptions(outbox_limit=1, patience=inf)
    async with open_runtime(sink=sink, options=stuck, grace=1.0) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        for number in range(3):
            await turn.send(said(f"m{number}", "x"))
    assert runtime.undelivered == {TURN: 3}


async def test_a_cancelled_send_has_sent_nothing_at_its_checkpoint_too(autojump_clock: MockClock) -> None:
    """The 64th event is where `send` lets others run: cancelled there, it is not in."""
    async with open_runtime(sink=RecordingSink()) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        accepted = 0
        with trio.CancelScope() as scope:
            scope.cancel()
            for number in range(100):
                await turn.send(begin(f"m{number}"))
                accepted += 1
        assert accepted == 63
        assert len(turn.buffers()) == 63
        turn.cancel()


async def test_bad_events_are_checkpoints_like_good_ones(autojump_clock: MockClock) -> None:
    """A producer of nonsense does not hog the loop."""
    ran = False

    async def other() -> None:
        nonlocal ran
        ran = True

    async with open_runtime(sink=RecordingSink()) as runtime, trio.open_nursery() as nursery:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        nursery.start_soon(other)
        for _ in range(130):
            with pytest.raises(Exception, match="event_id"):
                await turn.send(b"{}")
        assert ran
        await turn.send(event(Heartbeat()))


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_fenced_turn_ends_without_another_try(wrapped: bool, autojump_clock: MockClock) -> None:
    """Another owner has it: trying again is no use, however the sink says so."""
    calls = 0

    async def sink(message: StreamMessage) -> None:
        nonlocal calls
        calls += 1
        fenced = FencedError("epoch 2 is there")
        raise ExceptionGroup("from a nursery", [fenced]) if wrapped else fenced

    with pytest.raises(FencedError):
        async with (
            open_runtime(sink=sink) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
    assert calls == 1
    assert trio.current_time() == 0


async def test_events_behind_the_terminal_are_counted_although_the_outbox_is_full(autojump_clock: MockClock) -> None:
    """They came too late; they are not events that were not delivered."""
    sink = RecordingSink(delay=0.1)
    async with open_runtime(sink=sink, options=TurnOptions(outbox_limit=1)) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            for each in (started(), said("m", "x"), finished(), said("n", "late")):
                await turn.send(each)
        assert turn.counts == {"late_events": 1}
    assert [type(output) for output in sink.outputs].count(Message) == 1


async def test_a_flush_behind_the_event_that_crashes_its_turn_raises(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the same bundle as the event, and must not be forgotten with it."""

    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("turnwire.actors.core.turn_items.TurnItems.fail", explode)
    with trio.fail_after(10):
        async with open_runtime(sink=RecordingSink()) as runtime:
            turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
            await turn.send(begin("m"))
            await turn.send(failed("m"))
            with pytest.raises(ProtocolError):
                await turn.flush()
