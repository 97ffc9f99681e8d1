"""What fails around a run: the store of threads, the log, other engines, the queue. And what is left then."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, call, end, say, tasks_left, user
from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.errors import LogUnavailableError, ProtocolError
from turnwire.messages.events import StreamEvent
from turnwire.messages.runs import RunInput, RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import MemoryThreads


async def look() -> str:
    """Look."""
    return "all quiet"


def failed(code: str, iterations: int = 1) -> RunOutcome:
    return RunOutcome(status="error", iterations=iterations, error_code=code)


class FlakyThreads(MemoryThreads):
    """Cannot be reached for so many calls."""

    def __init__(self, *, loads: int = 0, saves: int = 0, error: type[Exception] = LogUnavailableError) -> None:
        super().__init__()
        self.loads = loads
        self.saves = saves
        self.error = error

    async def load(self, thread_id: str) -> SavedConversation | None:
        self.loads -= 1
        if self.loads >= 0:
            raise self.error("away")
        return await super().load(thread_id)

    async def save(self, thread_id: str, conversation: SavedConversation, **more: Any) -> None:
        self.saves -= 1
        if self.saves >= 0:
            raise self.error("away")
        await super().save(thread_id, conversation, **more)


async def test_a_store_that_is_away_for_a_while_is_waited_for(autojump_clock: MockClock) -> None:
    """Loading and saving are tried again."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]), store=FlakyThreads(loads=3, saves=3))
    assert await stage.run() == RunOutcome(status="complete", iterations=1)
    assert await stage.parts() == ["user: Hello", "assistant: Hm"]


@pytest.mark.parametrize(
    ("store", "code", "iterations"),
    [
        (FlakyThreads(loads=10_000), "THREAD_NOT_LOADED", 0),
        (FlakyThreads(loads=1, error=RuntimeError), "INTERNAL_ERROR", 0),
        (FlakyThreads(saves=10_000), "THREAD_NOT_SAVED", 1),
        (FlakyThreads(saves=1, error=RuntimeError), "THREAD_NOT_SAVED", 1),
    ],
)
async def test_a_thread_that_cannot_be_loaded_or_saved_fails_the_run(
    autojump_clock: MockClock, store: FlakyThreads, code: str, iterations: int
) -> None:
    """The end of a turn never promises a conversation that is not there."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]), store=store)
    assert await stage.run() == failed(code, iterations)
    assert stage.told[-1] == f"response_error {code}"


async def test_the_conversation_is_saved_before_the_end_is_told(autojump_clock: MockClock) -> None:
    """Whoever sees the terminal finds the conversation."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    seen: list[tuple[str, bool]] = []

    async def publish(events: Sequence[StreamEvent | bytes]) -> None:
        is_saved = await stage.store.load("th") is not None
        await stage.publish(events)
        seen.append((stage.told[-1], is_saved))

    await stage.engine.run(stage.make_input(), publish)
    assert seen[-1] == ("done complete stop", True)
    assert not any(is_saved for _, is_saved in seen[:-1])


async def test_a_log_that_refuses_ends_the_run_and_the_thread_is_kept(autojump_clock: MockClock) -> None:
    """What `publish` raises comes out as it was; nothing of the run is left."""
    stage = Stage(ScriptModel([[say("Hm"), 1.0, say("more"), None]]))

    async def publish(events: Sequence[StreamEvent | bytes]) -> None:
        await stage.publish(events)
        if trio.current_time() >= 1:
            raise ProtocolError("fenced")

    with pytest.raises(ProtocolError, match="fenced"):
        await stage.engine.run(stage.make_input(), publish)
    assert await stage.parts() == ["user: Hello", "assistant: Hmmore"]
    assert tasks_left() == []
    assert stage.engine.running == ()


class Crashing(ScriptModel):
    """Its streams are none."""

    def open(self, _call: ModelCall, /) -> Any:
        raise ZeroDivisionError


