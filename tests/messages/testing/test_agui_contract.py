"""A good AG-UI stream, broken in each way there is: the checker names the rule and the event."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from turnwire.messages.agui.events import (
    Custom,
    RunError,
    RunErrorInfo,
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
from turnwire.messages.testing import ContractError, check_agui_contract

Events = list[AnyAguiEvent]

GOOD: Events = [
    RunStarted(run_id="run"),  # 0
    StepStarted(step_id="s"),  # 1
    StepFinished(step_id="s", delta="Hmm"),  # 2
    TextMessageStart(message_id="m"),  # 3
    TextMessageContent(message_id="m", delta="Let me look."),  # 4
    ToolCallStart(tool_call_id="c", tool_name="look"),  # 5
    ToolCallStart(tool_call_id="d", tool_name="look"),  # 6
    ToolCallArgs(tool_call_id="c", delta="{"),  # 7
    ToolCallArgs(tool_call_id="d", delta=""),  # 8
    TextMessageEnd(message_id="m"),  # 9
    ToolCallArgs(tool_call_id="c", delta="}"),  # 10
    ToolCallEnd(tool_call_id="c", tool_name="look", input={}),  # 11
    ToolCallEnd(tool_call_id="d"),  # 12
    ReasoningMessageStart(message_id="r"),  # 13
    ReasoningMessageContent(message_id="r", delta="Ah"),  # 14
    ReasoningMessageEnd(message_id="r"),  # 15
    Custom(name="note"),  # 16
    RunFinished(run_id="run", finish_reason="tool_calls"),  # 17
]


def without(*positions: int) -> Callable[[Events], Events]:
    return lambda events: [event for number, event in enumerate(events) if number not in positions]


def changed(position: int, **fields: Any) -> Callable[[Events], Events]:
    def change(events: Events) -> Events:
        return [attrs.evolve(event, **fields) if number == position else event for number, event in enumerate(events)]

    return change


def added(position: int, event: AnyAguiEvent) -> Callable[[Events], Events]:
    return lambda events: [*events[:position], event, *events[position:]]


def moved(start: int, end: int) -> Callable[[Events], Events]:
    def move(events: Events) -> Events:
        rest = [event for number, event in enumerate(events) if number != start]
        return [*rest[:end], events[start], *rest[end:]]

    return move


SPOILT: dict[str, tuple[Callable[[Events], Events], str, int]] = {
    "no start": (without(0), "A1", 0),
    "nothing at all": (lambda _: [], "A1", 0),
    "a late start": (moved(0, 1), "A1", 0),
    "two starts": (added(3, GOOD[0]), "A1", 3),
    "content before its start": (moved(3, 4), "A2", 3),
    "no start of the text": (without(3), "A2", 3),
    "content after its end": (moved(4, 9), "A2", 9),
    "another id in the content": (changed(4, message_id="other"), "A2", 4),
    "another id at the end": (changed(9, message_id="other"), "A2", 9),
    "a text left open": (without(9), "A2", 16),
    "two ends": (added(10, GOOD[9]), "A2", 10),
    "thinking without its start": (without(13), "A2", 13),
    "thinking left open": (without(15), "A2", 16),
    "arguments before the call": (moved(5, 7), "A3", 6),
    "arguments after the end": (moved(10, 11), "A3", 11),
    "arguments of nobody": (changed(7, tool_call_id="other"), "A3", 7),
    "a call left open": (without(12), "A3", 16),
    "an end without a call": (without(6, 8), "A3", 10),
    "a result before the end": (added(10, ToolCallResult(tool_call_id="c", content="4")), "A3", 10),
    "no end": (without(17), "A4", 17),
    "two ends of the run": (lambda events: [*events, events[-1]], "A4", 18),
    "an error after the end": (lambda events: [*events, RunError(error=RunErrorInfo(message="no"))], "A4", 18),
    "something after the end": (moved(16, 17), "A4", 17),
    "tools asked for, and stop": (changed(17, finish_reason="stop"), "A5", 17),
    "tools asked for, and nothing said": (changed(17, finish_reason=None), "A5", 17),
    "no tools asked for": (without(5, 6, 7, 8, 10, 11, 12), "A5", 10),
    "a step without thinking": (without(2), "A6", 16),
    "a step begun twice": (added(3, GOOD[1]), "A6", 3),
    "the user speaks": (changed(3, role="user"), "A7", 3),
    "an empty delta": (changed(4, delta=""), "A8", 4),
    "an empty message id": (changed(3, message_id=""), "A8", 3),
    "an empty call id": (changed(5, tool_call_id=""), "A8", 5),
    "an empty tool name": (changed(5, tool_name=""), "A8", 5),
    "an empty run id": (changed(0, run_id=""), "A8", 0),
    "an empty step id": (changed(1, step_id=""), "A8", 1),
    "a text id used again": (added(16, TextMessageStart(message_id="m")), "A9", 16),
    "a call id used again": (added(13, GOOD[5]), "A9", 13),
    "a text under a step's id": (changed(3, message_id="s"), "A9", 3),
    "a step under a text's id": (added(16, StepStarted(step_id="m")), "A9", 16),
    "thinking under a text's id": (added(16, StepFinished(step_id="m", delta="x")), "A9", 16),
    "another tool at the end": (changed(11, tool_name="other"), "A9", 11),
    "another run at the end": (changed(17, run_id="other"), "A9", 17),
    "a result on the end of a call": (changed(11, result=""), "A10", 11),
    "a second end with a result": (added(13, ToolCallEnd(tool_call_id="c", result="4")), "A10", 13),
}


@pytest.mark.parametrize(("spoil", "rule", "position"), SPOILT.values(), ids=SPOILT)
def test_each_breach_is_named(spoil: Callable[[Events], Events], rule: str, position: int) -> None:
    """Rule, place and event are told."""
    check_agui_contract(GOOD)
    spoilt = spoil(GOOD)
    with pytest.raises(ContractError) as caught:
        check_agui_contract(spoilt)
    assert (caught.value.rule, caught.value.position) == (rule, position)
    assert (caught.value.event_id is None) == (position == len(spoilt))


def test_the_message_says_which_event_and_what_is_wrong() -> None:
    """An AG-UI event has no id, so it is named by its type and what it speaks of."""
    with pytest.raises(ContractError, match=r"^A3: event 7 \(TOOL_CALL_ARGS other\): call other is not open$"):
        check_agui_contract(changed(7, tool_call_id="other")(GOOD))


@pytest.mark.parametrize(
    "events",
    [
        [GOOD[0], RunError(error=RunErrorInfo(message="it broke"))],
        [*GOOD[:8], RunError(error=RunErrorInfo(message="it broke"))],
        [*GOOD[:17], RunFinished(run_id="run", finish_reason="length")],
        [*GOOD[:17], RunFinished(run_id="run", outcome={"type": "cancelled"})],
        [
            GOOD[0],
            StepFinished(step_id="s", delta="Hmm"),
            StepFinished(step_id="s", delta="!"),
            RunFinished(run_id="run"),
        ],
        [*GOOD[:13], *(ToolCallResult(tool_call_id=call, content="") for call in "cd"), RunFinished(run_id="run")],
        [GOOD[0], UnknownAguiEvent(type="SURPRISE"), RunFinished(run_id="run", finish_reason="stop")],
    ],
    ids=[
        "broken at once",
        "broken amid blocks",
        "cut short",
        "stopped",
        "a bare step",
        "the provider's tools",
        "unknown",
    ],
)
def test_what_keeps_the_contract_passes(events: Events) -> None:
    """None of them is taken for a breach."""
    check_agui_contract(events)


def test_a_result_for_a_call_that_nobody_began_is_a_breach() -> None:
    stray = ToolCallResult(tool_call_id="x", content="")
    with pytest.raises(ContractError, match="A9") as breach:
        check_agui_contract([GOOD[0], stray, RunFinished(run_id="run", finish_reason="stop")])
    assert "TOOL_CALL_RESULT x" in str(breach.value)
