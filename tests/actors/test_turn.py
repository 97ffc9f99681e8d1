"""A turn from the outside: what its host may rely on."""

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import (
    THREAD,
    TURN,
    RecordingSink,
    aborted,
    begin,
    called,
    delta,
    event,
    failed,
    finished,
    options,
    said,
    started,
    tokens,
)
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.core.options import TurnOptions
from turnwire.messages import (
    ClosedError,
    InvalidEventError,
    Message,
    ProtocolError,
    RetryExhaustedError,
    StreamEvent,
    StreamMessage,
    encode_event,
)
from turnwire.messages.events import Heartbeat, ItemDelta
from turnwire.runtime import MemoryLog, open_runtime


async def test_events_and_their_json_do_the_same(autojump_clock: MockClock) -> None:
    """An object, its bytes and its text are one event."""
    told: list[list[str]] = []
    forms: tuple[Callable[[StreamEvent], StreamEvent | bytes | str], ...] = (
        lambda event: event,
        encode_event,
        lambda event: encode_event(event).decode(),
    )
    for convert in forms:
        sink = RecordingSink()
        async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            for each in (started(), begin("m"), delta("m", "x" * 44), said("m", "x" * 45), finished()):
                await turn.send(convert(each))
        told.append(sink.told)
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 4


async def test_r18_a_malformed_event_is_the_callers_at_once_and_changes_nothing(autojump_clock: MockClock) -> None:
    """The error names turn, event and field; the turn goes on, and the event's id was not used up."""
    sink = RecordingSink()
    good = encode_event(event(ItemDelta(item_id="m", delta_content="text"), event_id="ev-same"))
    bad = good.replace(b'"delta_content":"text"', b'"delta_content":7')
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(begin("m"))
        before = turn.buffers()
        with pytest.raises(InvalidEventError, match=r"turn turn-1: event ev-same: \$\.payload\.delta_content: "):
            await turn.send(bad)
        assert turn.buffers() == before
        await turn.send(good)
        await turn.flush()
    assert sink.told == ["message create 'text'"]


async def test_an_event_past_the_size_limit_is_refused_unread(autojump_clock: MockClock) -> None:
    """One event must not be able to take the process's memory."""
    async with open_runtime(sink=RecordingSink()) as runtime:
        small = TurnOptions(max_event_bytes=400)
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=small) as turn:
            await turn.send(encode_event(delta("m", "x")))
            with pytest.raises(InvalidEventError, match="at most 400"):
                await turn.send(encode_event(delta("m", "x" * 400)))


