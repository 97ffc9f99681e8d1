"""Stopping: a command that ends a run as aborted, with every item closed truthfully and nothing left running."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, Step, call, end, raw_call, say, tasks_left
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_options import EngineOptions
from turnwire.messages.runs import ApprovalAnswer, RunInput, RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import MemoryThreads

ABORTED = RunOutcome(status="aborted", iterations=1)


async def stop_after(stage: Stage, seconds: float, **more: Any) -> RunOutcome:
    """Run a turn, and stop it after so many seconds."""
    run = stage.make_input(**more)
    stage.events.clear()
    outcomes: list[RunOutcome] = []

    async def act() -> None:
        outcomes.append(await stage.engine.run(run, stage.publish))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(act)
        await trio.sleep(seconds)
        assert stage.engine.stop(run.run_id)
        await trio.testing.wait_all_tasks_blocked()
        assert trio.current_time() == seconds  # at once
    check_contract(stage.events)
    assert tasks_left() == []
    assert stage.engine.running == ()
    assert not stage.engine.stop(run.run_id)
    return outcomes[0]


async def test_stopped_in_the_middle_of_text_what_was_said_stays(autojump_clock: MockClock) -> None:
    """The message is done with what there is; the conversation has it, too."""
    stage = Stage(ScriptModel([[say("Once upon"), None]]))
    assert await stop_after(stage, 1) == ABORTED
    assert stage.told == ["start", "user: Hello", "agent: Once upon", "done aborted None"]
    assert await stage.parts() == ["user: Hello", "assistant: Once upon"]
    assert stage.model.streams[0].closed == 1


async def test_stopped_in_the_middle_of_arguments_there_is_no_call(autojump_clock: MockClock) -> None:
    """The half call is an error, the whole one before it is answered as not run; neither tool runs."""
    ran: list[str] = []

    async def act(what: str) -> str:
        """Act."""
        ran.append(what)
        return "done"

    half = raw_call("act", '{"what": "b', "c2", whole=False)
    stage = Stage(ScriptModel([[call("act", "c1", what="a"), half, None]]), [act])
    assert await stop_after(stage, 1) == ABORTED
    assert stage.told[2:] == [
        'call c1: act {"what":"a"}',
        "item_error INCOMPLETE_ARGUMENTS",
        "error c1: The tool was not run: the run was stopped.",
        "done aborted None",
    ]
    assert ran == []
    assert await stage.parts() == [
        "user: Hello",
        "assistant: call c1 act error",
        "assistant: call c2 act error",
        "assistant: error c2: the arguments of this call were cut off",
        "assistant: error c1: The tool was not run: the run was stopped.",
    ]


async def test_stopped_while_tools_run_they_are_cancelled(autojump_clock: MockClock) -> None:
    """A result that has come stands; one that has not says that its tool was stopped; one that waits is not begun."""
    log: list[str] = []

    async def work(name: str, seconds: float) -> str:
        """Work for a while."""
        log.append(f"{name} begins")
        try:
            await trio.sleep(seconds)
        finally:
            log.append(f"{name} is over")
        return name

    calls = [
        call("work", "c1", name="quick", seconds=0.25),
        call("work", "c2", name="slow", seconds=9),
        call("work", "c3", name="long", seconds=9),
        call("work", "c4", name="late", seconds=9),
    ]
    stage = Stage(ScriptModel([[*calls, DONE]]), [work], EngineOptions(parallel_tools=2))
    assert await stop_after(stage, 0.5) == ABORTED
    assert log[2:4] == ["quick is over", "long begins"]
    assert sorted(log[:2]) == ["quick begins", "slow begins"]
    assert sorted(log[4:]) == ["long is over", "slow is over"]
    assert stage.told[-5:] == [
        "result c1: quick",
        "error c2: The tool was stopped before it had a result: the run was stopped.",
        "error c3: The tool was stopped before it had a result: the run was stopped.",
        "error c4: The tool was not run: the run was stopped.",
        "done aborted None",
    ]
    parts = await stage.parts()
    assert "assistant: complete c1: quick" in parts
    assert "assistant: call c2 work error" in parts


async def test_a_tool_that_is_about_to_begin_when_the_stop_comes_does_not(autojump_clock: MockClock) -> None:
    """Its function is not even entered: without a wait in it, it would run to its end."""
    ran: list[int] = []
    stage: Stage

    async def act(n: int) -> str:
        """Stop the run that called this."""
        ran.append(n)
        stage.engine.stop(stage.engine.running[0])
        return "done"

    stage = Stage(ScriptModel([[*(call("act", f"c{n}", n=n) for n in range(5)), DONE]]), [act])
    outcome = await stage.run()
    assert outcome == ABORTED
    assert len(ran) == 1
    assert stage.told.count("done aborted None") == 1


async def test_no_tool_begins_after_a_stop(autojump_clock: MockClock) -> None:
    """Not even when the stop comes in the very moment in which the reply ends."""
    ran: list[str] = []

    async def act() -> str:
        """Act."""
        ran.append("act")
        return "done"

    stage = Stage(ScriptModel([[call("act", "c1"), DONE]]), [act])
    run = stage.make_input()
    told = stage.publish

    async def publish(events: Any) -> None:
        await told(events)
        if any(word.startswith("call") for word in stage.told):
            stage.engine.stop(run.run_id)

    assert await stage.engine.run(run, publish) == ABORTED
    check_contract(stage.events)
    assert ran == []
    assert stage.told[-2:] == ["error c1: The tool was not run: the run was stopped.", "done aborted None"]


async def test_a_run_that_waits_for_its_thread_can_be_stopped(autojump_clock: MockClock) -> None:
    """It ends at once, and asks no model; its thread is left to the run that has it."""
    stage = Stage(ScriptModel([[say("Hm"), 5.0, end()]]))
    first, second = stage.make_input("One"), stage.make_input("Two")
    outcomes: dict[str, RunOutcome] = {}

    async def act(run: RunInput) -> None:
        outcomes[run.run_id] = await stage.engine.run(run, stage.publish)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(act, first)
        await trio.sleep(1)
        nursery.start_soon(act, second)
        await trio.sleep(1)
        stage.engine.stop(second.run_id)
        await trio.testing.wait_all_tasks_blocked()
        assert outcomes == {second.run_id: RunOutcome(status="aborted")}
    assert outcomes[first.run_id].status == "complete"
    assert await stage.parts() == ["user: One", "assistant: Hm"]
    assert len(stage.model.calls) == 1


async def test_stopped_as_it_begins_a_run_keeps_what_the_user_said(autojump_clock: MockClock) -> None:
    """Before the thread is loaded, before it is even claimed; no model is asked."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    run = stage.make_input()
    told = stage.publish

    async def publish(events: Any) -> None:
        stage.engine.stop(run.run_id)
        await told(events)

    assert await stage.engine.run(run, publish) == RunOutcome(status="aborted")
    check_contract(stage.events)
    assert await stage.parts() == ["user: Hello"]
    assert stage.model.calls == []


