"""An engine inside a program: its runs are turns of a runtime, and what becomes of one becomes of the other."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import RecordingSink
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_options import EngineOptions
from turnwire.messages.agui.events import RunFinished, RunStarted
from turnwire.messages.dialects.outputs_to_agui import OutputsToAgui
from turnwire.messages.errors import ApprovalAnsweredError, ClosedError, RetryExhaustedError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import Usage
from turnwire.messages.outputs import TurnComplete
from turnwire.messages.runs import ApprovalAnswer, RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.runtime import MemoryLog, open_runtime
from turnwire.runtime.engines import open_engine
from turnwire.runtime.models import Call, Hang, Pause, Reply, Say, ScriptedModel


@tool(needs_approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


async def double(n: int) -> int:
    """Double a number."""
    await trio.sleep(1)
    return 2 * n


async def test_a_run_is_a_turn(autojump_clock: MockClock) -> None:
    """Readers see one turn, whatever the number of replies."""
    sink = RecordingSink()
    model = ScriptedModel([[Say("Let me see. "), Call("double", {"n": 4})], "It is 8."])
    async with open_runtime(sink=sink) as runtime, open_engine(runtime, model=model, tools=[double]) as engine:
        outcome = await engine.run_turn("Twice 4?", thread_id="th")
    assert outcome == RunOutcome(status="complete", iterations=2)
    assert sink.kinds == [
        "turn_started",
        "message complete",
        "message complete",
        "tool_call create",
        "tool_call complete",
        "message complete",
        "turn_complete complete",
    ]


async def test_an_ag_ui_client_sees_one_run_whatever_the_number_of_replies(autojump_clock: MockClock) -> None:
    """RUN_STARTED and RUN_FINISHED of the replies in between are for the conversation alone; usage is summed."""
    log = MemoryLog()
    replies: list[Reply] = [
        [Call("double", {"n": 4}), Usage(prompt_tokens=5, completion_tokens=1, total_tokens=6)],
        ["It is 8.", Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11)],
    ]
    async with (
        open_runtime(sink=log) as runtime,
        open_engine(runtime, model=ScriptedModel(replies), tools=[double]) as engine,
    ):
        await engine.run_turn("Twice 4?", thread_id="th", turn_id="t1")
        outputs, converter = await log.outputs("t1"), OutputsToAgui()
    told = [type(event) for output in outputs for event in converter.push(output)]
    assert (told[0], told[-1]) == (RunStarted, RunFinished)
    assert (told.count(RunStarted), told.count(RunFinished)) == (1, 1)
    done = outputs[-1]
    assert isinstance(done, TurnComplete)
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (14, 3, 17)


async def test_with_a_raw_log_every_event_stands_in_it(autojump_clock: MockClock) -> None:
    """Under the run's id, and as the contract demands."""
    log = MemoryLog()
    model = ScriptedModel([Call("double", {"n": 4}), "It is 8."])
    async with open_runtime(sink=log, raw=log) as runtime, open_engine(runtime, model=model, tools=[double]) as engine:
        await engine.run_turn("Twice 4?", thread_id="th", turn_id="t1", run_id="r1")
        events = [decode_event(entry.event) for entry in await log.read_events("r1")]
    check_contract(events)
    assert len(events) > 10


async def test_an_approval_is_asked_for_answered_and_applied(autojump_clock: MockClock) -> None:
    """Over two turns of one thread."""
    sink = RecordingSink()
    model = ScriptedModel([Call("delete", {"path": "a"}), "It is gone."])
    async with open_runtime(sink=sink) as runtime, open_engine(runtime, model=model, tools=[delete]) as engine:
        assert (await engine.run_turn("Delete a", thread_id="th")).status == "paused"
        (asked,) = await engine.pending()
        answer = ApprovalAnswer(approval_id=str(asked.approval_id), approved=True)
        await engine.answer("th", answer)
        with pytest.raises(ApprovalAnsweredError):
            await engine.answer("th", answer)
        assert (await engine.run_turn(thread_id="th")).status == "complete"
    assert sink.kinds[-5:] == [
        "turn_started",
        "tool_call create",
        "tool_call complete",
        "message complete",
        "turn_complete complete",
    ]


