"""Log A beside log B: what is sent to a turn is written down as it came, before the turn looks at it."""

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.logs import OpenLog
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.messages.errors import InvalidEventError, LogUnavailableError, RetryExhaustedError
from turnwire.messages.event_codec import encode_event
from turnwire.messages.folds import fold_outputs
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime import MemoryLog, open_runtime

EVENTS = (started(), begin("m"), delta("m", "x" * 50), said("m", "x" * 50), finished())


async def test_both_logs_tell_the_same_turn(open_log: OpenLog) -> None:
    """Events under the run's id in log A, as they came; outputs under the turn's id in log B."""
    async with open_log() as log, open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th", run_id="r") as turn:
            for number, event in enumerate(EVENTS):
                await turn.send(encode_event(event) if number % 2 else event)
        assert [entry.event for entry in await log.read_events("r")] == [encode_event(event) for event in EVENTS]
        assert fold_outputs(await log.outputs("t")) == turn.snapshot()
        assert turn.snapshot().terminal is not None


async def test_the_run_is_named_after_the_turn_unless_it_has_a_name(autojump_clock: MockClock) -> None:
    """Also when the event came as text."""
    log = MemoryLog()
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(encode_event(EVENTS[0]).decode())
    assert [entry.event for entry in await log.read_events("t")] == [encode_event(EVENTS[0])]


class Shaky(MemoryLog):
    """A log whose raw half is away for a while, or stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.gate: trio.Event | None = None

    async def append_events(self, run_id: str, events: Sequence[object]) -> tuple[object, ...]:  # type: ignore[override]  # a fake
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise LogUnavailableError("away")
        return await super().append_events(run_id, events)  # type: ignore[arg-type]  # as above


async def test_a_turn_does_not_see_an_event_before_the_raw_log_has_it(autojump_clock: MockClock) -> None:
    """While the raw log stands still, nothing is processed and `send` waits."""
    log, heard = Shaky(), list[StreamMessage]()

    async def hear(message: StreamMessage) -> None:
        heard.append(message)

    log.gate = trio.Event()
    async with open_runtime(sink=hear, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.send, EVENTS[0])
            await wait_all_tasks_blocked()
            assert not heard
            log.gate.set()
            await wait_all_tasks_blocked()
            assert len(heard) == 1
            assert len(await log.read_events("t")) == 1


async def test_a_raw_log_that_is_away_is_tried_again(autojump_clock: MockClock) -> None:
    """As the turn's options say: after one second, then two."""
    log = Shaky()
    log.failures = 2
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(EVENTS[0])
            assert trio.current_time() == 3.0
    assert len(await log.read_events("t")) == 1


async def test_an_event_that_the_raw_log_keeps_refusing_is_refused_and_the_turn_goes_on(
    autojump_clock: MockClock,
) -> None:
    """Its sender is told; the turn has not seen it."""
    log = Shaky()
    log.failures = 4
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            with pytest.raises(RetryExhaustedError, match="4 times"):
                await turn.send(EVENTS[0])
            for event in EVENTS:
                await turn.send(event)
    assert len(await log.read_events("t")) == len(EVENTS)
    assert turn.counts == {}


async def test_a_bad_event_is_not_written_down(autojump_clock: MockClock) -> None:
    """What is refused at the door is in no log."""
    log = MemoryLog()
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            with pytest.raises(InvalidEventError):
                await turn.send(b'{"type": "item_delta"}')
    assert await log.read_events("t") == ()


async def test_what_the_raw_log_has_reaches_the_turn_whoever_is_cancelled(autojump_clock: MockClock) -> None:
    """Cancelled while the raw log writes: either both have the event, or neither."""
    log = Shaky()
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            log.gate = trio.Event()
            with trio.move_on_after(1) as scope:
                await turn.send(EVENTS[0])
            assert scope.cancelled_caught
            log.gate.set()
            assert await log.read_events("t") == ()
            await turn.flush()
            assert turn.snapshot().started is None


async def test_many_senders_of_one_turn_keep_the_order_of_its_raw_log(autojump_clock: MockClock) -> None:
    """The turn gets its events in the order in which log A has them."""
    log = MemoryLog()
    options = TurnOptions(batch_gradient=(100_000,), channel_size=2)
    async with open_runtime(sink=log, raw=log, options=options) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(EVENTS[0])
            await turn.send(EVENTS[1])
            async with trio.open_nursery() as nursery:
                for number in range(50):
                    nursery.start_soon(turn.send, delta("m", f"<{number}>"))
            await turn.flush()
            (message,) = turn.snapshot().items
    written = [entry.event for entry in await log.read_events("t")][2:]
    order = [text.split(b'"delta_content":"')[1].split(b'"')[0].decode() for text in written]
    assert message.content == "".join(order)
    assert len(order) == 50


async def test_a_late_event_is_counted_and_not_written_down(autojump_clock: MockClock) -> None:
    """After the terminal nothing of a turn is worth keeping."""
    log = MemoryLog()
    async with open_runtime(sink=log, raw=log) as runtime:
        async with runtime.open_turn(turn_id="t", thread_id="th") as turn:
            await turn.send(EVENTS[0])
            await turn.send(EVENTS[4])
            await turn.wait_end()
            await turn.send(delta("m", "late"))
            assert turn.counts == {"late_events": 1}
    assert len(await log.read_events("t")) == 2


async def test_the_raw_log_of_a_turn_expires_whatever_ended_it(autojump_clock: MockClock) -> None:
    """A turn that ran out of time has no end in log A; one that was closed without a terminal keeps its events."""
    log = MemoryLog(expire_after=10)
    async with open_runtime(sink=log, raw=log, options=TurnOptions(deadline=5)) as runtime:
        late = runtime.open_turn(turn_id="late", thread_id="th")
        closed = runtime.open_turn(turn_id="closed", thread_id="th")
        for turn in (late, closed):
            await turn.send(EVENTS[0])
        await closed.aclose()
        await late.wait_end()
        assert trio.current_time() == 5
        await trio.sleep(9)
        assert len(await log.read_events("late")) == 1
        await trio.sleep(2)
        assert await log.read_events("late") == ()
        assert len(await log.read_events("closed")) == 1


async def test_a_raw_log_that_cannot_expire_its_events_ends_nothing(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, and the next turn works."""

    class Stubborn(MemoryLog):
        async def expire_events(self, run_id: str) -> None:  # noqa: ARG002  # a fake
            raise LogUnavailableError("away")

    log = Stubborn()
    async with open_runtime(sink=log, raw=log) as runtime:
        for name in ("one", "two"):
            async with runtime.open_turn(turn_id=name, thread_id="th") as turn:
                await turn.send(EVENTS[0])
                await turn.send(EVENTS[4])
    assert [record.getMessage() for record in caplog.records if "expire" in record.getMessage()] == [
        "run one will not expire: away",
        "run two will not expire: away",
    ]
