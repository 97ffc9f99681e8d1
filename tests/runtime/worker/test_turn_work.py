"""What a worker does with one turn, from its claim to its acknowledgement, in memory and in virtual time."""

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.logs import end, envelope, start, text
from tests.kit.queues import open_stage
from tests.kit.turns import aborted, begin, delta, finished, said, started, tokens
from turnwire.actors import Publish
from turnwire.actors.core.recovery import Recovery
from turnwire.messages.entries import START, EntryId, RawEntry
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.events import StreamEvent
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.queue.announcement import Announcement


async def test_a_turn_goes_from_its_announcement_to_its_acknowledgement(autojump_clock: MockClock) -> None:
    """Events that were there before and events that come later; the entry goes when the terminal is in log B."""
    async with open_stage() as stage:
        await stage.publish("t", started("t", "th"), begin("m"))
        entry = stage.queue.announce("t")
        await trio.sleep(1)
        assert stage.worker.live == 1
        await stage.publish("t", delta("m", tokens(11)))
        await trio.sleep(1)
        assert stage.queue.finished == []
        await stage.publish("t", said("m", "all"), finished())
        await trio.sleep(1)
        assert stage.queue.finished == [entry]
        assert stage.worker.live == 0
        assert await stage.told("t") == [
            "turn_started",
            f"message create {tokens(11)!r}",
            "message complete 'all'",
            "turn_complete complete",
        ]
        assert [entry.id.major for entry in await stage.log.read("t")] == [1, 1, 1, 1]
    counts = stage.worker.counts
    assert (counts.claimed, counts.recovered, counts.finished, counts.handed_over) == (1, 0, 1, 0)


async def test_a_turn_of_a_dead_worker_goes_on_under_the_next_epoch(autojump_clock: MockClock) -> None:
    """Only what log B does not say yet is told."""
    log = MemoryLog()
    await log.claim("t")
    await log.append(envelope(start(), 1))
    await log.append(envelope(text("x" * 50, status="create"), 2))
    async with open_stage(log=log) as stage:
        await stage.publish("t", started("t", "th"), begin("m"), delta("m", "x" * 50), said("m", "done"))
        entry = stage.queue.announce("t", fallen=True)
        await trio.sleep(3)
        await stage.publish("t", finished())
        await trio.sleep(1)
        assert stage.queue.finished == [entry]
    assert [entry.message.event_id for entry in await log.read("t")][2:] == ["t:2-1", "t:2-2"]
    assert stage.worker.counts.recovered == 1


async def test_a_turn_that_has_its_terminal_is_just_acknowledged(autojump_clock: MockClock) -> None:
    """Its worker died between the terminal and the acknowledgement."""
    log = MemoryLog(expire_after=50)
    await log.claim("t")
    await log.append(envelope(start(), 1))
    await log.append(envelope(end(), 2))
    async with open_stage(log=log) as stage:
        await stage.publish("t", started("t", "th"))
        entry = stage.queue.announce("t", fallen=True)
        await trio.sleep(5)
        assert stage.queue.finished == [entry]
        assert len(await log.read("t")) == 2
        await trio.sleep(60)
        assert await log.read_events("rt") == ()  # it was given its time to live


async def test_an_entry_of_log_b_that_is_no_output_holds_nobody_up(autojump_clock: MockClock) -> None:
    """Whoever wrote it, the turn goes on and ends."""
    log = MemoryLog()
    await log.claim("t")
    await log.append(StreamMessage(event_id="t:1-1", timestamp=1, turn_id="t", payload='{"type":"odd"}'))
    async with open_stage(log=log) as stage:
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        entry = stage.queue.announce("t", fallen=True)
        await trio.sleep(1)
        assert stage.queue.finished == [entry]
    assert [entry.message.event_id for entry in await log.read("t")][1:] == ["t:2-1", "t:2-2", "t:2-3"]


async def test_a_stop_in_log_a_ends_the_turn_as_aborted(autojump_clock: MockClock) -> None:
    """Whoever wrote it there."""
    async with open_stage() as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        await stage.publish("t", aborted())
        await trio.sleep(1)
        assert await stage.told("t") == ["turn_complete aborted"]


