"""One run of an agent, from its input to its outcome: the shell around RunMachine. It waits; the machine decides.

Who is told what, and when: events go to `publish` in the order of the machine's outbox, and leave it when they have
been told. The conversation hears of them at once. It is saved before the run's terminal is told, so whoever sees the
end finds the conversation.

Stopped, the run breaks off the model and the tools and ends as aborted. Cancelled, it does the same for the
conversation, saves it in bounded time, and says nothing more: whoever cancels it has ended the turn, or will.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial

import trio

from turnwire.actors.conversation import Conversation
from turnwire.actors.core.call_verdicts import say_unknown, server_tool
from turnwire.actors.core.run_calls import ToolRun
from turnwire.actors.core.run_machine import NextStep, RunMachine
from turnwire.actors.core.run_start import AnsweredCall, call_ids, has_news, prompt_of, text_of
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, ModelCall, Publish
from turnwire.actors.reply_reader import ReplyReader
from turnwire.actors.run_conversation import RunConversation
from turnwire.actors.side_work import SideWork
from turnwire.actors.thread_desk import ThreadDesk
from turnwire.actors.tool import ToolSet, run_tool
from turnwire.messages.errors import LogUnavailableError, UnsendableError
from turnwire.messages.events import StreamEvent
from turnwire.messages.model_messages.answers import DENIED
from turnwire.messages.providers.endings import make_error
from turnwire.messages.runs import ApprovalAnswer, RunInput, RunOutcome

log = logging.getLogger("turnwire.engine")

MOST_UNTOLD = 4096
"""Events that may wait to be told before the model's stream is left waiting: a second of the fastest model."""
INTERNAL_ERROR = make_error("INTERNAL_ERROR", "the run failed for an internal reason", retryable=False)
TIMEOUT = make_error("TURN_TIMEOUT", "the run took longer than it may", retryable=False)
NOT_LOADED = make_error("THREAD_NOT_LOADED", "the conversation could not be loaded", retryable=True)
NOT_SAVED = make_error("THREAD_NOT_SAVED", "the conversation could not be saved", retryable=True)


