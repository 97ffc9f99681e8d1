"""The loop of an engine: replies, tools, iterations, and what is told of them."""

import trio
import trio.testing
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, call, end, raw_call, say, tasks_left, think, used
from turnwire.actors.core.loop import LoopState, all_of, max_iterations, until_finish_reason
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine_options import EngineOptions
from turnwire.messages.events import FinalFunctionCall, ItemDone, ResponseDone, Usage, UsageUpdate
from turnwire.messages.runs import RunOutcome, ToolSpec
from turnwire.messages.ui import ToolCallPart


async def double(n: int) -> int:
    """Double a number."""
    await trio.sleep(1)
    return 2 * n


async def test_a_reply_without_calls_is_one_iteration(autojump_clock: MockClock) -> None:
    """What the model says is told with one start and one end, and stands in the conversation."""
    stage = Stage(ScriptModel([[say("Hel"), 0.5, say("lo"), end()]]))
    assert await stage.run("Hi") == RunOutcome(status="complete", iterations=1)
    assert stage.told == ["start", "user: Hi", "agent: Hello", "done complete stop"]
    assert await stage.parts() == ["user: Hi", "assistant: Hello"]
    assert stage.times[0] == 0.0
    assert stage.times[-1] == 0.5


async def test_tools_run_and_the_model_is_told_their_results(autojump_clock: MockClock) -> None:
    """Two iterations are one response; the second request has the call and its result."""
    model = ScriptModel([[say("Let me see"), call("double", "c1", n=4), DONE], [say("It is 8"), end()]])
    stage = Stage(model, [double])
    assert await stage.run("Twice 4?") == RunOutcome(status="complete", iterations=2)
    assert stage.told == [
        "start",
        "user: Twice 4?",
        "agent: Let me see",
        'call c1: double {"n":4}',
        "result c1: 8",
        "agent: It is 8",
        "done complete stop",
    ]
    assert await stage.parts() == [
        "user: Twice 4?",
        "assistant: Let me see",
        "assistant: call c1 double complete",
        "assistant: complete c1: 8",
        "assistant: It is 8",
    ]
    assert [len(request.messages) for request in model.calls] == [1, 2]
    assert [spec.name for spec in model.calls[0].tools] == ["double"]
    assert [stream.closed for stream in model.streams] == [1, 1]


@tool(timeout=2.0)
async def slow() -> str:
    """Take for ever."""
    await trio.sleep_forever()
    return ""


@tool(timeout=5.0)
async def broken() -> str:
    """Raise after a second."""
    await trio.sleep(1)
    raise RuntimeError("no luck")


async def test_of_parallel_tools_one_times_out_and_one_raises(autojump_clock: MockClock) -> None:
    """Each has its result when it comes, tied by its id; the turn goes on, and the model is told of both failures."""
    model = ScriptModel(
        [[call("slow", "c1"), call("broken", "c2"), call("double", "c3", n=1), DONE], [say("Well"), end()]]
    )
    stage = Stage(model, [slow, broken, double])
    assert await stage.run() == RunOutcome(status="complete", iterations=2)
    told = ((stage.word(event), at) for event, at in zip(stage.events, stage.times, strict=True))
    results = [(word, at) for word, at in told if word.startswith(("result", "error"))]
    assert sorted(results[:2]) == [  # both at the same moment, in whatever order
        ("error c2: broken failed: RuntimeError: no luck", 1.0),
        ("result c3: 2", 1.0),
    ]
    assert results[2:] == [("error c1: slow did not end within 2 seconds", 2.0)]
    assert stage.told[-2:] == ["agent: Well", "done complete stop"]
    parts = await stage.parts()
    assert "assistant: call c1 slow error" in parts
    assert "assistant: error c2: broken failed: RuntimeError: no luck" in parts
    assert "assistant: call c3 double complete" in parts