async def test_a_silent_producer_stalls_its_turn_at_the_very_second(autojump_clock: MockClock) -> None:
    """Counted from the last event; what is there is told first. Others go on."""
    async with open_stage(stall_timeout=30.0) as stage:
        entry = stage.queue.announce("t")
        await trio.sleep(20)
        stage.queue.announce("other")
        await stage.publish("t", started("t", "th"), begin("m"), delta("m", "few"))
        await trio.sleep(29.9)
        assert stage.worker.live == 2
        await stage.publish("other", started("other", "th"))
        await trio.sleep(0.2)
        assert (await stage.told("t"))[-1].startswith("turn_error TURN_STALLED")
        assert "message create 'few'" in await stage.told("t")
        assert stage.queue.finished == [entry]
        assert stage.worker.live == 1
        assert stage.worker.counts.stalled == 1
        await stage.publish("other", finished())
        await trio.sleep(0.1)
        assert stage.worker.live == 0


async def test_an_outage_of_the_queue_is_no_silence_of_the_producer(autojump_clock: MockClock) -> None:
    """The time to speak begins anew when Redis is back."""
    async with open_stage(stall_timeout=30.0) as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_away = True
        await trio.sleep(60)
        assert stage.worker.live == 1
        stage.queue.is_away = False
        await trio.sleep(29)
        assert stage.worker.live == 1
        await trio.sleep(5)
        assert stage.worker.live == 0
        assert stage.worker.counts.stalled == 1
        assert stage.worker.counts.disconnects == 1


async def test_the_deadline_counts_from_the_announcement(autojump_clock: MockClock) -> None:
    """A turn that changes hands gets no more time."""
    async with open_stage(turn={"deadline": 100.0}) as stage:
        entry = stage.queue.announce("t", age=90.0)
        await trio.sleep(9)
        assert stage.worker.live == 1
        await trio.sleep(2)
        assert (await stage.told("t"))[-1].startswith("turn_error TURN_TIMEOUT")
        assert stage.queue.finished == [entry]


async def test_what_is_no_event_is_counted_and_the_turn_goes_on(autojump_clock: MockClock) -> None:
    """In what was there before, and in what comes; even if it looks like an end."""
    async with open_stage() as stage:
        await stage.publish("t", started("t", "th"), b"{", b'{"type":"item_start"}')
        stage.queue.announce("t")
        await trio.sleep(1)
        await stage.publish("t", b'{"type":"response_done"}')
        await stage.publish("t", b"nonsense", begin("m"), said("m", "all"), finished())
        await trio.sleep(1)
        assert (await stage.told("t"))[1:] == ["message complete 'all'", "turn_complete complete"]
        assert stage.worker.counts.invalid_events == 4


async def test_a_fenced_turn_is_dropped_and_the_others_go_on(autojump_clock: MockClock) -> None:
    """Another claimed it: nothing more is written, nothing is acknowledged, nobody else notices."""
    async with open_stage() as stage:
        for turn in ("t", "u"):
            stage.queue.announce(turn)
            await stage.publish(turn, started(turn, "th"), begin("m"))
        await trio.sleep(1)
        assert await stage.log.claim("t") == 2
        before = len(await stage.log.read("t"))
        for turn in ("t", "u"):
            await stage.publish(turn, delta("m", "x" * 100), said("m", "all"), finished())
        await trio.sleep(1)
        assert len(await stage.log.read("t")) == before
        assert (await stage.told("u"))[-1] == "turn_complete complete"
        assert len(stage.queue.finished) == 1
        assert stage.worker.counts.fenced == 1
        assert stage.worker.live == 0
    assert stage.worker.counts.handed_over == 1


async def test_a_quiet_turn_notices_that_it_is_fenced(autojump_clock: MockClock) -> None:
    """By what it owes, at the item's timeout, with no event coming in."""
    async with open_stage() as stage:
        stage.queue.announce("t")
        await stage.publish("t", started("t", "th"), begin("m"))
        await trio.sleep(1)
        await stage.publish("t", delta("m", "few"))
        await wait_all_tasks_blocked()
        await stage.log.claim("t")
        await trio.sleep(2)
        assert stage.worker.counts.fenced == 1
        assert stage.worker.live == 0


class ShakyLog(MemoryLog):
    """Is away for the first few calls of each kind."""

    def __init__(self, *, failures: int) -> None:
        super().__init__()
        self.left: dict[str, int] = dict.fromkeys(("claim", "read_events", "append", "expire_events"), failures)

    def _shake(self, what: str) -> None:
        if self.left[what]:
            self.left[what] -= 1
            raise LogUnavailableError(f"{what}: away")

    async def claim(self, turn_id: str) -> int:
        self._shake("claim")
        return await super().claim(turn_id)

    async def append(self, message: StreamMessage) -> None:
        self._shake("append")
        await super().append(message)

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        self._shake("read_events")
        return await super().read_events(run_id, after=after, limit=limit)

    async def expire_events(self, run_id: str) -> None:
        self._shake("expire_events")
        await super().expire_events(run_id)


