"""The contract of an adapter that speaks AG-UI, as a checker that names the first event that breaks it.

| rule | what it demands |
|---|---|
| A1 | RUN_STARTED first, once |
| A2 | TEXT_MESSAGE_START before its contents and its end, and an end for each (REASONING_* likewise) |
| A3 | TOOL_CALL_START, then ARGS, then END, for each call |
| A4 | RUN_FINISHED or RUN_ERROR last, once |
| A5 | finishReason tool_calls when tools are asked for, and only then |
| A6 | thinking: STEP_STARTED at most once for a step, and at least one STEP_FINISHED after it |
| A7 | text has the role assistant |
| A8 | text deltas, ids and tool names are not empty |
| A9 | ids are not reused, and what an event says of its block is what the start said |
| A10 | no result on TOOL_CALL_END: adapters run no tools |

Order is demanded for each id; blocks may interleave. A run that breaks may leave its blocks open. TOOL_CALL_RESULT is
let pass after the end of its call: so the provider's own tools report, and calls that were cut off.
"""

from collections.abc import Iterable
from typing import Literal

from turnwire.messages.agui.codec import TAGS
from turnwire.messages.agui.events import (
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
    UnknownAguiEvent,
)
from turnwire.messages.agui.more_events import (
    AnyAguiEvent,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    ReasoningMessageStart,
    ToolCallResult,
)
from turnwire.messages.dialects.agui_words import is_cancelled
from turnwire.messages.providers.contract import ContractError

_ID_FIELDS = ("message_id", "tool_call_id", "step_id", "run_id")
_CUT_SHORT = ("length", "content_filter")
"""Endings that need not ask for the tools that were called before."""
_Kind = Literal["text", "thinking", "call"]


def check_agui_contract(events: Iterable[AnyAguiEvent]) -> None:
    """Check one run from its start to its end. Raises ContractError."""
    checker = AguiContractChecker()
    for event in events:
        checker.push(event)
    checker.end()


