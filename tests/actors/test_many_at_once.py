"""A sink that takes several messages at once: order, retries, what is left alone in flight, and cancellation."""

from collections.abc import Sequence
from math import inf

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import THREAD, TURN, begin, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.groups import leaves
from turnwire.actors.writer import AT_ONCE
from turnwire.messages import Message, StreamMessage
from turnwire.messages.errors import FencedError, ProtocolError, RetryExhaustedError
from turnwire.messages.output_codec import decode_output, encode_output
from turnwire.messages.outputs import Output
from turnwire.runtime import open_runtime

EVERY_DELTA = TurnOptions(batch_gradient=(1,), patience=inf, outbox_limit=10_000)


class BatchSink:
    """Takes what it is given once its gate is open; `most` at a time."""

    def __init__(self, *, most: int = 1000, is_open: bool = True) -> None:
        self.gate = trio.Event()
        if is_open:
            self.gate.set()
        self.most = most
        self.calls: list[list[str]] = []
        """The event ids of each call, taken or not."""
        self.taken: list[StreamMessage] = []
        self.errors: list[Exception] = []
        """Raised by the next calls, one each."""

    async def append(self, message: StreamMessage) -> None:
        pytest.fail(f"whoever can take several is given several; got {message.event_id} alone")

    async def append_many(self, messages: Sequence[StreamMessage]) -> int:
        self.calls.append([message.event_id for message in messages])
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.taken.extend(messages[: self.most])
        return min(self.most, len(messages))

    @property
    def texts(self) -> list[str]:
        outputs = [decode_output(message.payload) for message in self.taken]
        return [output.content for output in outputs if isinstance(output, Message)]

    @property
    def seqs(self) -> list[int]:
        return [int(message.event_id.rpartition("-")[2]) for message in self.taken]