async def test_a_log_that_is_away_is_tried_until_it_is_back(autojump_clock: MockClock) -> None:
    """At every step of a turn."""
    log = ShakyLog(failures=5)
    async with open_stage(log=log) as stage:
        entry = stage.queue.announce("t")
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        await trio.sleep(60)
        assert stage.queue.finished == [entry]
        assert set(log.left.values()) == {0}
        assert (await stage.told("t"))[-1] == "turn_complete complete"


async def test_a_turn_whose_log_refuses_for_too_long_is_let_go_and_taken_up_again(autojump_clock: MockClock) -> None:
    """Past its deadline a turn does not wait for its log; its entry stays, so nothing is lost."""
    log = ShakyLog(failures=0)
    log.left["append"] = 1000
    async with open_stage(log=log, turn={"deadline": 20.0, "retry_attempts": None}) as stage:
        stage.queue.announce("t")
        await stage.publish("t", started("t", "th"))
        await trio.sleep(60)
        assert stage.worker.live == 0
        assert stage.worker.counts.let_go == 1
        assert stage.queue.finished == []
        log.left["append"] = 0
        entry = stage.queue.announce("t", age=60.0, fallen=True)
        await trio.sleep(5)
        assert (await stage.told("t"))[-1].startswith("turn_error TURN_TIMEOUT")
        assert entry in stage.queue.finished


async def test_a_turn_that_crashes_the_rules_ends_with_an_error(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other owner could read it either."""

    def crash(_self: Recovery, _event: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Recovery, "push", crash)
    async with open_stage() as stage:
        await stage.publish("t", started("t", "th"))
        entry = stage.queue.announce("t")
        await trio.sleep(1)
        assert (await stage.told("t"))[-1].startswith("turn_error INTERNAL_ERROR")
        assert stage.queue.finished == [entry]


async def test_an_engine_publishes_to_log_a_and_its_turn_is_told(autojump_clock: MockClock) -> None:
    """It is a producer that the worker runs; an end that it leaves out is made."""

    async def engine(turn: Announcement, publish: Publish) -> None:
        await publish([started(turn.turn_id, turn.thread_id), begin("m")])
        await trio.sleep(1)
        await publish([said("m", "all"), *([finished()] if turn.turn_id == "t" else [])])

    async with open_stage(engine=engine) as stage:
        stage.queue.announce("t", kind="engine")
        stage.queue.announce("half", kind="engine")
        await trio.sleep(3)
        assert await stage.told("t") == ["turn_started", "message complete 'all'", "turn_complete complete"]
        assert (await stage.told("half"))[-1].startswith("turn_error TURN_CLOSED")
        assert len(stage.queue.finished) == 2


async def test_a_stop_cancels_the_engine(autojump_clock: MockClock) -> None:
    """It follows log A like everybody else."""
    ended: list[float] = []

    async def engine(_turn: Announcement, _publish: Publish) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())

    async with open_stage(engine=engine) as stage:
        stage.queue.announce("t", kind="engine")
        await trio.sleep(5)
        await stage.publish("t", aborted())
        await trio.sleep(1)
        assert ended == [5]
        assert await stage.told("t") == ["turn_complete aborted"]


async def test_an_engine_that_fails_ends_its_turn(autojump_clock: MockClock) -> None:
    """With nothing of its insides."""

    async def engine(_turn: Announcement, _publish: Publish) -> None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("secret")

    async with open_stage(engine=engine) as stage:
        stage.queue.announce("t", kind="engine")
        await trio.sleep(1)
        (last,) = await stage.told("t")
        assert last.startswith("turn_error INTERNAL_ERROR")
        assert "secret" not in str((await stage.log.read("t"))[-1])


@pytest.mark.parametrize(("epochs", "code"), [(0, "NO_ENGINE"), (1, "ENGINE_LOST")])
async def test_a_turn_that_no_engine_can_run_ends_at_once(autojump_clock: MockClock, epochs: int, code: str) -> None:
    """Because there is none here, or because the one that ran it is gone; what there is, is told first."""
    log = MemoryLog()
    for _ in range(epochs):
        await log.claim("t")

    async def engine(_turn: Announcement, _publish: Sequence[StreamEvent] | Publish) -> None:
        raise AssertionError("it is not to be run")

    async with open_stage(log=log, engine=engine if epochs else None) as stage:
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "half"))
        stage.queue.announce("t", kind="engine")
        await trio.sleep(1)
        told = await stage.told("t")
        assert told[:2] == ["turn_started", "message complete 'half'"]
        assert told[-1].startswith(f"turn_error {code}")
