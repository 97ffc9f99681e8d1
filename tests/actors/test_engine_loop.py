"""The loop of an engine: replies, tools, iterations, and what is told of them."""

import trio
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, call, end, raw_call, say, tasks_left, think, used
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.tool import Tool, tool
from turnwire.messages.runs import RunOutcome


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


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
