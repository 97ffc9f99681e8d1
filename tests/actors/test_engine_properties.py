"""Whatever a model says and whenever it is stopped: the log keeps to its contract, and no call is left hanging."""

from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.kit.agents import ScriptModel, Stage, Step, call, end, raw_call, say, tasks_left, think, used
from turnwire.actors.core.toolset import Tool, tool
from turnwire.actors.engine_options import EngineOptions
from turnwire.messages.model_messages import make_request
from turnwire.messages.runs import RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.messages.ui import ToolCallPart, ToolResultPart

CALL_IDS = st.sampled_from(["call_0", "call_1", "x"])


async def quick(n: int = 0) -> int:
    """Answer at once."""
    return n


@tool(timeout=0.5)
async def slow() -> str:
    """Answer late, or never."""
    await trio.sleep(0.75)
    return "late"


async def broken() -> str:
    """Fail."""
    raise RuntimeError("broken")


@tool(needs_approval=True)
async def risky() -> str:
    """Need somebody's word."""
    return "done"


TOOLS: list[Any] = [quick, slow, broken, risky, Tool.client("pick")]
NAMES = st.sampled_from(["quick", "slow", "broken", "risky", "pick", "unknown"])


def misfit(call_id: str) -> Step:
    return call("quick", call_id, n="no number")


def half(call_id: str) -> Step:
    return raw_call("quick", '{"n', call_id, whole=False)


def reply(said: list[Step], last: list[Step]) -> list[Step]:
    return [*said, *last]


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(say, st.sampled_from(["a", "b ", "ü"])),
    st.builds(think, st.just("hm")),
    st.builds(call, NAMES, CALL_IDS),
    st.builds(misfit, CALL_IDS),
    st.builds(half, CALL_IDS),
    st.sampled_from([0.25, 0.5]),
    st.builds(used, st.integers(0, 9), st.integers(0, 9)),
)
ends: st.SearchStrategy[list[Step]] = st.sampled_from(
    [[end()], [end("tool_calls")], [end("length")], [end("pause")], [end("refusal")], [], [RuntimeError("x")], [None]]
)
replies = st.builds(reply, st.lists(steps, max_size=6), ends)


@settings(max_examples=200)
@given(
    script=st.lists(replies, min_size=1, max_size=3),
    stop_at=st.sampled_from([None, 0.0, 0.25, 0.3, 0.6, 1.1]),
    is_cancelled=st.booleans(),
)
def test_any_script_stopped_at_any_moment(script: list[list[Step]], stop_at: float | None, is_cancelled: bool) -> None:
    """One start, one end, every item closed; each call has its answer or waits for one; nothing runs on."""

    async def act() -> None:
        stage = Stage(ScriptModel(script), TOOLS, EngineOptions(deadline=30, parallel_tools=2))
        run = stage.make_input()
        outcomes: list[RunOutcome] = []
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def stop() -> None:
                    if stop_at is not None:
                        await trio.sleep(stop_at)
                        scope.cancel() if is_cancelled else stage.engine.stop(run.run_id)

                nursery.start_soon(stop)
                outcomes.append(await stage.engine.run(run, stage.publish))
                nursery.cancel_scope.cancel()
        assert tasks_left() == []
        if outcomes:
            check_contract(stage.events)
        await _check_thread(stage, outcomes)

    trio.run(act, clock=MockClock(autojump_threshold=0))


async def _check_thread(stage: Stage, outcomes: list[RunOutcome]) -> None:
    saved = await stage.store.load("th")
    if saved is None:
        assert not outcomes  # cancelled before it could begin
        return
    parts: list[Any] = [part for message in saved.messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    answered = [part.tool_call_id for part in parts if isinstance(part, ToolResultPart)]
    waiting = {each.tool_call_id for each in await stage.store.pending("th")}
    assert len({part.id for part in calls}) == len(calls)
    assert sorted(answered) == sorted({*answered})
    assert {part.id for part in calls} == {*answered} | waiting
    assert not {*answered} & waiting
    assert waiting == ({each.tool_call_id for each in outcomes[0].pending} if outcomes else set())
    for data_format in ("anthropic-messages", "openai-chat", "openai-responses"):
        make_request(data_format, saved.messages)
