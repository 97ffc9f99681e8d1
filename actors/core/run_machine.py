"""All decisions of one run of an agent: what is told, which tools run, when the model is asked again. No await.

A run, as its shell drives it:

    begin → calls.resume   → open_reply → push … finish_reply → plan → calls.answer … → next_step
                                 ↑                                                         │ ask
                                 └─────────────────────────────────────────────────────────┘
    pause, end: conclude → (all is told, the conversation is saved) → tell_end

1. One response_start, first; one terminal, last; every item closed in between (C1, C3, C4).
2. Each call is answered in its run, or waits for somebody else when the run ends. A reply that was cut short has no
   tool run.
3. Tools of the server run also when others of the same reply must wait. Who must be asked is asked when all have run.
4. A stop answers the calls that have no result by saying so. No call is begun after it.
5. The conversation hears everything as AG-UI, in the order of the log: `take_agui`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.actors.core.loop import LoopState, LoopStrategy
from turnwire.actors.core.reply import Reply
from turnwire.actors.core.run_calls import RunCalls, ToolRun
from turnwire.actors.core.run_ids import RunIds
from turnwire.actors.core.run_voice import RunVoice
from turnwire.actors.core.toolset import ToolSet
from turnwire.messages.agui.events import RunError, RunErrorInfo, RunFinished
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.events import ErrorInfo, Heartbeat, ResponseDone, ResponseError, StreamEvent, Usage
from turnwire.messages.providers.adapter import epoch_milliseconds
from turnwire.messages.providers.continuation import Continuation
from turnwire.messages.providers.endings import CUT_SHORT
from turnwire.messages.runs import PendingCall, RunInput, RunOutcome, RunStatus
from turnwire.messages.ui import CalledTool

NextStep: TypeAlias = Literal["ask", "pause", "end"]
_STATUSES: Mapping[str, RunStatus] = {"aborted": "aborted", "error": "error"}  # all others count as complete


class RunMachine:
    """One run."""

    def __init__(
        self,
        run: RunInput,
        tools: ToolSet,
        strategy: LoopStrategy,
        *,
        now: Callable[[], float] = epoch_milliseconds,
    ) -> None:
        self.iterations = 0
        self.outcome: RunOutcome | None = None
        """How it ended; None while it runs."""
        self.rest: tuple[PendingCall, ...] = ()
        """What earlier runs wait for, and this one has no answer to."""
        self._run = run
        self._strategy = strategy
        self._ids = RunIds()
        self._voice = RunVoice(run, self._ids, now=now)
        self._agui: list[AnyAguiEvent] = []
        self.calls = RunCalls(run, tools, self._voice, self._agui)
        self._reply: Reply | None = None
        self._before = Continuation(
            iteration=-1, used_ids=frozenset(), events=0, usage=None, trace_context=self._voice.trace_context
        )
        self._usage: Usage | None = None
        self._terminal: ResponseDone | ResponseError | None = None

    # What the shell takes from it

    @property
    def outbox(self) -> list[StreamEvent]:
        """What is to be told, oldest first. The shell tells the head, then takes it out."""
        return self._voice.outbox

    def take_agui(self) -> list[AnyAguiEvent]:
        """Give what the conversation has not heard yet."""
        heard = [*self._agui]
        self._agui.clear()
        return heard

    @property
    def reply_has_ended(self) -> bool:
        """Has the model said how its reply ended, or was it ended?"""
        return self._reply is not None and self._reply.end is not None

    # The model

    def know_calls(self, call_ids: Iterable[str]) -> None:
        """Take the ids of the thread's calls as taken: no call of this run gets one of them."""
        self._ids.take_calls(call_ids)

    def begin(self, model_id: str, provider_id: str, prompt: str | None) -> None:
        """Begin the run."""
        self._voice.start(model_id, provider_id)
        if prompt:
            self._voice.prompt(prompt)

    def open_reply(self) -> Continuation:
        """Begin to hear the model once more; give what its request goes on from."""
        self.iterations += 1
        self._reply = Reply(self._voice, self._ids, self._agui, thread_id=self._run.thread_id, spent=self._usage)
        used = self._before.used_ids.union(self._ids.items)
        return attrs.evolve(self._before, used_ids=used, usage=None)  # usage: it is added up here

    def push(self, events: Iterable[StreamEvent]) -> None:
        """Take what the model said next."""
        self._heard().push(events)

    def finish_reply(self, continuation: Continuation) -> None:
        """Take the end of the model's stream."""
        self._before = continuation
        self._heard().finish()
        self._usage = self._heard().usage

    def refuse_reply(self, error: ErrorInfo) -> None:
        """Take that the model could not be asked."""
        self._heard().fail(error)

    def plan(self) -> list[ToolRun]:
        """Decide what becomes of the calls of the reply; give those that run now."""
        end = self._good_end()
        return [] if end is None else self.calls.plan(self._heard().calls, end.finish_reason)

    def next_step(self) -> NextStep:
        """Decide what comes now that everything of the reply has its answer, or waits for somebody."""
        end = self._good_end()
        if self.calls.waiting:
            return "pause"
        if end is None or end.finish_reason in CUT_SHORT:
            return "end"
        calls = self._heard().calls
        if not calls and end.finish_reason != "pause":
            return "end"
        state = LoopState(
            iterations=self.iterations,
            finish_reason=end.finish_reason,
            calls=tuple(CalledTool(id=call.call_id, name=call.name, arguments=call.arguments or "") for call in calls),
            usage=self._usage,
        )
        return "ask" if self._strategy(state) else "end"

    # How it ends

    def pause(self) -> None:
        """End the run because somebody else must act."""
        self.calls.ask_around()
        self._conclude("paused", self._done("complete", finish_reason="tool_calls"))

    def conclude(self) -> None:
        """End the run as its last reply ended."""
        end = self._heard().end
        if isinstance(end, ResponseDone):
            status: RunStatus = _STATUSES.get(end.status, "complete")
            if status != "complete":
                self._give_up("the model's reply was broken off", to_log=True)
            self._conclude(status, attrs.evolve(end, response_id=self._run.run_id, status=status, usage=self._usage))
        elif end is not None:
            # Behind an item that broke off with its stream the log takes no more items (C8).
            self._give_up("the model's reply failed", to_log=False)
            self._conclude("error", attrs.evolve(end, response_id=self._run.run_id))

    def stop(self, closing: Iterable[StreamEvent] = ()) -> None:
        """End the run because somebody wants it. What has no result by now is answered so.

        `closing` is what the model's stream has to say to being broken off, if it was (C9).
        """
        self._break_off(lambda reply: reply.abort(closing))
        self._give_up("the run was stopped", to_log=True)
        if self._reply is None or self._good_end() is not None:  # else the reply has said it
            self._agui.append(
                RunFinished(run_id=self._run.run_id, thread_id=self._run.thread_id, outcome={"type": "cancelled"})
            )
        self._conclude("aborted", self._done("aborted"))

    def fail(self, error: ErrorInfo, closing: Iterable[StreamEvent] = ()) -> None:
        """End the run because something failed on our side; `closing` as above."""
        self._break_off(lambda reply: reply.fail(error, closing))
        end = None if self._reply is None else self._reply.end
        self._give_up("the run failed", to_log=not isinstance(end, ResponseError))
        if not isinstance(end, ResponseError):  # else the conversation knows
            info = RunErrorInfo(message=error.message, code=error.code)
            self._agui.append(RunError(run_id=self._run.run_id, error=info))
        self._conclude("error", ResponseError(response_id=self._run.run_id, error=error))

    def beat(self) -> None:
        """Give a sign of life."""
        self._voice.tell(Heartbeat())

    def tell_end(self) -> None:
        """Tell the terminal: the last event of the run."""
        if self._terminal is not None:
            self._voice.tell(self._terminal)
            self._terminal = None

    def _break_off(self, end: Callable[[Reply], None]) -> None:
        """End a reply that has not ended, if there is one."""
        if self._reply is not None and self._reply.end is None:
            end(self._reply)
            self._usage = self._reply.usage

    def _conclude(self, status: RunStatus, terminal: ResponseDone | ResponseError) -> None:
        pending = (*self.rest, *self.calls.waiting)
        code = terminal.error.code if isinstance(terminal, ResponseError) else None
        self.outcome = RunOutcome(status=status, iterations=self.iterations, pending=pending, error_code=code)
        self._terminal = terminal

    def _give_up(self, why: str, *, to_log: bool) -> None:
        self.calls.give_up(() if self._reply is None else self._reply.calls, why, to_log=to_log)

    def _done(self, status: str, finish_reason: str | None = None) -> ResponseDone:
        return ResponseDone(response_id=self._run.run_id, status=status, finish_reason=finish_reason, usage=self._usage)

    def _good_end(self) -> ResponseDone | None:
        end = None if self._reply is None else self._reply.end
        return end if isinstance(end, ResponseDone) and end.status not in _STATUSES else None

    def _heard(self) -> Reply:
        if self._reply is None:
            raise AssertionError("no model has been asked yet")
        return self._reply
