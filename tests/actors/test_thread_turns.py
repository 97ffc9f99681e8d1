"""Whose turn it is in a thread: runs of several engines, processes that die or sleep, and what is told meanwhile."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.kit.agents import ScriptModel, Stage, call, end, say
from turnwire.actors.thread_turns import CLAIM_SECONDS, LOOK_SECONDS
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.events import Heartbeat
from turnwire.messages.runs import RunOutcome
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import MemoryThreads

COMPLETE = RunOutcome(status="complete", iterations=1)


async def test_a_run_that_waits_says_so_and_is_told_from_the_start(autojump_clock: MockClock) -> None:
    """Its turn shows the prompt at once, and signs of life, so that no worker takes it for stalled."""
    stage = Stage(ScriptModel([[say("First"), 150.0, end()], [say("Second"), end()]]))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.engine.run, stage.make_input("One"), stage.publish)
        await trio.sleep(1)
        second = Stage(stage.model, store=stage.store)
        second.engine = stage.engine
        nursery.start_soon(second.run, "Two")
        await wait_all_tasks_blocked()
        assert second.told == ["start", "user: Two"]
    beats = [at for at, event in zip(second.times, second.events, strict=True) if isinstance(event.payload, Heartbeat)]
    assert beats == [61.0, 121.0]
    assert second.told[-2:] == ["agent: Second", "done complete stop"]
    assert second.times[-1] == 150.0


async def test_a_run_keeps_its_thread_as_long_as_it_runs(autojump_clock: MockClock) -> None:
    """Another engine's run waits for it, however long it takes."""
    store = MemoryThreads()
    long = Stage(ScriptModel([[say("First"), 300.0, end()]]), store=store)
    other = Stage(ScriptModel([[say("Second"), end()]]), store=store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(long.run, "One")
        await trio.sleep(1)
        nursery.start_soon(other.run, "Two")
    assert await long.parts() == ["user: One", "assistant: First", "user: Two", "assistant: Second"]
    assert 300.0 <= other.times[-1] <= 300.0 + LOOK_SECONDS


async def test_a_thread_of_a_process_that_died_is_free_when_its_claim_lapses(autojump_clock: MockClock) -> None:
    """Nobody has let it go."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    assert await stage.store.claim("th", "dead", seconds=CLAIM_SECONDS) == ""
    assert await stage.run() == COMPLETE
    assert trio.current_time() == CLAIM_SECONDS


async def test_a_run_that_waits_for_another_process_can_be_stopped(autojump_clock: MockClock) -> None:
    """At once; and it leaves the other's claim alone."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    assert await stage.store.claim("th", "other", seconds=900) == ""
    run = stage.make_input()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.engine.run, run, stage.publish)
        await trio.sleep(3)
        stage.engine.stop(run.run_id)
    assert trio.current_time() == 3
    assert stage.told == ["start", "user: Hello", "done aborted None"]
    assert await stage.store.claim("th", "third", seconds=1) is None
    assert stage.engine._turns._lines == {}


async def test_a_cancelled_run_lets_its_thread_go(autojump_clock: MockClock) -> None:
    """While it waits, and while it runs; the line goes on behind it."""
    stage = Stage(ScriptModel([[say("Hm"), None], [say("Hm"), end()]]))
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(2):
            nursery.start_soon(stage.engine.run, stage.make_input("Third"), stage.publish)  # in line first, see below
            await wait_all_tasks_blocked()
            await stage.engine.run(stage.make_input("Waits"), stage.publish)
        assert await stage.store.claim("th", "other", seconds=1) is None
        nursery.cancel_scope.cancel()
    assert stage.engine._turns._lines == {}
    assert await stage.store.claim("th", "other", seconds=1) is not None


async def test_a_process_that_overslept_loses_its_run_and_the_thread_is_intact(autojump_clock: MockClock) -> None:
    """Its claim has lapsed, another run has saved: the end says so, and nothing is overwritten."""
    stage = Stage(ScriptModel([[say("Old"), call("look", "c1"), 5.0, end("tool_calls")]]), [look])
    kept = SavedConversation(state="kept")

    async def oversleep() -> None:
        await trio.sleep(1)
        await stage.store.save("th", kept, run_id="other")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(oversleep)
        outcome = await stage.run()
    assert outcome == RunOutcome(status="error", iterations=5, error_code="THREAD_CONFLICT")
    assert stage.told[-1] == "response_error THREAD_CONFLICT"
    assert await stage.store.load("th") == kept
    assert (await stage.run()).status == "complete"


async def look() -> str:
    """Look."""
    return "quiet"


class Forgetful(MemoryThreads):
    """Saves, and then does not say so, once."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = 0

    async def save(self, thread_id: str, conversation: SavedConversation, **more: Any) -> None:
        await super().save(thread_id, conversation, **more)
        self.saves += 1
        if self.saves == 1:
            raise LogUnavailableError("the answer was lost")


async def test_a_save_whose_answer_was_lost_is_no_conflict(autojump_clock: MockClock) -> None:
    """It is repeated, and goes well."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]), store=Forgetful())
    assert await stage.run() == COMPLETE
    assert await stage.parts() == ["user: Hello", "assistant: Hm"]


class Unclaimable(MemoryThreads):
    """Cannot be reached when a thread is claimed again, or let go."""

    claims = 0

    async def claim(self, thread_id: str, run_id: str, *, seconds: float) -> str | None:
        self.claims += 1
        if self.claims > 1:
            raise LogUnavailableError("away")
        return await super().claim(thread_id, run_id, seconds=seconds)

    async def release(self, thread_id: str, run_id: str) -> None:
        raise LogUnavailableError(f"away: {thread_id} stays with {run_id}")


async def test_a_claim_that_cannot_be_renewed_or_let_go_fails_no_run(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It lapses, and saving is checked anyway."""
    stage = Stage(ScriptModel([[say("Hm"), 60.0, end()]]), store=Unclaimable())
    assert await stage.run() == COMPLETE
    assert stage.store.claims > 2  # type: ignore[attr-defined]  # Unclaimable's
    assert "stays" in caplog.text