async def test_wrong_arguments_are_an_error_result_that_says_what_was_expected(autojump_clock: MockClock) -> None:
    """The tool does not run; the model is told, and may try again."""
    ran: list[int] = []

    async def note(n: int) -> str:
        """Note a number."""
        ran.append(n)
        return "noted"

    wrong = [call("note", "c1", n="four"), raw_call("note", "[1]", "c2"), DONE]
    stage = Stage(ScriptModel([wrong, [call("note", "c3", n=4), DONE], [say("Done"), end()]]), [note])
    assert await stage.run() == RunOutcome(status="complete", iterations=3)
    assert ran == [4]
    assert sorted(word for word in stage.told if word.startswith(("error", "result"))) == [
        'error c1: the arguments of note do not fit: $.n: expected an integer, got a string ("four")',
        "error c2: the arguments of note do not fit: $: expected an object, got an array of 1",
        "result c3: noted",
    ]


async def test_an_unknown_tool_is_answered_with_the_names_of_the_known_ones(autojump_clock: MockClock) -> None:
    """The model can mend its mistake."""
    stage = Stage(ScriptModel([[call("dubble", "c1", n=1), DONE], [say("Sorry"), end()]]), [double, slow])
    assert await stage.run() == RunOutcome(status="complete", iterations=2)
    assert "error c1: there is no tool named 'dubble'; the tools are: double, slow" in stage.told


async def test_the_same_tool_for_ever_ends_at_max_iterations(autojump_clock: MockClock) -> None:
    """The calls of the last reply are run: the conversation has no call without a result, and the end says why."""
    stage = Stage(ScriptModel([[call("double", "c1", n=1), DONE]]), [double])
    assert await stage.run() == RunOutcome(status="complete", iterations=5)
    assert stage.told.count("result c1: 2") == 1
    assert len([word for word in stage.told if word.startswith("result")]) == 5
    assert stage.told[-1] == "done complete tool_calls"
    assert stage.times[-1] == 5.0


async def test_a_strategy_may_be_any_function(autojump_clock: MockClock) -> None:
    """It is asked after each reply that leaves something to do, and told how the run stands."""
    states: list[LoopState] = []

    def twice(state: LoopState) -> bool:
        states.append(state)
        return state.iterations < 2

    stage = Stage(ScriptModel([[used(5, 1), call("double", "c1", n=1), DONE]]), [double], EngineOptions(strategy=twice))
    assert await stage.run() == RunOutcome(status="complete", iterations=2)
    assert [(state.iterations, state.finish_reason, state.calls[0].name) for state in states] == [
        (1, "tool_calls", "double"),
        (2, "tool_calls", "double"),
    ]
    assert states[1].usage == Usage(prompt_tokens=10, completion_tokens=2, total_tokens=12)


async def test_a_pause_of_the_provider_goes_on_unless_the_strategy_minds(autojump_clock: MockClock) -> None:
    """The model is asked again with what it has said so far."""
    replies = [[say("One"), end("pause")], [say("Two"), end()]]
    stage = Stage(ScriptModel(replies))
    assert await stage.run() == RunOutcome(status="complete", iterations=2)
    assert stage.told[-3:] == ["agent: One", "agent: Two", "done complete stop"]
    patient = EngineOptions(strategy=all_of(max_iterations(9), until_finish_reason("pause")))
    stage = Stage(ScriptModel(replies), options=patient)
    assert await stage.run() == RunOutcome(status="complete", iterations=1)
    assert stage.told[-1] == "done complete pause"


async def test_usage_is_summed_over_the_replies(autojump_clock: MockClock) -> None:
    """Each update counts the replies before it; the terminal has it all."""
    stage = Stage(ScriptModel([[used(5, 1), call("double", n=1), DONE], [used(9, 2), say("2"), end()]]), [double])
    await stage.run()
    told = [event.payload.usage for event in stage.events if isinstance(event.payload, UsageUpdate)]
    assert [usage.total_tokens for usage in told] == [6, 17]
    last = stage.events[-1].payload
    assert isinstance(last, ResponseDone)
    assert last.usage == Usage(prompt_tokens=14, completion_tokens=3, total_tokens=17)