class AguiContractChecker:
    """Checks a run event by event, for streams that are still running."""

    def __init__(self) -> None:
        self._position = -1
        self._label: str | None = None
        self._run_id: str | None = None
        self._ended = False
        self._open: dict[tuple[_Kind, str], str] = {}
        """Blocks that are open, each with the name of its tool, if it is a call."""
        self._used: set[str] = set()
        """Ids of blocks that were ever begun."""
        self._steps: dict[str, bool] = {}
        """Steps that were begun, and whether their thinking has come."""
        self._called: set[str] = set()
        """Calls that were ever begun."""
        self._waiting: dict[str, str] = {}
        """Calls that were asked for and have no result, with the names of their tools."""

    def push(self, event: AnyAguiEvent) -> None:
        """Take the next event. Raises ContractError if it may not come here, or not like this."""
        self._position += 1
        self._label = _name(event)
        self._check_frame(event)
        match event:
            case TextMessageStart():
                self._require(event.role == "assistant", "A7", f"the role is {event.role}")
                self._begin("text", event.message_id)
            case TextMessageContent():
                self._require(bool(event.delta), "A8", "the delta is empty")
                self._go_on("text", event.message_id)
            case TextMessageEnd():
                self._finish("text", event.message_id)
            case ReasoningMessageStart():
                self._begin("thinking", event.message_id)
            case ReasoningMessageContent():
                self._go_on("thinking", event.message_id)
            case ReasoningMessageEnd():
                self._finish("thinking", event.message_id)
            case StepStarted() | StepFinished():
                self._check_step(event)
            case ToolCallStart() | ToolCallArgs() | ToolCallEnd() | ToolCallResult():
                self._check_call(event)
            case RunFinished():
                self._check_finish(event)
            case RunError():
                self._ended = True
            case _:
                pass

    def end(self) -> None:
        """Take the end of the stream. Raises ContractError if something is missing."""
        self._position += 1
        self._label = None
        self._require(self._run_id is not None, "A1", "no RUN_STARTED")
        self._require(self._ended, "A4", "neither RUN_FINISHED nor RUN_ERROR")

    def _check_frame(self, event: AnyAguiEvent) -> None:
        self._require(not self._ended, "A4", "an event after the end of the run")
        for field in _ID_FIELDS:
            self._require(getattr(event, field, None) != "", "A8", f"the {field} is empty")
        if isinstance(event, RunStarted):
            self._require(self._run_id is None, "A1", "a second RUN_STARTED")
            self._run_id = event.run_id
        self._require(self._run_id is not None, "A1", "not RUN_STARTED")

    def _check_call(self, event: ToolCallStart | ToolCallArgs | ToolCallEnd | ToolCallResult) -> None:
        call_id = event.tool_call_id
        match event:
            case ToolCallStart():
                self._require(bool(event.tool_name), "A8", "the tool has no name")
                self._begin("call", call_id, event.tool_name)
                self._called.add(call_id)
            case ToolCallArgs():
                self._go_on("call", call_id)
            case ToolCallEnd():
                self._require(event.result is None and event.error is None, "A10", "a result on TOOL_CALL_END")
                name = self._open.get(("call", call_id), "")
                same = event.tool_name in (None, name)
                self._finish("call", call_id)
                self._require(same, "A9", f"the tool is {event.tool_name}, and was {name} at the start")
                self._waiting[call_id] = name
            case ToolCallResult():
                self._require(call_id in self._called, "A9", f"a result for call {call_id}, which nobody has begun")
                self._require(("call", call_id) not in self._open, "A3", f"a result for call {call_id}, which is open")
                self._waiting.pop(call_id, None)

    def _check_step(self, event: StepStarted | StepFinished) -> None:
        step_id = event.step_id
        if isinstance(event, StepStarted):
            self._require(step_id not in self._steps, "A6", f"step {step_id} is started a second time")
            self._require(step_id not in self._used, "A9", f"the id {step_id} was used before")
            self._steps[step_id] = False
        else:
            unused = step_id in self._steps or step_id not in self._used
            self._require(unused, "A9", f"the id {step_id} was used before")
            self._steps[step_id] = True
        self._used.add(step_id)

    def _check_finish(self, event: RunFinished) -> None:
        self._require(event.run_id == self._run_id, "A9", f"run {event.run_id!r} in the run {self._run_id!r}")
        for kind, block_id in self._open:
            rule = "A3" if kind == "call" else "A2"
            self._require(False, rule, f"{kind} {block_id} is still open")
        for step_id, has_thought in self._steps.items():
            self._require(has_thought, "A6", f"step {step_id} has no STEP_FINISHED")
        reason = event.finish_reason
        asked = ", ".join(self._waiting.values())
        told = not asked or reason == "tool_calls" or reason in _CUT_SHORT or is_cancelled(event.outcome)
        self._require(told, "A5", f"the finishReason is {reason}, although tools are asked for: {asked}")
        called = reason != "tool_calls" or bool(self._called)
        self._require(called, "A5", "the finishReason is tool_calls, and none was asked for")
        self._ended = True

    def _begin(self, kind: _Kind, block_id: str, name: str = "") -> None:
        self._require(block_id not in self._used, "A9", f"the id {block_id} was used before")
        self._used.add(block_id)
        self._open[kind, block_id] = name

    def _go_on(self, kind: _Kind, block_id: str) -> None:
        rule = "A3" if kind == "call" else "A2"
        self._require((kind, block_id) in self._open, rule, f"{kind} {block_id} is not open")

    def _finish(self, kind: _Kind, block_id: str) -> None:
        self._go_on(kind, block_id)
        del self._open[kind, block_id]

    def _require(self, holds: bool, rule: str, problem: str) -> None:
        if not holds:
            raise ContractError(rule, self._position, self._label, problem)


def _name(event: AnyAguiEvent) -> str:
    tag = event.type if isinstance(event, UnknownAguiEvent) else TAGS[type(event)]
    ids = (getattr(event, field, None) for field in _ID_FIELDS)
    return " ".join((tag, *(found for found in ids if found)))