async def test_one_of_a_hundred_engines_crashes_and_the_others_do_not_notice(autojump_clock: MockClock) -> None:
    """Each run fails for itself."""
    stages = [
        Stage(
            (Crashing if n == 42 else ScriptModel)([[say("a"), 1.0, call("look", "c"), DONE], [say("b"), end()]]),
            [look],
        )
        for n in range(100)
    ]
    outcomes: dict[int, RunOutcome] = {}

    async def act(number: int, stage: Stage) -> None:
        outcomes[number] = await stage.run(thread_id=f"th{number}")

    async with trio.open_nursery() as nursery:
        for number, stage in enumerate(stages):
            nursery.start_soon(partial(act, number, stage))
    assert outcomes.pop(42) == failed("INTERNAL_ERROR")
    assert set(outcomes.values()) == {RunOutcome(status="complete", iterations=2)}
    assert all(stage.told[-1] == "done complete stop" for number, stage in enumerate(stages) if number != 42)


async def test_a_publisher_that_is_slow_holds_the_model_back(autojump_clock: MockClock) -> None:
    """Not more than a bounded number of events waits to be told, and many travel together."""
    stage = Stage(ScriptModel([[*(say("x") for _ in range(10_000)), end()]]))
    sizes: list[int] = []

    async def publish(events: Sequence[StreamEvent | bytes]) -> None:
        sizes.append(len(events))
        await trio.sleep(1)
        await stage.publish(events)

    await stage.engine.run(stage.make_input(), publish)
    check_contract(stage.events)
    assert 4090 < max(sizes) <= 4096
    assert len(stage.events) == 10_000 + 6


async def test_a_run_id_that_is_running_is_refused(autojump_clock: MockClock) -> None:
    """Two runs under one id would write one log."""
    stage = Stage(ScriptModel([[say("Hm"), 1.0, end()]]))
    run = stage.make_input()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.engine.run, run, stage.publish)
        await trio.sleep(0.5)
        with pytest.raises(ValueError, match="is running already"):
            await stage.engine.run(run, stage.publish)


async def test_a_turn_from_the_queue_finds_its_input_in_the_store(autojump_clock: MockClock) -> None:
    """And one without an input ends as an error that says so."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]))
    run = RunInput(run_id="r1", turn_id="t1", thread_id="th", new_messages=(user("Hi"),))
    await stage.store.put_input(run)
    await stage.engine.work(run, stage.publish)
    assert stage.told == ["start", "user: Hi", "agent: Hm", "done complete stop"]
    stage.events.clear()
    await stage.engine.work(RunInput(run_id="r2", turn_id="t2", thread_id="th"), stage.publish)
    check_contract(stage.events)
    assert stage.told == ["start", "response_error NO_INPUT"]


class LostInputs(MemoryThreads):
    """Cannot be asked for inputs for so many calls."""

    def __init__(self, fails: int) -> None:
        super().__init__()
        self.fails = fails

    async def get_input(self, run_id: str) -> RunInput | None:
        self.fails -= 1
        if self.fails >= 0:
            raise LogUnavailableError("away")
        return await super().get_input(run_id)


@pytest.mark.parametrize(
    ("fails", "end_of_it"), [(3, "done complete stop"), (10_000, "response_error THREAD_NOT_LOADED")]
)
async def test_an_input_that_cannot_be_read_is_waited_for(
    autojump_clock: MockClock, fails: int, end_of_it: str
) -> None:
    """As long as patience lasts; then the turn says why it did not begin."""
    stage = Stage(ScriptModel([[say("Hm"), end()]]), store=LostInputs(fails))
    run = RunInput(run_id="r1", turn_id="t1", thread_id="th", new_messages=(user("Hi"),))
    await stage.store.put_input(run)
    await stage.engine.work(run, stage.publish)
    check_contract(stage.events)
    assert stage.told[-1] == end_of_it


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