async def test_r16_closing_flushes_and_later_events_are_refused(autojump_clock: MockClock) -> None:
    """Closing twice is fine; an event sent after it raises in the caller."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            await turn.send(begin("m"))
            await turn.send(delta("m", "rest"))
        await turn.aclose()
        with pytest.raises(ClosedError, match=TURN):
            await turn.send(delta("m", "late"))
        with pytest.raises(ClosedError, match=TURN):
            await turn.flush()
    assert sink.told == ["message create 'rest'"]


async def test_r16_the_error_of_the_body_wins_and_has_the_sinks_failure_as_context(autojump_clock: MockClock) -> None:
    """Leaving a block by an exception closes the turn; what else went wrong is told along."""
    with pytest.raises(KeyError) as caught:
        async with (
            open_runtime(sink=RecordingSink(failures=99)) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            raise KeyError("the body's own")
    assert isinstance(caught.value.__context__, RetryExhaustedError)


async def test_the_failure_of_the_sink_is_raised_by_every_later_call(autojump_clock: MockClock) -> None:
    """`send` does not wait for the sink, so the next send, flush or close tells."""
    with pytest.raises(RetryExhaustedError):
        async with (
            open_runtime(sink=RecordingSink(failures=99)) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            await trio.sleep(10)
            with pytest.raises(RetryExhaustedError):
                await turn.send(begin("m"))
            with pytest.raises(RetryExhaustedError):
                await turn.flush()


async def test_send_then_flush_raises_as_the_original_did(autojump_clock: MockClock) -> None:
    """The error of an event's own emission comes out of the flush after it."""
    with pytest.raises(RetryExhaustedError):
        async with (
            open_runtime(sink=RecordingSink(failures=99)) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            with trio.fail_after(60), pytest.raises(RetryExhaustedError):
                await turn.flush()
            assert trio.current_time() == 7


async def test_flush_waits_until_the_sink_has_taken_everything(autojump_clock: MockClock) -> None:
    """After a flush the sink knows all text that was sent before it."""
    sink = RecordingSink(delay=0.5)
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(started())
        await turn.send(begin("m"))
        await turn.send(delta("m", "abc"))
        await turn.flush()
        assert sink.told == ["turn_started", "message create 'abc'"]
        assert trio.current_time() == 1.0
        await turn.flush()
        assert trio.current_time() == 1.0


async def test_buffers_reflect_everything_sent_before(autojump_clock: MockClock) -> None:
    """Also what still stands in the channel, without waiting."""
    async with (
        open_runtime(sink=RecordingSink()) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        await turn.send(delta("m", tokens(15) + "x"))
        await turn.send(begin("f", "function_call", name="look", call_id="c"))
        assert turn.buffers() == {
            "m": BufferInfo(
                item_id="m",
                content_type="message",
                token_count=16,
                content_length=61,
                batch_index=1,
                is_held=False,
                is_complete=False,
            ),
            "f": BufferInfo(
                item_id="f",
                content_type="tool_call",
                token_count=0,
                content_length=0,
                batch_index=0,
                is_held=True,
                is_complete=False,
            ),
        }
        await turn.send(said("m", "done"))
        assert list(turn.buffers()) == ["f"]


async def test_r10_the_timeout_starts_again_at_each_delta(autojump_clock: MockClock) -> None:
    """Deltas every 0.9 s keep a timeout of 1 s from firing; then it fires once, a second after the last."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options(100)) as turn:
            await turn.send(begin("m"))
            for letter in "abcd":
                await trio.sleep(0.9)
                await turn.send(delta("m", letter))
            await trio.sleep(5)
            assert sink.told == ["message create 'abcd'"]
            assert sink.times == [pytest.approx(0.9 * 4 + 1.0, abs=1e-9)]
            await turn.send(delta("m", "e"))
            await trio.sleep(5)
        assert sink.told == ["message create 'abcd'", "message update 'abcde'"]
        assert sink.times[1] == pytest.approx(0.9 * 4 + 5 + 1.0, abs=1e-9)


async def test_r10_a_delta_after_the_deadline_finds_the_timeout_done(autojump_clock: MockClock) -> None:
    """Even when the sender never let the item's task run in between."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options(100)) as turn:
            await turn.send(begin("m"))
            await turn.send(delta("m", "before"))
            await wait_all_tasks_blocked()
            autojump_clock.jump(1.5)  # no checkpoint: the item's task has not woken when the delta comes
            await turn.send(delta("m", ", after"))
            await turn.send(said("m", "before, after"))
    assert sink.told == ["message create 'before'", "message complete 'before, after'"]


async def test_max_latency_emits_while_deltas_keep_coming(autojump_clock: MockClock) -> None:
    """Text that has waited that long is emitted, measured from the oldest character not yet shown."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        eager = options(1000, max_latency=0.5)
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=eager) as turn:
            await turn.send(begin("m"))
            for _ in range(10):
                await turn.send(delta("m", "x"))
                await trio.sleep(0.125)
        assert sink.times == [0.5, 1.0, 1.25]
        assert [len(output.content) for output in sink.outputs if isinstance(output, Message)] == [4, 8, 10]


async def test_r14_an_abort_flushes_and_completes_as_aborted(autojump_clock: MockClock) -> None:
    """What was shown stays, and the turn says that it was stopped."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        for each in (started(), begin("m"), delta("m", "half"), aborted()):
            await turn.send(each)
    assert sink.told == ["turn_started", "message create 'half'", "turn_complete aborted"]


async def test_a_turn_past_its_deadline_ends_with_turn_timeout(autojump_clock: MockClock) -> None:
    """It says what it has, then that its time is over; what comes later is counted."""
    sink = RecordingSink()
    async with open_runtime(sink=sink) as runtime:
        short = options(100, deadline=2.5, batch_timeout=30.0)
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=short) as turn:
            await turn.send(begin("m"))
            await trio.sleep(1)
            await turn.send(delta("m", "slow"))
            await turn.wait_end()
            assert trio.current_time() == 2.5
            await turn.send(delta("m", "er"))
            assert turn.counts == {"late_events": 1}
    assert sink.told == ["message create 'slow'", "turn_error TURN_TIMEOUT"]


async def test_unlimited_retries_end_at_the_turns_deadline(autojump_clock: MockClock) -> None:
    """For ever means until the turn's deadline."""
    sink = RecordingSink(failures=10_000)
    endless = options(100, retry_attempts=None, deadline=60.0)
    with pytest.raises(RetryExhaustedError):
        async with (
            open_runtime(sink=sink) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=endless) as turn,
        ):
            await turn.send(started())
            await turn.wait_end()
    assert 60 <= trio.current_time() <= 70


