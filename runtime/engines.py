"""An engine inside a program: each run feeds a turn of the runtime. No queue, no worker.

    async with open_runtime(sink=log) as runtime, open_engine(runtime, model=model, tools=[search]) as engine:
        outcome = await engine.run_turn(prompt="Hello", thread_id="thread-1")

The run lives in the task that asks for it. Run and turn have one end: where one is stopped, cancelled or past its
deadline, the other ends too.
"""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

import trio

from turnwire.actors.companion import run_with_companion
from turnwire.actors.conversation import Conversation
from turnwire.actors.core.toolset import Tools
from turnwire.actors.engine import Engine
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, ThreadStore
from turnwire.actors.parking import ParkingSpace
from turnwire.actors.turn import Turn
from turnwire.messages.errors import ClosedError, TurnwireError
from turnwire.messages.events import Json, StreamEvent
from turnwire.messages.runs import Answer, PendingCall, RunInput, RunOutcome, ToolSpec
from turnwire.messages.ui import TextPart, UIMessage
from turnwire.runtime.host import Runtime
from turnwire.runtime.threads.memory import MemoryThreads


@asynccontextmanager
async def open_engine(
    runtime: Runtime,
    *,
    model: Model | Mapping[str, Model],
    tools: Tools = (),
    store: ThreadStore | None = None,
    options: EngineOptions | None = None,
) -> AsyncGenerator["HostedEngine", None]:
    """Open an engine whose runs are turns of this runtime. Without a store, threads are kept in memory.

    Leaving the block stops the runs that are still running and waits until they have saved their threads: at most the
    grace time of the options.
    """
    engine = HostedEngine(runtime, Engine(model, tools, MemoryThreads() if store is None else store, options))
    try:
        yield engine
    finally:
        await engine.shut_down()


class HostedEngine:
    """An engine and the runtime that its turns are in. Made by `open_engine`."""

    def __init__(self, runtime: Runtime, engine: Engine) -> None:
        self.engine = engine
        self._runtime = runtime
        self._is_closed = False
        self._run_ended = ParkingSpace()

    async def run_turn(
        self,
        prompt: str | None = None,
        *,
        thread_id: str,
        turn_id: str | None = None,
        run_id: str | None = None,
        messages: Sequence[UIMessage] | None = None,
        new_messages: Sequence[UIMessage] = (),
        answers: Sequence[Answer] = (),
        client_tools: Sequence[ToolSpec] = (),
        model: str | None = None,
        state: Json = None,
        instructions: str | None = None,
    ) -> RunOutcome:
        """Run one turn of a thread, and say how it ended. Ids are made if none are given.

        Raises what the turn failed with, if its sink or its log kept refusing.
        """
        run_id = run_id or os.urandom(16).hex()
        said = () if prompt is None else (_user_message(run_id, prompt),)
        run = RunInput(
            run_id=run_id,
            turn_id=turn_id or run_id,
            thread_id=thread_id,
            messages=None if messages is None else tuple(messages),
            new_messages=(*new_messages, *said),
            answers=tuple(answers),
            client_tools=tuple(client_tools),
            model=model,
            state=state,
            instructions=instructions,
        )
        return await self.run(run)

    async def run(self, run: RunInput) -> RunOutcome:
        """Run a turn from its whole input."""
        if self._is_closed:
            raise ClosedError(f"the engine is closed; run {run.run_id} was not begun")
        try:
            async with self._runtime.open_turn(turn_id=run.turn_id, thread_id=run.thread_id, run_id=run.run_id) as turn:
                return await self._run_in(turn, run)
        finally:
            self._run_ended.call()

    def stop(self, run_id: str) -> bool:
        """Stop a run: its turn ends as aborted. False if no such run is running here."""
        return self.engine.stop(run_id)

    async def answer(self, thread_id: str, answer: Answer) -> None:
        """Answer what a thread waits for, once; the next run of the thread goes on with it."""
        await self.engine.answer(thread_id, answer)

    async def pending(self, thread_id: str | None = None) -> tuple[PendingCall, ...]:
        """List what waits for somebody: of one thread, or of all."""
        return await self.engine.pending(thread_id)

    def conversation(self, run_id: str) -> Conversation | None:
        """Give the conversation of a run that is running, to look at and to follow."""
        return self.engine.conversation(run_id)

    async def shut_down(self) -> None:
        """Stop what is running, and wait for it, at most the grace time."""
        self._is_closed = True
        with trio.move_on_after(self.engine.options.grace, shield=True):
            while self.engine.running:
                for run_id in self.engine.running:
                    self.engine.stop(run_id)
                await self._run_ended.wait()

    async def _run_in(self, turn: Turn, run: RunInput) -> RunOutcome:
        """Run beside a watch on the turn: one that has ended has no more use for its run."""

        async def publish(events: Sequence[StreamEvent | bytes]) -> None:
            for event in events:
                await turn.send(event)

        watch, work = partial(self._watch, turn, run.run_id), partial(self.engine.run, run, publish)
        try:
            return await run_with_companion(watch, work, name=f"watch on turn {run.turn_id}")
        except Exception:
            raise
        except BaseException:  # we are cancelled: the thread is saved, and the turn has no end yet
            with trio.move_on_after(self.engine.options.grace, shield=True), suppress(TurnwireError):
                await turn.fail("TURN_CLOSED", "the engine was cancelled")
            raise

    async def _watch(self, turn: Turn, run_id: str) -> None:
        with suppress(TurnwireError):
            await turn.wait_end()
        self.engine.stop(run_id)


def _user_message(run_id: str, prompt: str) -> UIMessage:
    return UIMessage(id=f"{run_id}-user-prompt", role="user", parts=(TextPart(content=prompt),))
