"""A sink that is behind: when everything is delivered as made, when newest states replace older ones, when send waits."""

from collections import defaultdict
from math import inf

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import THREAD, TURN, RecordingSink, begin, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.messages import Message, StreamMessage
from turnwire.runtime import open_runtime


class GatedSink(RecordingSink):
    """Hangs until a gate opens; then takes everything at once."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = trio.Event()

    async def __call__(self, message: StreamMessage) -> None:
        await self.gate.wait()
        await super().__call__(message)


async def test_below_the_limit_everything_is_delivered_as_it_was_made(autojump_clock: MockClock) -> None:
    """However long the sink hangs: 64 waiting emissions are no backlog."""
    sink = GatedSink()
    async with open_runtime(sink=sink) as runtime, runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
        await turn.send(begin("m"))
        for _ in range(60):
            await turn.send(delta("m", "x" * 2000))  # each crosses a threshold for a while
        await trio.sleep(100)
        made = turn.actor.machine.outbox.made
        sink.gate.set()
    assert made < 64
    assert len(sink.outputs) in (made, made + 1)  # one more if closing had text left to flush
    assert "conflated_emissions" not in turn.counts


async def test_at_the_limit_the_turn_waits_for_its_writer(autojump_clock: MockClock) -> None:
    """Within the patience nothing is conflated: the channel fills, and then `send` waits."""
    sink = GatedSink()
    patient = TurnOptions(outbox_limit=4, patience=inf, channel_size=8)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=patient) as turn,
    ):
        sent = 0

        async def produce() -> None:
            nonlocal sent
            for number in range(100):
                await turn.send(said(f"m{number}", str(number)))
                sent += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            await wait_all_tasks_blocked()
            sent_while_shut = sent
            sink.gate.set()
    # Some five at the sink's door, up to eight taken out but not looked at, eight in the channel, then it waits.
    assert 12 <= sent_while_shut <= 20
    assert sink.told == [f"message complete '{number}'" for number in range(100)]


async def test_past_the_patience_only_the_newest_states_wait(autojump_clock: MockClock) -> None:
    """A sender that meets a full outbox waits at most the patience, then the backlog folds."""
    sink = GatedSink()
    quick = TurnOptions(batch_gradient=(1,), outbox_limit=4, patience=0.25, channel_size=8)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=quick) as turn,
    ):
        await turn.send(begin("m"))
        for number in range(100):
            await turn.send(delta("m", f"{number:08}"))
        assert trio.current_time() == 0.25
        await wait_all_tasks_blocked()
        assert len(turn.actor.machine.outbox) == 1
        sink.gate.set()
    # The create was in flight and left alone; all that was superseded is one update.
    assert [output.status for output in sink.outputs if isinstance(output, Message)] == ["create", "update"]
    assert isinstance(sink.outputs[-1], Message)
    assert len(sink.outputs[-1].content) == 800
    assert turn.counts["conflated_emissions"] > 90


async def test_a_hundred_thousand_deltas_while_the_sink_hangs_for_a_minute(autojump_clock: MockClock) -> None:
    """What waits is at most one state per item with news, `send` does not wait, all final states arrive, in order."""
    sink = GatedSink()
    items, deltas = 20, 100_000
    texts: dict[str, list[str]] = defaultdict(list)
    longest_wait = 0.0
    most_waiting = 0
    endless = TurnOptions(retry_attempts=None)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=endless) as turn,
    ):
        outbox = turn.actor.machine.outbox
        await turn.send(started())
        for item in range(items):
            await turn.send(begin(f"m{item}"))
        for number in range(deltas):
            item_id, text = f"m{number % items}", f"{number % 997:04}"
            texts[item_id].append(text)
            before = trio.current_time()
            await turn.send(delta(item_id, text))
            longest_wait = max(longest_wait, trio.current_time() - before)
            if number % 1000 == 999:
                await trio.sleep(0.6)
                if outbox.is_behind:
                    most_waiting = max(most_waiting, len(outbox))
        for item_id, parts in texts.items():
            await turn.send(said(item_id, "".join(parts)))
        await turn.send(finished())
        assert trio.current_time() == pytest.approx(60)
        assert sink.outputs == []
        sink.gate.set()
    assert longest_wait == 0.0
    assert 0 < most_waiting <= items
    final = {output.item_id: output for output in sink.outputs if isinstance(output, Message)}
    assert {item_id: "".join(parts) for item_id, parts in texts.items()} == {
        item_id: output.content for item_id, output in final.items()
    }
    assert {output.status for output in final.values()} == {"complete"}
    assert [output.item_id for output in sink.outputs[-items - 1 : -1] if isinstance(output, Message)] == list(texts)
    assert sink.kinds[0] == "turn_started"
    assert sink.kinds[-1] == "turn_complete complete"


async def test_past_the_hard_limit_send_waits_and_nothing_is_lost(autojump_clock: MockClock) -> None:
    """Final states are never conflated away, so at some number of them the producer has to wait."""
    sink = GatedSink()
    small = TurnOptions(outbox_limit=2, patience=0.1, max_waiting=10, channel_size=4)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=small) as turn,
    ):
        sent = 0

        async def produce() -> None:
            nonlocal sent
            for number in range(50):
                await turn.send(said(f"m{number}", str(number)))
                sent += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            await trio.sleep(1000)
            sent_while_shut, waiting = sent, len(turn.actor.machine.outbox)
            sink.gate.set()
    assert sent_while_shut < 20
    assert waiting == 10
    assert sink.told == [f"message complete '{number}'" for number in range(50)]


async def test_the_hard_limit_counts_bytes_too(autojump_clock: MockClock) -> None:
    """A few large states are as good a reason to wait as many small ones."""
    sink = GatedSink()
    small = TurnOptions(max_waiting_bytes=100_000, channel_size=4)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=small) as turn,
    ):
        sent = 0

        async def produce() -> None:
            nonlocal sent
            for number in range(50):
                await turn.send(said(f"m{number}", "x" * 30_000))
                sent += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            await trio.sleep(1000)
            sent_while_shut = sent
            sink.gate.set()
    assert sent_while_shut < 12
    assert len(sink.outputs) == 50


async def test_timeouts_that_fire_while_the_turn_is_held_up_are_not_lost(autojump_clock: MockClock) -> None:
    """An item that was due while the outbox was full is emitted once there is room, and its timer runs on."""
    sink = GatedSink()
    tight = TurnOptions(batch_gradient=(1000,), outbox_limit=1, patience=inf, batch_timeout=1.0)
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=tight) as turn,
    ):
        await turn.send(begin("m"))
        await turn.send(delta("m", "slow"))
        await turn.send(said("a", "1"))
        await turn.send(said("b", "2"))
        await turn.send(said("c", "3"))
        await trio.sleep(5)
        assert sink.outputs == []
        sink.gate.set()
        await trio.sleep(1)
        assert sorted(sink.told) == [
            "message complete '1'",
            "message complete '2'",
            "message complete '3'",
            "message create 'slow'",
        ]
        await turn.send(delta("m", "er"))
        await trio.sleep(1.5)
        assert sink.told[-1] == "message update 'slower'"
        assert sink.times[-1] == 7.0
