"""One run of an agent, from its input to its outcome: the shell around RunMachine. It waits; the machine decides.

Who is told what, and when: events go to `publish` in the order of the machine's outbox, and leave it when they have
been told. The conversation hears of them at once. It is saved, and the thread let go for its next run, before the
run's terminal is told: whoever sees the end finds the conversation, and can go on with it.

Stopped, the run breaks off the model and the tools and ends as aborted. Cancelled, it does the same for the
conversation, saves it in bounded time, and says nothing more: whoever cancels it has ended the turn, or will.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial

import trio

from turnwire.actors.companion import run_with_companion
from turnwire.actors.conversation import Conversation
from turnwire.actors.core.run_calls import ToolRun
from turnwire.actors.core.run_errors import CONFLICT, INTERNAL_ERROR, NOT_LOADED, NOT_SAVED, TIMEOUT, unsendable
from turnwire.actors.core.run_machine import NextStep, RunMachine
from turnwire.actors.core.run_opening import call_ids, has_news, prompt_of
from turnwire.actors.core.toolset import ToolSet
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, ModelCall, Publish
from turnwire.actors.reply_reader import ReplyReader
from turnwire.actors.run_conversation import RunConversation
from turnwire.actors.side_work import SideWork
from turnwire.actors.thread_desk import Opening, ThreadDesk
from turnwire.actors.thread_turns import ThreadTurn
from turnwire.actors.tool_bench import ToolBench
from turnwire.messages.errors import LogUnavailableError, ThreadConflictError, UnsendableError
from turnwire.messages.events import StreamEvent
from turnwire.messages.runs import RunInput, RunOutcome

log = logging.getLogger("turnwire.engine")

MOST_UNTOLD = 4096
"""Events that may wait to be told before the model's stream is left waiting: a second of the fastest model."""