async def test_what_gathers_while_the_sink_is_busy_is_handed_over_in_one_call(autojump_clock: MockClock) -> None:
    """One call for the first emission, one for all that came meanwhile; each once and in order."""
    sink = BatchSink(is_open=False)
    async with (
        open_runtime(sink=sink, options=EVERY_DELTA) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(started())
        await wait_all_tasks_blocked()
        await turn.send(begin("m"))
        for number in range(20):
            await turn.send(delta("m", f"{number:08}"))
        await wait_all_tasks_blocked()
        assert len(sink.calls) == 1
        sink.gate.set()
        await wait_all_tasks_blocked()
        assert [len(call) for call in sink.calls] == [1, 20]
        await turn.send(said("m", "all"))
        await turn.send(finished())
    assert sink.seqs == list(range(1, 24))
    assert [len(text) for text in sink.texts[:-1]] == [8 * n for n in range(1, 21)]


async def test_a_sender_wakes_nobody_while_the_writer_is_busy_and_the_writer_looks_by_itself(
    autojump_clock: MockClock,
) -> None:
    """What comes meanwhile stays in the channel; it is written at once when the sink is free again."""
    sink = BatchSink(is_open=False)
    async with (
        open_runtime(sink=sink, options=EVERY_DELTA) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        await wait_all_tasks_blocked()
        await turn.send(delta("m", "x" * 8))
        await wait_all_tasks_blocked()
        for _ in range(5):
            await turn.send(delta("m", "x" * 8))
            await wait_all_tasks_blocked()
        assert turn.actor.machine.outbox.made == 1
        sink.gate.set()
        await wait_all_tasks_blocked()
        assert [len(call) for call in sink.calls] == [1, 5]
        assert trio.current_time() == 0.0


async def test_no_call_is_longer_than_its_bound(autojump_clock: MockClock) -> None:
    """However much waits: other turns want to be written too."""
    sink = BatchSink(is_open=False)
    async with (
        open_runtime(sink=sink, options=EVERY_DELTA) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        for number in range(200):
            await turn.send(delta("m", f"{number:08}"))
        turn.catch_up()
        sink.gate.set()
    assert max(map(len, sink.calls)) == AT_ONCE
    assert sink.seqs == list(range(1, 201))


async def test_what_a_call_did_not_take_comes_first_in_the_next(autojump_clock: MockClock) -> None:
    """A sink may take fewer than it was given; nothing is skipped, repeated or overtaken."""
    sink = BatchSink(is_open=False, most=3)
    async with (
        open_runtime(sink=sink, options=EVERY_DELTA) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        for number in range(20):
            await turn.send(delta("m", f"{number:08}"))
        turn.catch_up()
        sink.gate.set()
    assert sink.seqs == list(range(1, 21))


async def test_a_refused_call_is_made_again_with_the_same_messages(autojump_clock: MockClock) -> None:
    """Under the same event ids, and without what has come meanwhile: only what was in flight is tried again."""
    sink = BatchSink(is_open=False)
    async with (
        open_runtime(sink=sink, options=EVERY_DELTA) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        await turn.send(delta("m", "x" * 8))
        await wait_all_tasks_blocked()
        for _ in range(4):
            await turn.send(delta("m", "x" * 8))
        sink.errors = [OSError("away"), OSError("away"), OSError("away")]
        sink.gate.set()
        await trio.sleep(100)
    ids = [f"{TURN}:1-{seq}" for seq in range(1, 6)]
    assert sink.calls == [ids[:1]] * 4 + [ids[1:]]
    assert sink.seqs == [1, 2, 3, 4, 5]


async def test_those_in_flight_are_left_alone_when_the_sink_is_behind(autojump_clock: MockClock) -> None:
    """What waits behind them is conflated to the newest state; they themselves are delivered as they were made."""
    sink = BatchSink()
    quick = TurnOptions(batch_gradient=(1,), outbox_limit=4, patience=0.25, channel_size=8)
    async with (
        open_runtime(sink=sink, options=quick) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
    ):
        await turn.send(begin("m"))
        sink.gate = trio.Event()
        await turn.send(delta("m", "x" * 8))
        await wait_all_tasks_blocked()
        for _ in range(3):
            await turn.send(delta("m", "x" * 8))
        turn.catch_up()
        sink.gate.set()  # the first one goes; three are then in flight
        sink.gate = trio.Event()
        await wait_all_tasks_blocked()
        flying = [len(call) for call in sink.calls]
        for _ in range(100):
            await turn.send(delta("m", "x" * 8))
        await trio.sleep(1)
        sink.gate.set()
    assert flying == [1, 3]
    assert [len(text) // 8 for text in sink.texts] == [1, 2, 3, 4, 104]


async def test_a_cancelled_turn_has_counted_what_was_in_flight_as_not_delivered(autojump_clock: MockClock) -> None:
    """Whoever is cancelled in the sink may have delivered or not; nothing is said to have arrived that was not."""
    sink = BatchSink(is_open=False)
    async with open_runtime(sink=sink, options=EVERY_DELTA) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(begin("m"))
        await turn.send(delta("m", "x" * 8))
        await wait_all_tasks_blocked()
        for _ in range(4):
            await turn.send(delta("m", "x" * 8))
        turn.catch_up()
        turn.cancel()
        await turn.actor.wait_ended()
        assert (turn.actor.deliveries.taken, turn.actor.undelivered) == (0, 5)
    assert sink.taken == []


@pytest.mark.parametrize("error", [FencedError("another owner"), OSError("away")])
async def test_a_sink_that_keeps_refusing_fails_the_turn(autojump_clock: MockClock, error: Exception) -> None:
    """Another owner ends it at once; anything else after as many tries as the policy allows."""
    sink = BatchSink()
    sink.errors = [error] * 100
    options = TurnOptions(retry_attempts=2)
    async with open_runtime(sink=sink, options=options) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(started())
        with pytest.raises((FencedError, RetryExhaustedError)) as caught:
            await turn.aclose()
    assert isinstance(caught.value, FencedError) == isinstance(error, FencedError)
    assert len(sink.calls) == (1 if isinstance(error, FencedError) else 3)


async def test_an_output_that_cannot_be_worded_takes_nothing_else_with_it(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before and behind it in the same call are delivered all the same, then the turn_error."""

    def encode_most(output: Output) -> str:
        if isinstance(output, Message) and len(output.content) == 24:
            raise ValueError("no words for this")
        return encode_output(output)

    monkeypatch.setattr("turnwire.actors.deliveries.encode_output", encode_most)
    sink = BatchSink(is_open=False)
    async with open_runtime(sink=sink, options=EVERY_DELTA) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(begin("m"))
        await turn.send(delta("m", "x" * 8))
        await wait_all_tasks_blocked()
        for _ in range(4):
            await turn.send(delta("m", "x" * 8))
        turn.catch_up()
        sink.gate.set()
        await turn.actor.wait_ended()
        assert turn.actor.failure is not None
    assert [len(text) // 8 for text in sink.texts] == [1, 2, 4, 5]
    assert decode_output(sink.taken[-1].payload).__class__.__name__ == "TurnError"


@pytest.mark.parametrize("count", [0, -1, 2])
async def test_a_sink_that_says_it_took_what_cannot_be_ends_its_turn(autojump_clock: MockClock, count: int) -> None:
    """None of one, or two of one: whoever goes on would ask for ever, or take as told what nobody was told."""

    class Miscounting(BatchSink):
        async def append_many(self, messages: Sequence[StreamMessage]) -> int:
            await super().append_many(messages)
            return count

    async with open_runtime(sink=Miscounting(), options=EVERY_DELTA) as runtime:
        turn = runtime.open_turn(turn_id=TURN, thread_id=THREAD)
        await turn.send(started())
        with trio.fail_after(60), pytest.raises(ProtocolError) as caught:
            await turn.flush()
        assert f"took {count} of 1" in str(next(leaves(caught.value.__cause__ or caught.value)))
