"""What comes at the wrong moment: between two steps of a worker, before it or after it."""

from functools import partial

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.queues import open_stage
from tests.kit.turns import aborted, begin, broken, delta, finished, said, started, tokens
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages.entries import START, EntryId, RawEntry
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.events import Payload, StreamEvent
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.logs.paging import PAGE

ENDED = ["turn_started", "message complete 'all'", "turn_complete complete"]


class InterruptedLog(MemoryLog):
    """Has something happen to log A just after its last page was read."""

    def __init__(self, *events: StreamEvent) -> None:
        super().__init__()
        self._events = events

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        page = await super().read_events(run_id, after=after, limit=limit)
        if limit == PAGE and len(page) < PAGE:
            events, self._events = self._events, ()
            await self.append_events(run_id, events)
        return page


@pytest.mark.parametrize(
    ("event", "end"), [(aborted(), "turn_complete aborted"), (finished(), "turn_complete complete")]
)
async def test_an_end_between_the_replay_and_the_first_live_event_is_seen(
    autojump_clock: MockClock, event: StreamEvent, end: str
) -> None:
    """A stop too: nothing falls between what was read and what is followed."""
    log = InterruptedLog(event)
    async with open_stage(log=log) as stage:
        await stage.publish("t", started("t", "th"), begin("m"), delta("m", "few"))
        stage.queue.announce("t")
        await trio.sleep(1)
        assert await stage.told("t") == ["turn_started", "message create 'few'", end]
        assert len(stage.queue.finished) == 1


async def test_a_stop_before_a_worker_comes_is_obeyed(autojump_clock: MockClock) -> None:
    """It waits in log A; an engine is not even started then."""
    async with open_stage() as stage:
        await stage.publish("t", started("t", "th"), aborted())
        stage.queue.announce("t", kind="engine")
        await trio.sleep(1)
        assert await stage.told("t") == ["turn_started", "turn_complete aborted"]


@pytest.mark.parametrize("late", [finished("error"), broken(), aborted(), said("m", "other"), begin("n")])
async def test_what_a_producer_publishes_behind_the_end_changes_nothing(
    autojump_clock: MockClock, late: StreamEvent
) -> None:
    """Live, in the page that is replayed, and for an owner who comes after the end."""
    async with open_stage() as stage:
        whole = [started("t", "th"), begin("m"), said("m", "all"), finished()]
        stage.queue.announce("live")
        await trio.sleep(1)
        await stage.publish("live", *whole, late)
        await stage.publish("replayed", *whole, late)
        stage.queue.announce("replayed")
        await trio.sleep(1)
        assert await stage.told("live") == await stage.told("replayed") == ENDED
        await stage.publish("live", late)
        stage.queue.announce("live")
        await trio.sleep(1)
        assert await stage.told("live") == ENDED
        assert len(stage.queue.finished) == 3
        assert stage.worker.counts.let_go == 0


async def test_a_turn_whose_events_are_gone_ends_and_says_so(autojump_clock: MockClock) -> None:
    """Log A expired before any worker came: past its deadline the turn ends at once, with what readers had."""
    log = MemoryLog(expire_after=50)
    await log.append_events("rt", [started("t", "th"), begin("m"), said("m", "all"), finished()])
    await trio.sleep(60)
    async with open_stage(log=log, turn={"deadline": 40.0}) as stage:
        entry = stage.queue.announce("t", age=60.0)
        await trio.sleep(1)
        assert [words.split(":")[0] for words in await stage.told("t")] == ["turn_error TURN_TIMEOUT"]
        assert stage.queue.finished == [entry]


async def test_redis_away_between_the_terminal_and_the_acknowledgement_repeats_nothing(
    autojump_clock: MockClock,
) -> None:
    """The worker tries until it is back; the terminal is not written again."""
    async with open_stage() as stage:
        entry = stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_away = True
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        await trio.sleep(30)
        assert await stage.told("t") == ENDED
        assert (stage.queue.finished, stage.worker.live) == ([], 1)
        stage.queue.is_away = False
        await trio.sleep(2)
        assert stage.queue.finished == [entry]
        assert await stage.told("t") == ENDED


async def test_told_to_stop_before_it_could_acknowledge_it_leaves_that_to_the_next(autojump_clock: MockClock) -> None:
    """Who finds the terminal, and tells nothing."""
    log = MemoryLog()
    async with open_stage(log=log, grace=5.0) as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_away = True
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        await trio.sleep(1)
    assert trio.current_time() == 6  # a fifth of the grace time was left for handing over, which failed at once
    async with open_stage(log=log) as other:
        entry = other.queue.announce("t", fallen=True)
        await trio.sleep(3)
        assert other.queue.finished == [entry]
        assert await other.told("t") == ENDED