class EngineRun:
    """One run. Made by the engine; `run` is called once."""

    def __init__(
        self, run: RunInput, model: Model, tools: ToolSet, desk: ThreadDesk, options: EngineOptions, publish: Publish
    ) -> None:
        self.input = run
        self._model = model
        self._tools = tools
        self._desk = desk
        self._options = options
        self._publish = publish
        self._machine = RunMachine(run, tools, options.strategy, now=options.now)
        self._side = SideWork(self._tell, lambda: len(self._machine.outbox) < MOST_UNTOLD, self._machine.beat)
        self._slots = trio.CapacityLimiter(options.parallel_tools)
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
        self._side.deadline = trio.current_time() + self._options.deadline
        try:
            await self._work_safely()
            await self._tell()
            await self._settle()
            self._machine.tell_end()
            await self._tell()
        finally:
            if not self._is_settled:  # cancelled, or nobody to tell: what there is of the conversation is kept
                with trio.move_on_after(self._options.grace, shield=True):
                    await self._keep()
            if self._conversation is not None:
                await self._conversation.close()
        if self._machine.outcome is None:
            raise AssertionError("unreachable: whatever a run does, it comes to an outcome")
        return self._machine.outcome

    # The steps

    async def _work_safely(self) -> None:
        """Work until there is an outcome. What goes wrong on our side is the run's error, and nobody else's."""
        try:
            await self._work()
        except Exception as exc:
            if exc is self._untold:
                raise
            log.exception("run %s failed", self.input.run_id)
            error = (
                NOT_LOADED if isinstance(exc, LogUnavailableError) and self._conversation is None else INTERNAL_ERROR
            )
            if self._machine.is_listening:
                self._machine.fail_reply(error, self._closing())
            self._machine.fail(error)
            self._feed()

    async def _work(self) -> None:
        machine = self._machine
        machine.begin(self._model.model_id, self._model.provider_id, prompt_of(self.input))
        await self._tell()
        opening = await self._desk.open()
        conversation = self._conversation = RunConversation(self.input, opening.conversation, self._options)
        machine.know_calls(call_ids(opening.conversation.messages))
        machine.rest = opening.waiting.rest
        await self._run_tools(self._resume(conversation, opening.waiting.answered))
        step: NextStep = "pause" if machine.rest and not has_news(self.input) else "ask"
        while step == "ask" and not self._side.is_interrupted:
            await self._ask_model(conversation)
            if not self._side.is_interrupted:
                await self._run_tools(machine.plan())
                step = machine.next_step()
        if self._side.is_interrupted:
            self._interrupt()
        elif step == "pause":
            machine.pause()
        else:
            machine.conclude()
        self._feed()

    def _closing(self) -> Sequence[StreamEvent]:
        """Give what the model's stream had to say to being broken off."""
        return () if self._reader is None else self._reader.closing

    def _interrupt(self) -> None:
        """End the run in the middle: as aborted if somebody wants it, else because its time is over."""
        machine = self._machine
        if self._side.is_stopped:
            if machine.is_listening:
                machine.abort_reply(self._closing())
            machine.stop()
        else:
            if machine.is_listening:
                machine.fail_reply(TIMEOUT, self._closing())
            machine.fail(TIMEOUT)

    def _resume(self, conversation: RunConversation, answered: Sequence[AnsweredCall]) -> list[ToolRun]:
        """Go on with the calls that were answered since; give those that may run now."""
        machine, runs = self._machine, list[ToolRun]()
        for each in answered:
            run = machine.calls.retell(each.call.id, each.call.name, each.call.arguments)
            answer = each.answer
            if not isinstance(answer, ApprovalAnswer):
                machine.calls.answer(run.call_id, text_of(answer), success=answer.error is None)
                continue
            conversation.note_approval(answer)
            if not answer.approved:
                machine.calls.answer(run.call_id, DENIED, success=False)
            elif server_tool(self._tools, run.name) is None:
                machine.calls.answer(run.call_id, say_unknown(self._tools, run.name), success=False)
            else:
                runs.append(run)
        self._feed()
        return runs

    # The model

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
            machine.fail_reply(make_error("UNSENDABLE", str(exc), retryable=False))
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

    # Tools

    async def _run_tools(self, runs: list[ToolRun]) -> None:
        self._feed()
        if runs and not self._side.is_interrupted:
            name = f"tools of run {self.input.run_id}"
            await self._side.run(partial(self._run_all, runs), name, every=self._options.heartbeat)

    async def _run_all(self, runs: list[ToolRun]) -> None:
        """Run tools beside each other, as many as there are slots, begun in the order of the calls."""
        async with trio.open_nursery() as tools:
            for run in runs:
                await self._slots.acquire_on_behalf_of(run)
                tools.start_soon(self._run_one, run, name=f"tool {run.name} {run.call_id}")

    async def _run_one(self, run: ToolRun) -> None:
        try:
            await trio.lowlevel.checkpoint_if_cancelled()  # a function would run up to its first wait after a stop
            tool = server_tool(self._tools, run.name)
            if tool is None:
                raise AssertionError(f"{run.name} was planned and is no tool of ours")
            self._machine.calls.mark_begun(run.call_id)
            result = await run_tool(tool, run.arguments, limit=self._options.result_limit)
        finally:
            self._slots.release_on_behalf_of(run)
        self._machine.calls.answer(run.call_id, result.text, success=result.success)
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
        outcome = self._machine.outcome
        if self._conversation is not None and outcome is not None:
            try:
                await self._desk.save(self._conversation.finish(), outcome.pending)
            except Exception:
                log.exception("run %s: thread %s was not saved", self.input.run_id, self.input.thread_id)
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