@tool(needs_approval=True)
async def risky() -> str:
    """Do something risky."""
    await trio.sleep(9)
    return "done"


async def linger() -> str:
    """Take a while."""
    await trio.sleep(9)
    return "done"


async def test_a_stop_leaves_no_question_behind(autojump_clock: MockClock) -> None:
    """A call that would have needed approval is answered as not run, and nothing is pending."""
    stage = Stage(ScriptModel([[call("risky", "c1"), call("linger", "c2"), DONE]]), [risky, linger])
    assert await stop_after(stage, 1) == ABORTED
    assert await stage.store.pending() == ()
    assert "error c1: The tool was not run: the run was stopped." in stage.told


async def test_an_approved_tool_can_be_stopped_and_is_not_run_again(autojump_clock: MockClock) -> None:
    """Its answer is spent: the call has a result now."""
    stage = Stage(ScriptModel([[call("risky", "c1"), DONE], [say("Well"), end()]]), [risky])
    (asked,) = (await stage.run()).pending
    assert asked.approval_id is not None
    answer = ApprovalAnswer(approval_id=asked.approval_id, approved=True)
    run = stage.make_input(None, answer)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.engine.run, run, stage.publish)
        await trio.sleep(1)
        stage.engine.stop(run.run_id)
    assert await stage.store.answers("th") == ()
    assert (await stage.run(None)).status == "complete"


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([say("Once upon"), None], ["assistant: Once upon"]),
        ([raw_call("linger", '{"a', "c1", whole=False), None], ["assistant: call c1 linger error"]),
        ([call("linger", "c1"), DONE], ["assistant: call c1 linger error"]),
    ],
)
async def test_a_cancelled_run_keeps_its_conversation_and_says_no_more(
    autojump_clock: MockClock, steps: list[Step], kept: list[str]
) -> None:
    """Whoever cancels it has ended the turn; the thread is saved as after a stop, and Cancelled goes on."""
    stage = Stage(ScriptModel([steps]), [linger])
    with trio.move_on_after(1) as scope:
        await stage.engine.run(stage.make_input(), stage.publish)
    assert scope.cancelled_caught
    assert not any(word.startswith(("done", "response_error", "error")) for word in stage.told)
    assert (await stage.parts())[: len(kept) + 1] == ["user: Hello", *kept]
    assert tasks_left() == []


class SlowThreads(MemoryThreads):
    """Takes its time to save."""

    def __init__(self, seconds: float, raises: Callable[[], Exception] | None = None) -> None:
        super().__init__()
        self.seconds = seconds
        self.raises = raises

    async def save(self, thread_id: str, conversation: SavedConversation, **more: Any) -> None:
        await trio.sleep(self.seconds)
        if self.raises is not None:
            raise self.raises()
        await super().save(thread_id, conversation, **more)


async def test_saving_a_cancelled_run_is_shielded_and_bounded(autojump_clock: MockClock) -> None:
    """It gets the grace time, and not more."""
    for seconds, is_kept in ((4.0, True), (60.0, False)):
        stage = Stage(ScriptModel([[say("Hm"), None]]), store=SlowThreads(seconds))
        start = trio.current_time()
        with trio.move_on_after(1):
            await stage.engine.run(stage.make_input(), stage.publish)
        assert trio.current_time() == start + 1 + min(seconds, 5.0)
        assert (await stage.store.load("th") is not None) == is_kept
