"""The queue in memory under a real worker: the service that needs nothing but its own process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.turns import begin, brief, delta, finished, said, started, tokens
from turnwire.messages.errors import LogUnavailableError, TooManyTurnsError
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.queue import Announcement, MemoryQueue
from turnwire.runtime.settings import LimitSettings, Settings, TurnSettings, WorkerSettings
from turnwire.runtime.worker import Worker


def a_turn(turn_id: str) -> Announcement:
    return Announcement(run_id=f"r{turn_id}", turn_id=turn_id, thread_id="th")


@asynccontextmanager
async def at_work(
    queue: MemoryQueue, log: MemoryLog, *, turns: int = 100, deadline: float = 3600.0, grace: float = 1.0, **more: Any
) -> AsyncGenerator[Worker, None]:
    """Have a worker at this queue for the length of a block; it is told to stop at its end."""
    settings = Settings(
        worker=WorkerSettings(grace=grace, **more),
        turn=TurnSettings(batch_gradient=(10,), deadline=deadline),
        limits=LimitSettings(turns=turns),
    )
    async with open_runtime(sink=log, options=settings.turn_options) as runtime, trio.open_nursery() as nursery:
        worker = Worker(log, runtime, queue, settings)
        nursery.start_soon(worker.run)
        yield worker
        worker.stop()


async def told(log: MemoryLog, turn_id: str) -> list[str]:
    return [brief(output) for output in await log.outputs(turn_id)]


async def test_a_turn_goes_from_its_announcement_to_its_end_in_one_process(autojump_clock: MockClock) -> None:
    """Announce, append, read: nothing else is needed, and nothing of the turn is left in the queue."""
    queue, log = MemoryQueue(), MemoryLog()
    async with at_work(queue, log) as worker:
        queue.announce(a_turn("t"))
        assert len(queue) == 1
        await log.append_events("rt", [started("t", "th"), begin("m"), delta("m", tokens(11))])
        await trio.sleep(0.5)
        assert await told(log, "t") == ["turn_started", f"message create {tokens(11)!r}"]
        await log.append_events("rt", [said("m", "all"), finished()])
        await trio.sleep(0.5)
        assert (await told(log, "t"))[2:] == ["message complete 'all'", "turn_complete complete"]
        assert len(queue) == 0
    assert (worker.counts.finished, worker.counts.handed_over) == (1, 0)
    assert trio.current_time() == 1


async def test_announced_twice_it_is_worked_on_once(autojump_clock: MockClock) -> None:
    """While it waits, while it is worked on, and after its end: then it is found ended, and told nothing more."""
    queue, log = MemoryQueue(), MemoryLog()
    queue.announce(a_turn("t"))
    queue.announce(a_turn("t"))
    assert len(queue) == 1
    async with at_work(queue, log) as worker:
        await trio.sleep(1)
        queue.announce(a_turn("t"))
        assert len(queue) == 1
        await log.append_events("rt", [started("t", "th"), finished()])
        await trio.sleep(1)
        before = await told(log, "t")
        queue.announce(a_turn("t"))
        await trio.sleep(1)
        assert await told(log, "t") == before == ["turn_started", "turn_complete complete"]
        assert len(queue) == 0
        assert worker.counts.repeated == 0


async def test_a_worker_without_room_leaves_turns_waiting_in_their_order(autojump_clock: MockClock) -> None:
    """They are taken as others end, the oldest first."""
    queue, log = MemoryQueue(), MemoryLog()
    async with at_work(queue, log, turns=1) as worker:
        for turn_id in "abc":
            queue.announce(a_turn(turn_id))
        for turn_id in "abc":
            await trio.sleep(100)  # far past the idle time: a claim that is kept alive is not given out again
            assert worker.live == 1
            await log.append_events(f"r{turn_id}", [started(turn_id, "th"), finished()])
            await wait_all_tasks_blocked()
            assert (await told(log, turn_id))[-1] == "turn_complete complete"
        assert worker.counts.claimed == worker.counts.finished == 3


async def test_what_a_worker_leaves_the_next_one_takes_at_once(autojump_clock: MockClock) -> None:
    """It goes on where the other stopped: nothing twice, nothing left out."""
    queue, log = MemoryQueue(), MemoryLog()
    async with at_work(queue, log, grace=2.0) as first:
        for turn_id in "ab":
            queue.announce(a_turn(turn_id))
            await log.append_events(f"r{turn_id}", [started(turn_id, "th"), begin("m"), delta("m", tokens(11))])
        await trio.sleep(0.5)
    assert first.counts.handed_over == 2
    queue.announce(a_turn("new"))
    async with at_work(queue, log, turns=2) as second:
        await wait_all_tasks_blocked()
        assert second.live == second.counts.recovered == 2  # what was handed over comes before what is new
        for turn_id in "ab":
            await log.append_events(f"r{turn_id}", [said("m", "all"), finished()])
        await log.append_events("rnew", [started("new", "th"), finished()])
        await trio.sleep(0.5)
        assert second.counts.finished == 3
    for turn_id in "ab":
        assert await told(log, turn_id) == [
            "turn_started",
            f"message create {tokens(11)!r}",
            "message complete 'all'",
            "turn_complete complete",
        ]


class RefusingLog(MemoryLog):
    """Takes no output while it refuses."""

    refuses = True

    async def append(self, message: StreamMessage) -> None:
        if self.refuses:
            raise LogUnavailableError("away")
        await super().append(message)


async def test_a_turn_that_was_let_go_is_tried_again_after_the_idle_time(autojump_clock: MockClock) -> None:
    """Nobody keeps it alive, so it is given out once more."""
    queue, log = MemoryQueue(claim_idle=100.0), RefusingLog()
    async with at_work(queue, log, deadline=20.0) as worker:
        queue.announce(a_turn("t"))
        await log.append_events("rt", [started("t", "th")])
        await trio.sleep(60)
        assert (worker.live, worker.counts.let_go, len(queue)) == (0, 1, 1)
        log.refuses = False
        await trio.sleep(39)  # it was kept alive for a while
        assert await told(log, "t") == []
        await trio.sleep(60)
        assert [words.split(":")[0] for words in await told(log, "t")] == ["turn_started", "turn_error TURN_TIMEOUT"]
        assert len(queue) == 0


async def test_past_its_limit_it_refuses_announcements(autojump_clock: MockClock) -> None:
    """It is the producer who must wait, and is told so; a turn that is there already is not one more."""
    queue = MemoryQueue(max_turns=2)
    for turn_id in "ab":
        queue.announce(a_turn(turn_id))
    with pytest.raises(TooManyTurnsError, match=r"turn c: 2 turns"):
        queue.announce(a_turn("c"))
    queue.announce(a_turn("a"))
    (first, _) = await queue.take(5)
    await queue.finish(first.announcement, [first.id])
    await queue.finish(first.announcement, [first.id])
    queue.announce(a_turn("c"))
    assert len(queue) == 2


async def test_a_turn_announced_in_the_moment_of_a_stop_is_not_lost(autojump_clock: MockClock) -> None:
    """Whoever waited for it has it, and hands it over; or it still waits for the next worker."""
    queue, log = MemoryQueue(), MemoryLog()
    async with at_work(queue, log) as first:
        await wait_all_tasks_blocked()
        queue.announce(a_turn("t"))
        first.stop_at_once()
    assert first.live == 0
    assert len(queue) == 1
    async with at_work(queue, log) as second:
        await log.append_events("rt", [started("t", "th"), finished()])
        await trio.sleep(0.5)
    assert await told(log, "t") == ["turn_started", "turn_complete complete"]
    assert second.counts.finished == 1


@pytest.mark.parametrize("wrong", [{"claim_idle": 0.0}, {"max_turns": 0}])
def test_a_queue_that_could_hold_nothing_is_refused(wrong: dict[str, Any]) -> None:
    """With what came and what may be."""
    with pytest.raises(ValueError, match="claim_idle must be above 0 and max_turns at least 1"):
        MemoryQueue(**wrong)