class EngineRun:
    """One run. Made by the engine; `run` is called once."""

    def __init__(
        self,
        run: RunInput,
        model: Model,
        tools: ToolSet,
        desk: ThreadDesk,
        turn: ThreadTurn,
        options: EngineOptions,
        publish: Publish,
    ) -> None:
        self.input = run
        self._model = model
        self._tools = tools
        self._desk = desk
        self._turn = turn
        self._options = options
        self._publish = publish
        self._machine = RunMachine(run, tools, options.strategy, now=options.now)
        self._side = SideWork(self._tell, lambda: len(self._machine.outbox) < MOST_UNTOLD, self._machine.beat)
        self._bench = ToolBench(tools, self._machine.calls, options, self._on_result)
        self._conversation: RunConversation | None = None
        self._reader: ReplyReader | None = None
        self._untold: Exception | None = None
        self._is_settled = False

    @property
    def conversation(self) -> Conversation | None:
        """The run's conversation, to look at and to follow; None until it is loaded."""
        return None if self._conversation is None else self._conversation.face

    def stop(self) -> None:
        """End the run as aborted, at once. Twice is fine; a run that has ended is left alone."""
        self._side.stop()

    async def run(self) -> RunOutcome:
        """Run to the end. Raises what `publish` raises, and nothing else of its own."""
        try:
            await run_with_companion(self._turn.keep, self._run, name=f"claim of run {self.input.run_id}")
        finally:
            with trio.move_on_after(self._options.grace, shield=True):
                if not self._is_settled:  # cancelled, or nobody to tell: what there is of the conversation is kept
                    await self._keep()
                await self._turn.leave()
            if self._conversation is not None:
                await self._conversation.close()
        if self._machine.outcome is None:
            raise AssertionError("unreachable: whatever a run does, it comes to an outcome")
        return self._machine.outcome

    async def _run(self) -> None:
        await self._work_safely()
        await self._tell()
        await self._settle()
        await self._turn.leave()
        self._machine.tell_end()
        await self._tell()

    # The steps

    async def _work_safely(self) -> None:
        """Work until there is an outcome. What goes wrong on our side is the run's error, and nobody else's."""
        try:
            await self._work()
        except Exception as exc:
            if exc is self._untold:
                raise
            log.exception("run %s failed", self.input.run_id)
            is_away = isinstance(exc, LogUnavailableError) and self._conversation is None
            self._machine.fail(NOT_LOADED if is_away else INTERNAL_ERROR, self._closing())
            self._feed()

    async def _work(self) -> None:
        machine, every = self._machine, self._options.heartbeat
        machine.begin(self._model.model_id, self._model.provider_id, prompt_of(self.input))
        await self._tell()
        await self._side.run(self._turn.wait, f"run {self.input.run_id} waits for its thread", every=every)
        self._side.deadline = trio.current_time() + self._options.deadline
        step: NextStep = "end"
        if await self._turn.take_now():  # stopped as it began: what the user said is kept, if nobody else is at it
            step = await self._loop(await self._desk.open())
        if self._side.is_interrupted:
            self._interrupt()
        elif step == "pause":
            machine.pause()
        else:
            machine.conclude()
        self._feed()

    async def _loop(self, opening: Opening) -> NextStep:
        """Go on with what was answered, then ask the model and run its tools until there is no reason to ask again."""
        machine, answered = self._machine, opening.waiting.answered
        conversation = self._conversation = RunConversation(self.input, opening.conversation, self._options)
        machine.know_calls(call_ids(opening.conversation.messages))
        machine.rest = opening.waiting.rest
        conversation.note_approvals(answered)
        await self._run_tools(machine.calls.resume(answered))
        step: NextStep = "pause" if machine.rest and not has_news(self.input) else "ask"
        while step == "ask" and not self._side.is_interrupted:
            await self._ask_model(conversation)
            await self._run_tools(machine.plan())
            step = machine.next_step()
        return step

    def _closing(self) -> Sequence[StreamEvent]:
        """Give what the model's stream had to say to being broken off."""
        return () if self._reader is None else self._reader.closing

    def _interrupt(self) -> None:
        """End the run in the middle: as aborted if somebody wants it, else because its time is over."""
        if self._side.is_stopped:
            self._machine.stop(self._closing())
        else:
            self._machine.fail(TIMEOUT, self._closing())

    # The model and its tools

    async def _ask_model(self, conversation: RunConversation) -> None:
        machine, run = self._machine, self.input
        call = ModelCall(
            run_id=run.run_id,
            turn_id=run.turn_id,
            thread_id=run.thread_id,
            messages=conversation.told(),
            tools=self._tools.specs(),
            after=machine.open_reply(),
            instructions=run.instructions or self._options.instructions,
            settings=self._options.settings,
        )
        self._reader = None
        try:
            reader = self._reader = ReplyReader(self._model.open(call), grace=self._options.grace)
        except UnsendableError as exc:
            machine.refuse_reply(unsendable(str(exc)))
        else:
            listen = partial(reader.run, self._hear, self._side.wait_for_room)
            await self._side.run(listen, f"model of run {run.run_id}")
            if machine.reply_has_ended or not self._side.is_interrupted:
                machine.finish_reply(reader.stream.continuation())
        self._feed()

    def _hear(self, events: Iterable[StreamEvent]) -> bool:
        """Take what the model said next; say whether it is to go on."""
        self._machine.push(events)
        self._feed()
        return not self._machine.reply_has_ended

    async def _run_tools(self, runs: Sequence[ToolRun]) -> None:
        self._feed()
        if runs:
            name = f"tools of run {self.input.run_id}"
            await self._side.run(partial(self._bench.run, runs), name, every=self._options.heartbeat)

    def _on_result(self) -> None:
        self._feed()
        self._side.report()

    # What is told, and kept

    def _feed(self) -> None:
        """Have the conversation hear what it has not heard yet."""
        events = self._machine.take_agui()
        if events and self._conversation is not None:
            self._conversation.hear(events)

    async def _settle(self) -> None:
        """End the conversation's stream and save it: from here on the thread stands."""
        outcome, run = self._machine.outcome, self.input
        if self._conversation is not None and outcome is not None:
            try:
                await self._desk.save(self._conversation.finish(), outcome.pending, after=self._turn.saved_by)
            except ThreadConflictError as exc:
                log.warning("run %s: %s", run.run_id, exc)
                self._machine.fail(CONFLICT)
            except Exception:
                log.exception("run %s: thread %s was not saved", run.run_id, run.thread_id)
                self._machine.fail(NOT_SAVED)
        self._is_settled = True

    async def _keep(self) -> None:
        """Save what there is, in a run that ends without a word. There is nobody to tell of a failure."""
        try:
            if self._machine.outcome is None:
                self._side.is_stopped = True
                self._interrupt()
            self._feed()
            await self._settle()
        except Exception:
            log.exception("run %s: thread %s was not saved", self.input.run_id, self.input.thread_id)

    async def _tell(self) -> None:
        """Tell what is to be told. Each event is taken out when it has been told, and not before."""
        outbox = self._machine.outbox
        while outbox:
            events = tuple(outbox)
            try:
                await self._publish(events)
            except Exception as exc:
                self._untold = exc
                raise
            del outbox[: len(events)]