async def test_a_stop_ends_run_and_turn(autojump_clock: MockClock) -> None:
    """As aborted; what was said stays."""
    sink = RecordingSink()
    outcomes: list[RunOutcome] = []
    async with open_runtime(sink=sink) as runtime:
        async with open_engine(runtime, model=ScriptedModel([[Say("Once upon"), Hang()]])) as engine:

            async def act() -> None:
                outcomes.append(await engine.run_turn("Hi", thread_id="th", run_id="r1"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(act)
                await trio.sleep(5)
                conversation = engine.conversation("r1")
                assert conversation is not None
                assert [message.role for message in conversation.messages] == ["user", "assistant"]
                assert engine.stop("r1")
    assert outcomes == [RunOutcome(status="aborted", iterations=1)]
    assert sink.told[-2:] == ["message complete 'Once upon'", "turn_complete aborted"]


async def test_a_turn_past_its_deadline_ends_its_run(autojump_clock: MockClock) -> None:
    """There is nobody left to tell."""
    sink = RecordingSink()
    model = ScriptedModel([[Say("Hm"), Hang()]])
    options = TurnOptions(deadline=60)
    async with open_runtime(sink=sink, options=options) as runtime, open_engine(runtime, model=model) as engine:
        outcome = await engine.run_turn("Hi", thread_id="th")
    assert outcome.status == "aborted"
    assert sink.told[-1] == "turn_error TURN_TIMEOUT"
    assert trio.current_time() == 60.0


async def test_a_cancelled_run_ends_its_turn_and_keeps_its_thread(autojump_clock: MockClock) -> None:
    """Readers are told that it was closed."""
    sink = RecordingSink()
    model = ScriptedModel([[Say("Hm"), Hang()]])
    async with open_runtime(sink=sink) as runtime, open_engine(runtime, model=model) as engine:
        with trio.move_on_after(5) as scope:
            await engine.run_turn("Hi", thread_id="th")
        assert scope.cancelled_caught
        saved = await engine.engine.store.load("th")
        assert saved is not None
        assert len(saved.messages) == 2
    assert sink.told[-1] == "turn_error TURN_CLOSED"


async def test_leaving_the_block_stops_what_runs(autojump_clock: MockClock) -> None:
    """Also where the run's own task outlives it; and nothing begins any more."""
    sink = RecordingSink()
    outcomes: list[RunOutcome] = []
    async with open_runtime(sink=sink) as runtime, trio.open_nursery() as nursery:
        async with open_engine(runtime, model=ScriptedModel([[Say("Hm"), Hang()]])) as engine:

            async def act() -> None:
                outcomes.append(await engine.run_turn("Hi", thread_id="th"))

            nursery.start_soon(act)
            await trio.sleep(5)
        assert engine.engine.running == ()
        with pytest.raises(ClosedError):
            await engine.run_turn("Hi", thread_id="th")
    assert outcomes == [RunOutcome(status="aborted", iterations=1)]
    assert trio.current_time() == 5.0


async def test_a_sink_that_keeps_refusing_comes_out(autojump_clock: MockClock) -> None:
    """As the turn's failure, not in a group; the thread is kept."""
    sink = RecordingSink(failures=100)
    model = ScriptedModel([[Say("Hm"), Pause(20), Say("more"), Pause(20), Say("and more")]])
    options = TurnOptions(retry_attempts=2)
    async with open_runtime(sink=sink, options=options) as runtime:
        async with open_engine(runtime, model=model, options=EngineOptions()) as engine:
            with pytest.raises(RetryExhaustedError):
                await engine.run_turn("Hi", thread_id="th")
            assert await engine.engine.store.load("th") is not None


async def test_callbacks_and_changes_show_a_run_as_it_goes(autojump_clock: MockClock) -> None:
    """A view follows the conversation while the run adds to it, and is let go at its end."""
    seen: list[Any] = []
    model = ScriptedModel([[Say("One "), Pause(5), Say("two")]])
    async with open_runtime(sink=RecordingSink()) as runtime, open_engine(runtime, model=model) as engine:

        async def follow() -> None:
            await trio.sleep(1)
            conversation = engine.conversation("r1")
            assert conversation is not None
            seen.extend([change async for change in conversation.changes()])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            await engine.run_turn("Hi", thread_id="th", run_id="r1")
    assert len(seen) > 1
    assert "two" in repr(seen[-1])
