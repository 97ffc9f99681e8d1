"""Tests of an agent as you would write them: a scripted model, a log in memory, and a clock that jumps.

Try:    python -m pytest examples/test_my_agent.py
Watch:  the model stalls for a minute in the second test, and the test takes a moment. Change a word that is expected,
        and read how the difference is shown. The third makes a test of a turn that a log has.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from trio.testing import MockClock

from turnwire.actors import ModelCall
from turnwire.messages import StreamEvent
from turnwire.runtime import open_engine, open_runtime
from turnwire.runtime.testing import (
    Call,
    MemoryLog,
    Pause,
    Say,
    ScriptedModel,
    assert_outputs,
    assert_says,
    check_saved_turn,
    collect_turn,
    save_turn,
)


async def weather(city: str) -> str:
    """Say what the weather is like in a city."""
    return f"rain in {city}"


async def events_of(model: ScriptedModel) -> AsyncIterator[StreamEvent]:
    """Ask a model once, without an engine around it."""
    async for batch in model.open(ModelCall(run_id="run", turn_id="turn", thread_id="thread", messages=[])):
        for event in batch:
            yield event


@pytest.mark.trio
async def test_the_agent_asks_its_tool(autojump_clock: MockClock) -> None:
    """What the tool gives goes back to the model, whose answer ends the turn."""
    model, log = ScriptedModel([Call("weather", {"city": "Oslo"}), "Take an umbrella."]), MemoryLog()
    async with open_runtime(sink=log) as runtime, open_engine(runtime, model=model, tools=[weather]) as engine:
        await engine.run_turn("Umbrella?", thread_id="thread", turn_id="turn")
    snapshot = await log.snapshot("turn")
    assert_outputs(snapshot, [..., {"type": "tool_call", "toolOutput": "rain in Oslo"}, ..., {"type": "turn_complete"}])
    assert_says(snapshot, "Take an umbrella.")


@pytest.mark.trio
async def test_what_there_is_is_shown_while_the_model_stalls(autojump_clock: MockClock) -> None:
    """A second after the last word, by the clock that jumped."""
    turn = await collect_turn(events_of(ScriptedModel([(Say("Well,"), Pause(60), Say(" no."))])))
    assert_outputs(turn, [..., {"status": "create", "content": "Well,"}, {"content": "Well, no."}, ...])
    assert turn.times == (0.0, 1.0, 60.0, 60.0)


@pytest.mark.trio
async def test_a_turn_of_production_becomes_a_test(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Its events are saved once, from the log that has them; from then on it is played."""
    log = MemoryLog()
    await log.append_events("run", [event async for event in events_of(ScriptedModel(["Hello!"]))])
    await save_turn(log, "run", tmp_path / "hello.jsonl")
    assert_says(await check_saved_turn(tmp_path / "hello.jsonl"), "Hello!")
