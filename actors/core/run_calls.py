"""The calls that a run must answer: which run, which wait for somebody else, what each came to. No clock, no await.

1. A call is answered once; a result that comes later changes nothing.
2. Every answer is told twice: as an output item to the log, as TOOL_CALL_END to the conversation.
3. What waits for a client or for an approval is asked for when the run pauses, not before: a run that is stopped
   meanwhile leaves no question behind.
"""

from collections.abc import Iterable

import attrs

from turnwire.actors.core.call_verdicts import judge_call, say_unknown, server_tool
from turnwire.actors.core.run_opening import AnsweredCall, text_of
from turnwire.actors.core.run_voice import RunVoice
from turnwire.actors.core.toolset import ToolSet
from turnwire.messages.agui.custom import ApprovalRequested, ToolInputAvailable, tell_custom
from turnwire.messages.agui.events import ToolCallEnd
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.events import FinalFunctionCall, Json
from turnwire.messages.model_messages.answers import DENIED
from turnwire.messages.providers.endings import CUT_SHORT
from turnwire.messages.runs import PendingCall, RunInput, ToolAnswer
from turnwire.messages.ui import Approval


@attrs.frozen(kw_only=True)
class ToolRun:
    """A call that is to be run now."""

    call_id: str
    name: str
    arguments: str


@attrs.define
class _Unanswered:
    name: str
    has_begun: bool = False


class RunCalls:
    """Looks after the calls of one run."""

    def __init__(self, run: RunInput, tools: ToolSet, voice: RunVoice, agui: list[AnyAguiEvent]) -> None:
        self.waiting: list[PendingCall] = []
        """Calls of this run that somebody else must act on."""
        self._run = run
        self._tools = tools
        self._voice = voice
        self._agui = agui
        self._unanswered: dict[str, _Unanswered] = {}
        self._seen: set[str] = set()
        self._asked = 0

    def plan(self, calls: Iterable[FinalFunctionCall], finish_reason: str | None) -> list[ToolRun]:
        """Decide what becomes of the calls of a reply; give those that run now."""
        runs: list[ToolRun] = []
        for call in calls:
            self._expect(call.call_id, call.name)
            if finish_reason in CUT_SHORT:
                self.answer(call.call_id, f"The tool was not run: the reply ended by {finish_reason}.", success=False)
                continue
            verdict = judge_call(self._tools, call.name, call.arguments or "")
            match verdict.kind:
                case "run":
                    given = call.arguments or "{}"
                    runs.append(ToolRun(call_id=call.call_id, name=call.name, arguments=given))
                case "refuse":
                    self.answer(call.call_id, verdict.why, success=False)
                case "client_tool":
                    self.waiting.append(self._pending(call, verdict.input, None))
                case "approval":
                    self._asked += 1
                    approval_id = f"{self._run.run_id}-approval-{self._asked}"
                    self.waiting.append(self._pending(call, verdict.input, approval_id))
        return runs

    def resume(self, answered: Iterable[AnsweredCall]) -> list[ToolRun]:
        """Go on with calls of earlier runs that were answered since; give those that run now.

        Each is told again: the log of each turn stands alone.
        """
        runs: list[ToolRun] = []
        for each in answered:
            call, answer = each.call, each.answer
            self._voice.call(call.id, call.name, call.arguments)
            self._expect(call.id, call.name)
            if isinstance(answer, ToolAnswer):
                self.answer(call.id, text_of(answer), success=answer.error is None)
            elif not answer.approved:
                self.answer(call.id, DENIED, success=False)
            elif server_tool(self._tools, call.name) is None:
                self.answer(call.id, say_unknown(self._tools, call.name), success=False)
            else:
                runs.append(ToolRun(call_id=call.id, name=call.name, arguments=call.arguments))
        return runs

    def mark_begun(self, call_id: str) -> None:
        """Remember that a tool has begun to run."""
        if call_id in self._unanswered:
            self._unanswered[call_id].has_begun = True

    def answer(self, call_id: str, text: str, *, success: bool, to_log: bool = True) -> None:
        """Take what a call came to."""
        call = self._unanswered.pop(call_id, None)
        if call is None:
            return
        if to_log:
            self._voice.output(call_id, text, success=success)
        self._agui.append(
            ToolCallEnd(
                tool_call_id=call_id,
                tool_name=call.name,
                result=text,
                error=None if success else text or "the tool failed",
                timestamp=self._voice.now(),
            )
        )

    def give_up(self, calls: Iterable[FinalFunctionCall], why: str, *, to_log: bool) -> None:
        """Answer all that has no result, because the run ends here: these calls too, which nobody has looked at."""
        for call in calls:
            if call.call_id not in self._seen:
                self._expect(call.call_id, call.name)
        self.waiting.clear()
        for call_id, unanswered in [*self._unanswered.items()]:
            what = "was stopped before it had a result" if unanswered.has_begun else "was not run"
            self.answer(call_id, f"The tool {what}: {why}.", success=False, to_log=to_log)

    def ask_around(self) -> None:
        """Ask for what waits: the client for results, the user for approvals."""
        for call in self.waiting:
            names = {"tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "input": call.input}
            if call.approval_id is None:
                self._agui.append(tell_custom(ToolInputAvailable(**names)))
            else:
                self._agui.append(tell_custom(ApprovalRequested(**names, approval=Approval(id=call.approval_id))))

    def _expect(self, call_id: str, name: str) -> None:
        self._seen.add(call_id)
        self._unanswered[call_id] = _Unanswered(name)

    def _pending(self, call: FinalFunctionCall, given: Json, approval_id: str | None) -> PendingCall:
        return PendingCall(
            kind="client_tool" if approval_id is None else "approval",
            thread_id=self._run.thread_id,
            run_id=self._run.run_id,
            tool_call_id=call.call_id,
            tool_name=call.name,
            input=given,
            approval_id=approval_id,
        )