async def test_a_call_id_that_a_host_uses_again_is_another_call(autojump_clock: MockClock) -> None:
    """Turn and conversation get a fresh id; the provider is told its own."""
    model = ScriptModel(
        [[call("double", "call_0", n=1), DONE], [call("double", "call_0", n=2), DONE], [say("4"), end()]]
    )
    stage = Stage(model, [double])
    await stage.run()
    assert [word for word in stage.told if word.startswith(("call", "result"))] == [
        'call call_0: double {"n":1}',
        "result call_0: 2",
        'call call_0-2: double {"n":2}',
        "result call_0-2: 4",
    ]
    assert "assistant: complete call_0-2: 4" in await stage.parts()
    told = [part.id for part in model.calls[2].messages[1].parts if isinstance(part, ToolCallPart)]
    assert told == ["call_0", "call_0"]
    # The next turn of the thread, too: its calls are others than those before.
    model.calls.clear()
    await stage.run("And again")
    assert 'call call_0-3: double {"n":1}' in stage.told


async def test_a_reply_that_was_cut_has_no_tool_run(autojump_clock: MockClock) -> None:
    """Neither the half call nor the whole one before it; both are answered, so that the thread can go on."""
    half = [call("double", "c1", n=1), raw_call("double", '{"n": 2', "c2", whole=False), end("length")]
    stage = Stage(ScriptModel([half]), [double])
    assert await stage.run() == RunOutcome(status="complete", iterations=1)
    assert stage.told[2:] == [
        'call c1: double {"n":1}',
        "item_error INCOMPLETE_ARGUMENTS",
        "error c1: The tool was not run: the reply ended by length.",
        "done complete length",
    ]


async def test_thinking_reaches_the_log_and_the_conversation(autojump_clock: MockClock) -> None:
    """As an item, and as a part."""
    stage = Stage(ScriptModel([[think("Hm"), say("Yes"), end()]]))
    await stage.run()
    assert stage.told[2:4] == ["thought: Hm", "agent: Yes"]
    assert await stage.parts() == ["user: Hello", "assistant: ThinkingPart Hm", "assistant: Yes"]


async def test_runs_of_one_thread_come_one_after_the_other(autojump_clock: MockClock) -> None:
    """The second goes on from what the first has saved."""
    model = ScriptModel([[say("First"), 1.0, end()], [say("Second"), end()]])
    stage = Stage(model)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.engine.run, stage.make_input("One"), stage.publish)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(stage.engine.run, stage.make_input("Two"), stage.publish)
    assert await stage.parts() == ["user: One", "assistant: First", "user: Two", "assistant: Second"]
    assert stage.engine._turns._lines == {}


async def test_ten_thousand_calls_leave_no_task_behind(autojump_clock: MockClock) -> None:
    """Ten times a thousand: as many at once as the options allow, and then none."""
    running, most = 0, 0

    async def count(n: int) -> int:
        """Count how many run."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(0.01)
        running -= 1
        return n

    replies = [[*(call("count", f"c{reply}-{n}", n=n) for n in range(1000)), DONE] for reply in range(10)]
    options = EngineOptions(strategy=max_iterations(20), parallel_tools=100)
    stage = Stage(ScriptModel([*replies, [say("Done"), end()]]), [count], options)
    assert await stage.run() == RunOutcome(status="complete", iterations=11)
    calls = [
        e
        for e in stage.events
        if isinstance(e.payload, ItemDone) and isinstance(e.payload.final_item, FinalFunctionCall)
    ]
    assert len(calls) == 10_000
    assert (running, most) == (0, 100)
    assert tasks_left() == []
    assert stage.engine.running == ()


async def test_the_server_s_tool_wins_over_a_client_s_of_the_same_name(autojump_clock: MockClock) -> None:
    """A client cannot take a tool over."""
    stage = Stage(ScriptModel([[call("double", n=3), DONE], [say("6"), end()]]), [double])
    outcome = await stage.run(client_tools=(ToolSpec(name="double"), ToolSpec(name="ask")))
    assert outcome == RunOutcome(status="complete", iterations=2)
    assert [spec.name for spec in stage.model.calls[0].tools] == ["double", "ask"]