async def test_a_turn_announced_again_while_it_is_acknowledged_is_found_ended(autojump_clock: MockClock) -> None:
    """Its second entry may come too late to go with the first: it is taken up again, and goes."""
    async with open_stage() as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_away = True
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        await trio.sleep(1)
        again = stage.queue.announce("t")
        stage.queue.is_away = False
        await trio.sleep(5)
        assert again in stage.queue.finished
        assert len(stage.queue.finished) == 2
        assert await stage.told("t") == ENDED


def poison(monkeypatch: pytest.MonkeyPatch, event: StreamEvent) -> None:
    """Have the rules crash at one event, as a bug in them would."""
    push = TurnMachine.push

    def push_or_crash(machine: TurnMachine, event_id: str, payload: Payload, *, now: float) -> None:
        if event_id == event.event_id:
            raise RuntimeError("a bug")
        push(machine, event_id, payload, now=now)

    monkeypatch.setattr(TurnMachine, "push", push_or_crash)


class DeafLog(MemoryLog):
    """Takes nothing of one turn while it is deaf."""

    deaf_to = ""

    async def append(self, message: StreamMessage) -> None:
        if message.turn_id == self.deaf_to:
            raise LogUnavailableError("away")
        await super().append(message)


@pytest.mark.parametrize("is_live", [True, False])
async def test_an_event_that_crashes_the_rules_ends_its_turn_and_no_other(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, is_live: bool
) -> None:
    """Once and for all: no owner after owner dies of it."""
    bad = begin("bad")
    poison(monkeypatch, bad)
    async with open_stage() as stage:
        for turn in ("t", "u"):
            await stage.publish(turn, started(turn, "th"))
            if is_live:
                stage.queue.announce(turn)
                await trio.sleep(1)
        await stage.publish("t", begin("m"), delta("m", tokens(20)), bad)
        await stage.publish("u", begin("m"), said("m", "all"), finished())
        if not is_live:
            stage.queue.announce("t")
            stage.queue.announce("u")
        await trio.sleep(1)
        assert (await stage.told("t"))[-1].startswith("turn_error INTERNAL_ERROR")
        assert await stage.told("u") == ENDED
        assert len(stage.queue.finished) == 2


async def test_a_crash_that_could_not_be_told_is_told_by_the_next_owner(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log was away just then: the turn is let go, taken up again, and ends."""
    bad, log = begin("bad"), DeafLog()
    poison(monkeypatch, bad)
    async with open_stage(log=log, turn={"retry_attempts": 1}) as stage:
        stage.queue.announce("t")
        await stage.publish("t", started("t", "th"))
        await trio.sleep(1)
        log.deaf_to = "t"
        await stage.publish("t", bad)
        await trio.sleep(30)
        assert (stage.worker.counts.let_go, stage.worker.live) == (1, 0)
        log.deaf_to = ""
        again = stage.queue.announce("t", fallen=True)
        await trio.sleep(5)
        assert [words.split(":")[0] for words in await stage.told("t")] == ["turn_started", "turn_error INTERNAL_ERROR"]
        assert again in stage.queue.finished


async def test_two_workers_with_one_entry_each_write_one_turn(autojump_clock: MockClock) -> None:
    """Announced twice, on two machines: the later claim has it, the earlier one drops it, and nothing is told twice."""
    log = MemoryLog()
    async with open_stage(log=log) as one, open_stage(log=log) as two:
        one.queue.announce("t")
        await one.publish("t", started("t", "th"), begin("m"), delta("m", tokens(11)))
        await trio.sleep(0.5)
        two.queue.announce("t")
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:  # both read on, and both would like to tell
            nursery.start_soon(partial(one.publish, "t", delta("m", tokens(11))))
            nursery.start_soon(partial(one.publish, "t", said("m", "all"), finished()))
        await trio.sleep(1)
        told = await one.told("t")
        assert told[0] == "turn_started"
        assert told[-2:] == ENDED[1:]
        assert len(told) == len(set(told))
        assert (one.worker.counts.fenced, two.worker.counts.fenced) == (1, 0)
        assert (len(one.queue.finished), len(two.queue.finished)) == (0, 1)
