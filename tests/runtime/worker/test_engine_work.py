"""The engine in a worker: turns from the queue, their input and their threads in a store, a stop in log A."""

from typing import Any

import trio
from trio.testing import MockClock

from tests.kit.agents import user
from tests.kit.logs import redis_log_options
from tests.kit.queues import open_stage
from tests.kit.turns import aborted, brief
from turnwire.actors.core.toolset import tool
from turnwire.actors.engine import Engine
from turnwire.messages.entries import START
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ItemDone, StreamEvent
from turnwire.messages.output_codec import decode_output
from turnwire.messages.runs import ApprovalAnswer, RunInput
from turnwire.messages.testing import check_contract
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.logs.redis import open_redis_log
from turnwire.runtime.models import Call, Hang, Say, ScriptedModel
from turnwire.runtime.queue import AsyncProducer
from turnwire.runtime.queue.turn_queue import TurnQueue
from turnwire.runtime.settings import RedisSettings, Settings, WorkerSettings
from turnwire.runtime.threads import MemoryThreads, open_redis_threads
from turnwire.runtime.worker import Worker


@tool(needs_approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


@tool(timeout=None)
async def ponder() -> str:
    """Take an hour."""
    await trio.sleep(3000)
    return "42"


def run_of(turn_id: str, prompt: str | None = "Hi", **more: Any) -> RunInput:
    new = () if prompt is None else (user(prompt, f"u-{turn_id}"),)
    return RunInput(run_id=f"r{turn_id}", turn_id=turn_id, thread_id="th", new_messages=new, **more)


async def events_of(log: MemoryLog, run_id: str) -> list[StreamEvent]:
    return [decode_event(entry.event) for entry in await log.read_events(run_id, after=START)]


async def test_a_worker_runs_engine_turns_from_its_queue(autojump_clock: MockClock) -> None:
    """Over a pause, an answer, and the run that goes on."""
    store = MemoryThreads()
    model = ScriptedModel([[Say("May I?"), Call("delete", {"path": "a"}, call_id="c1")], "It is gone."])
    engine = Engine(model, [delete], store)
    async with open_stage(engine=engine.work) as stage:
        await store.put_input(run_of("t1"))
        stage.queue.announce("t1", kind="engine")
        await trio.sleep(1)
        (asked,) = await store.pending("th")
        await store.answer("th", ApprovalAnswer(approval_id=str(asked.approval_id), approved=True))
        await store.put_input(run_of("t2", None))
        stage.queue.announce("t2", kind="engine")
        await trio.sleep(1)
        assert await stage.told("t1") == [
            "turn_started",
            "message complete 'Hi'",
            "message complete 'May I?'",
            "tool_call create delete",
            "turn_complete complete",
        ]
        assert await stage.told("t2") == [
            "turn_started",
            "tool_call create delete",
            "tool_call complete delete",
            "message complete 'It is gone.'",
            "turn_complete complete",
        ]
        assert len(stage.queue.finished) == 2


async def test_a_stop_in_log_a_cancels_the_run_and_its_thread_is_kept(autojump_clock: MockClock) -> None:
    """The turn ends by the stop; what was said until then is in the conversation."""
    store = MemoryThreads()
    engine = Engine(ScriptedModel([[Say("Once upon"), Hang()]]), [], store)
    async with open_stage(engine=engine.work) as stage:
        await store.put_input(run_of("t1"))
        stage.queue.announce("t1", kind="engine")
        await trio.sleep(5)
        await stage.publish("t1", aborted())
        await trio.sleep(1)
        assert (await stage.told("t1"))[-1] == "turn_complete aborted"
        assert engine.running == ()
    saved = await store.load("th")
    assert saved is not None
    assert "Once upon" in repr(saved.messages[-1])


async def test_a_worker_that_is_told_to_stop_keeps_the_thread(autojump_clock: MockClock) -> None:
    """Its turn is handed over, and ends as lost elsewhere."""
    store = MemoryThreads()
    engine = Engine(ScriptedModel([[Say("Once upon"), Hang()]]), [], store)
    async with open_stage(engine=engine.work) as stage:
        await store.put_input(run_of("t1"))
        stage.queue.announce("t1", kind="engine")
        await trio.sleep(5)
    assert engine.running == ()
    saved = await store.load("th")
    assert saved is not None
    assert "Once upon" in repr(saved.messages[-1])


async def test_a_tool_that_takes_long_is_no_stalled_turn(autojump_clock: MockClock) -> None:
    """The run gives signs of life; what it tells keeps to the contract."""
    store = MemoryThreads()
    engine = Engine(ScriptedModel([Call("ponder"), "It is 42."]), [ponder], store)
    async with open_stage(engine=engine.work) as stage:
        await store.put_input(run_of("t1"))
        stage.queue.announce("t1", kind="engine")
        await trio.sleep(3500)
        assert (await stage.told("t1"))[-1] == "turn_complete complete"
        events = await events_of(stage.log, "rt1")
    check_contract(events[:-1])  # the last one is the worker's: there is no more to come
    assert any(isinstance(event.payload, ItemDone) for event in events)


async def test_all_of_it_on_a_real_server(redis_url: str, key_prefix: str) -> None:
    """Queue, logs and threads in Redis: a turn that pauses, its answer, and the turn that goes on."""
    settings = Settings(redis=RedisSettings(url=redis_url, prefix=key_prefix), worker=WorkerSettings(name="w"))
    model = ScriptedModel([[Say("May I?"), Call("delete", {"path": "a"}, call_id="c1")], "It is gone."])
    options = redis_log_options(key_prefix)
    queue = TurnQueue(redis_url, settings.redis, settings.worker)
    async with (
        open_redis_threads(redis_url, prefix=key_prefix) as store,
        open_redis_log(redis_url, options=options) as log,
        open_runtime(sink=log) as runtime,
        AsyncProducer(redis_url, options=options) as producer,
        trio.open_nursery() as nursery,
    ):
        worker = Worker(log, runtime, queue, settings, engine=Engine(model, [delete], store).work)
        nursery.start_soon(worker.run)
        for turn_id, answer in (("t1", None), ("t2", True)):
            if answer is not None:
                (asked,) = await store.pending("th")
                await store.answer("th", ApprovalAnswer(approval_id=str(asked.approval_id), approved=answer))
            await store.put_input(run_of(turn_id, "Hi" if answer is None else None))
            await producer.announce(f"r{turn_id}", turn_id, "th", kind="engine")
            with trio.fail_after(20):
                async with log.follow(turn_id) as reader:
                    told = [decode_output(entry.message.payload) async for entry in reader]
            assert brief(told[-1]) == "turn_complete complete"
        worker.stop()
    queue.close()
    assert [brief(output) for output in told] == [
        "turn_started",
        "tool_call create delete",
        "tool_call complete delete",
        "message complete 'It is gone.'",
        "turn_complete complete",
    ]