async def test_a_crash_inside_a_turn_is_told_as_internal_error(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers get turn_error without internals, the log gets the trace, the host a ProtocolError with its cause."""
    sink = RecordingSink()

    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret detail")

    with pytest.raises(ProtocolError) as caught:
        async with (
            open_runtime(sink=sink) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            await turn.send(begin("m"))
            await turn.send(delta("m", "x" * 44))
            await turn.flush()
            monkeypatch.setattr("turnwire.actors.core.turn_items.TurnItems.fail", explode)
            await turn.send(failed("m"))
            await trio.sleep(1)
            with pytest.raises(ProtocolError):
                await turn.send(delta("m", "more"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert sink.kinds == ["turn_started", "message create", "turn_error INTERNAL_ERROR"]
    assert "secret" not in sink.messages[-1].payload
    assert "a secret detail" in caplog.text


async def test_a_crash_of_the_writer_itself_is_still_told_if_it_can_be(autojump_clock: MockClock) -> None:
    """An id source that fails once costs the emission it failed for, and the turn."""
    sink = RecordingSink()

    def ids(turn_id: str, seq: int) -> str:
        if seq == 2:
            raise RuntimeError("no id for you")
        return f"{turn_id}/{seq}"

    with pytest.raises(ProtocolError):
        async with (
            open_runtime(sink=sink, event_ids=ids) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            await turn.send(said("m", "lost"))
            await trio.sleep(1)
    assert sink.kinds == ["turn_started", "turn_error INTERNAL_ERROR"]


async def test_a_second_sink_failure_does_not_hide_a_crash(autojump_clock: MockClock) -> None:
    """When even the turn_error cannot be told, the host still gets the crash."""

    def ids(turn_id: str, seq: int) -> str:
        raise RuntimeError("never an id")

    with pytest.raises(ProtocolError):
        async with (
            open_runtime(sink=RecordingSink(), event_ids=ids) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        ):
            await turn.send(started())
            await trio.sleep(1)


class StepCounter(trio.abc.Instrument):
    """Counts how often one task was given its turn to run."""

    def __init__(self, task: trio.lowlevel.Task) -> None:
        self.task = task
        self.steps = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += task is self.task


async def test_send_is_a_checkpoint_at_least_every_64_events(autojump_clock: MockClock) -> None:
    """A sender that never waits still lets others run, also when it spreads its events over turns."""
    counter = StepCounter(trio.lowlevel.current_task())
    async with open_runtime(sink=RecordingSink()) as runtime:
        turns = [runtime.open_turn(turn_id=f"t{number}", thread_id=THREAD) for number in range(10)]
        trio.lowlevel.add_instrument(counter)
        for number in range(640):
            await turns[number % 10].send(event(Heartbeat()))
        assert counter.steps == 640 // 64
        trio.lowlevel.remove_instrument(counter)


async def test_r20_outputs_reach_the_sink_one_at_a_time(autojump_clock: MockClock) -> None:
    """The sink is never called for a turn before its last call has returned."""
    inside = 0
    most = 0

    async def sink(message: StreamMessage) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await trio.sleep(0.2)
        inside -= 1

    async with open_runtime(sink=sink) as runtime:
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options(1, batch_timeout=0.05)) as turn:
            await turn.send(started())
            for number in range(10):
                await turn.send(begin(f"m{number}"))
                await turn.send(delta(f"m{number}", "text that is long enough"))
                await trio.sleep(0.06)
    assert most == 1


async def test_a_log_is_a_sink(autojump_clock: MockClock) -> None:
    """Anything with an async append will do; the one in memory can be read, followed and folded."""
    log = MemoryLog()
    followed: list[str] = []

    async def follow() -> None:
        async for entry in log.follow(TURN):
            followed.append(entry.message.event_id)  # noqa: PERF401  # as they come

    async with open_runtime(sink=log) as runtime, trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        async with runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
            for each in (started(), begin("m"), delta("m", "x" * 44), said("m", "yes"), called("f", "c"), finished()):
                await turn.send(each)
        assert await log.snapshot(TURN) == turn.snapshot() == await turn.wait_end()
    assert followed == [entry.message.event_id for entry in await log.read(TURN)]
    assert log.turn_ids() == (TURN,)


async def test_a_thing_that_is_no_sink_is_refused(autojump_clock: MockClock) -> None:
    """The message says what a sink is."""
    with pytest.raises(TypeError, match="async callable"):
        async with open_runtime(sink="stdout"):  # type: ignore[arg-type]  # the mistake under test
            pass
