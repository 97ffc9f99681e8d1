"""What a worker does as a whole: room, heartbeats, takeovers, shutdown, and failures of its own parts."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.queues import Stage, open_stage
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.actors.groups import leaves
from turnwire.messages.errors import QueueError


async def test_a_worker_takes_no_more_turns_than_it_has_room_for(autojump_clock: MockClock) -> None:
    """The next one is taken when one has ended."""
    async with open_stage(turns=2) as stage:
        for turn in ("a", "b", "c"):
            stage.queue.announce(turn)
        stage.queue.announce("d", fallen=True)
        await trio.sleep(5)
        assert stage.worker.live == 2
        assert [ticket.announcement.turn_id for ticket in stage.queue.waiting] == ["c"] or not stage.queue.waiting
        await stage.publish("a", finished())
        await stage.publish("b", finished())
        await stage.publish("c", finished())
        await stage.publish("d", finished())
        await trio.sleep(10)
        assert len(stage.queue.finished) == 4


async def test_claims_are_kept_alive_at_every_heartbeat(autojump_clock: MockClock) -> None:
    """All of them in one go, for as long as they are worked on."""
    async with open_stage(heartbeat=2.0, claim_idle=5.0) as stage:
        entries = [stage.queue.announce(turn) for turn in ("a", "b")]
        await trio.sleep(4.5)
        await stage.publish("a", finished())
        await trio.sleep(2)
        assert stage.queue.kept[1:] == [(2, entries), (4, entries), (6, entries[1:])]
        assert stage.worker.oldest_claim == 6.5


async def test_a_turn_announced_twice_is_worked_on_once(autojump_clock: MockClock) -> None:
    """Both entries are kept alive, and both go."""
    async with open_stage() as stage:
        entries = [stage.queue.announce("t"), stage.queue.announce("t")]
        await trio.sleep(6)
        assert stage.worker.live == 1
        assert sorted(stage.queue.kept[-1][1]) == entries
        await stage.publish("t", finished())
        await trio.sleep(1)
        assert sorted(stage.queue.finished) == entries
        assert stage.worker.counts.claimed == 1
        assert stage.worker.counts.repeated == 1


async def test_after_an_outage_others_get_the_idle_time_to_speak_first(autojump_clock: MockClock) -> None:
    """Nobody was heard of while the server was away; that makes nobody dead."""
    async with open_stage(heartbeat=1.0, claim_idle=10.0) as stage:
        await trio.sleep(3)
        stage.queue.is_away = True
        await trio.sleep(30)
        stage.queue.is_away = False
        stage.queue.announce("t", fallen=True)
        await trio.sleep(9)
        assert stage.worker.live == 0
        await trio.sleep(4)
        assert stage.worker.live == 1


async def test_told_to_stop_it_lets_turns_end_and_takes_no_more(autojump_clock: MockClock) -> None:
    """It is over as soon as the last one is."""
    async with open_stage(grace=10.0) as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.worker.stop()
        await wait_all_tasks_blocked()
        stage.queue.announce("late")
        stage.queue.announce("fallen", fallen=True)
        await trio.sleep(3)
        assert stage.worker.live == 1
        await stage.publish("t", finished())
    assert trio.current_time() == 4
    assert stage.worker.counts.finished == 1
    assert stage.worker.counts.handed_over == 0
    assert len(stage.queue.waiting) == len(stage.queue.fallen) == 1


async def test_at_the_end_of_the_grace_time_turns_are_handed_over(autojump_clock: MockClock) -> None:
    """Nothing is flushed and no terminal is made: the next owner goes on where this one stopped."""
    async with open_stage(grace=2.0) as stage:
        stage.queue.announce("t")
        await stage.publish("t", started("t", "th"), begin("m"))
        await trio.sleep(1)
        stage.worker.stop()
        await trio.sleep(1.5)
        await stage.publish("t", delta("m", "few"))
    assert trio.current_time() == 2.6  # a fifth of the grace time is kept for handing over
    assert stage.worker.counts.handed_over == 1
    assert stage.queue.finished == []
    assert await stage.told("t") == ["turn_started"]


async def test_told_twice_it_hands_over_at_once(autojump_clock: MockClock) -> None:
    """Whatever the grace time."""
    async with open_stage(grace=1000.0) as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.worker.stop()
        await trio.sleep(1)
        stage.worker.stop_at_once()
    assert trio.current_time() == 2
    assert stage.worker.counts.handed_over == 1


@pytest.mark.parametrize(("grace", "took"), [(1.0, 1.0), (100.0, 100.0), (0.0, 0.1)])
async def test_a_queue_that_does_not_answer_holds_up_no_shutdown(
    autojump_clock: MockClock, grace: float, took: float
) -> None:
    """It is over in the grace time all the same; others take the turns after the idle time then."""
    async with open_stage(grace=grace) as stage:
        stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_frozen = True
    assert trio.current_time() == 1 + took
    assert stage.worker.counts.handed_over == 0


async def test_an_unreachable_queue_ends_no_worker(autojump_clock: MockClock) -> None:
    """It waits for as long as it takes, and goes on."""
    async with open_stage() as stage:
        stage.queue.is_away = True
        await trio.sleep(10_000)
        assert not stage.worker.is_connected
        stage.queue.is_away = False
        stage.queue.announce("t")
        await stage.publish("t", started("t", "th"), begin("m"), said("m", "all"), finished())
        await trio.sleep(10)
        assert stage.worker.is_connected
        assert stage.worker.counts.finished == 1


async def test_a_part_that_fails_too_often_ends_the_worker(autojump_clock: MockClock) -> None:
    """Within the budget it is started again; past it the failure goes up, and turns are handed over."""
    stages: list[Stage] = []
    with pytest.raises(ExceptionGroup) as caught:
        async with open_stage(restart_limit=3, restart_window=60.0) as stage:
            stages.append(stage)
            stage.queue.announce("t")
            await trio.sleep(1)
            stage.queue.broken = QueueError("too old")
            await trio.sleep(1000)
    assert {str(leaf) for leaf in leaves(caught.value)} == {"too old"}
    assert trio.current_time() < 10
    assert stages[0].worker.live == 0


async def test_a_part_that_fails_now_and_then_is_started_again(autojump_clock: MockClock) -> None:
    """Two or three times in a minute are within the budget, however long that goes on."""
    async with open_stage(restart_limit=3, restart_window=60.0) as stage:
        stage.queue.announce("t")
        stage.queue.is_broken_once = True
        for _ in range(9):
            await trio.sleep(29)
            stage.queue.broken = QueueError("hiccup")
            await trio.sleep(3)
            assert stage.queue.broken is None
        await stage.publish("t", finished())
        await trio.sleep(1)
        assert stage.worker.counts.finished == 1


@pytest.mark.parametrize("has_turn", [True, False])
async def test_only_a_worker_that_has_turns_says_that_it_could_not_hand_them_over(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, has_turn: bool
) -> None:
    """An idle one leaves nothing behind that others would have to wait for."""
    async with open_stage() as stage:
        if has_turn:
            stage.queue.announce("t")
        await trio.sleep(1)
        stage.queue.is_away = True
    assert ("turns could not be handed over" in caplog.text) == has_turn
