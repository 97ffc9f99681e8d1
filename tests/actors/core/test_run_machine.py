"""The heart of a run without its shell: what reaches the log, what reaches the conversation, and odd models."""

from typing import Any

import attrs
import pytest

from tests.kit.agents import brief
from tests.kit.turns import begin, called, delta, event, finished, said, started
from turnwire.actors.core.loop import max_iterations
from turnwire.actors.core.run_machine import RunMachine
from turnwire.actors.core.toolset import Tool, ToolSet
from turnwire.messages.agui.events import RunFinished, RunStarted, TextMessageContent, ToolCallEnd, ToolCallStart
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    ItemDone,
    ItemStart,
    ResponseDone,
    TurnAbortedByUser,
    Usage,
    UsageUpdate,
)
from turnwire.messages.own_ids import OWN_CALL_ID
from turnwire.messages.providers.endings import make_error
from turnwire.messages.runs import RunInput, RunOutcome
from turnwire.messages.testing import check_contract

RUN = RunInput(run_id="turn-1", turn_id="t1", thread_id="th")


def look() -> str:
    """Look."""
    return ""


def make(*tools: Any) -> RunMachine:
    machine = RunMachine(RUN, ToolSet.of(*(tools or (look,))), max_iterations(5), now=lambda: 7)
    machine.begin("m", "p", "Hi")
    return machine


def ended(reason: str = "tool_calls", usage: Usage | None = None) -> Any:
    return event(ResponseDone(response_id="x", status="complete", finish_reason=reason, usage=usage))


def told(machine: RunMachine) -> list[str]:
    check_contract(machine.outbox)
    return [word for word in map(brief, machine.outbox) if word]


def test_starts_and_ends_of_replies_reach_the_conversation_alone() -> None:
    """The log has one start and one end; AG-UI has one of each for every reply."""
    machine = make()
    heard: list[Any] = []
    for number in (1, 2):
        before = machine.open_reply()
        machine.push([started(), begin(f"m{number}"), delta(f"m{number}", "a"), said(f"m{number}", "a"), finished()])
        machine.finish_reply(before)
        heard += machine.take_agui()
    machine.conclude()
    machine.tell_end()
    assert told(machine) == ["start", "user: Hi", "agent: a", "agent: a", "done complete stop"]
    assert [type(each) for each in heard if isinstance(each, RunStarted | RunFinished | TextMessageContent)] == [
        RunStarted,
        TextMessageContent,
        RunFinished,
    ] * 2


def test_ids_that_a_model_uses_again_are_made_unique() -> None:
    """Items in the run, calls in the thread; with the provider's own id kept for the provider."""
    machine = make()
    machine.know_calls({"c"})
    for _ in range(2):
        before = machine.open_reply()
        call = begin("i", "function_call", name="look", call_id="c")
        machine.push([call, delta("i", "{}"), called("i", "c"), ended()])
        machine.finish_reply(before)
        for run in machine.plan():
            machine.calls.answer(run.call_id, "seen", success=True)
    machine.conclude()
    machine.tell_end()
    assert told(machine)[2:6] == ["call c-2: look {}", "result c-2: seen", "call c-3: look {}", "result c-3: seen"]
    finals = [each.payload.final_item for each in machine.outbox if isinstance(each.payload, ItemDone)]
    calls = [final for final in finals if isinstance(final, FinalFunctionCall)]
    assert [(final.id, final.provider_data) for final in calls] == [
        ("i", {OWN_CALL_ID: "c"}),
        ("i-2", {OWN_CALL_ID: "c"}),
    ]
    heard = machine.take_agui()
    assert [each.tool_call_id for each in heard if isinstance(each, ToolCallStart)] == ["c-2", "c-3"]
    assert [each.tool_call_id for each in heard if isinstance(each, ToolCallEnd) and each.result] == ["c-2", "c-3"]


def test_a_call_is_not_named_like_a_message() -> None:
    """AG-UI has one space of names for both; a call that is known only at its end is renamed there."""
    machine = make()
    before = machine.open_reply()
    machine.push([begin("x"), said("x", ""), begin("i", "function_call"), called("i", "x"), ended()])
    machine.finish_reply(before)
    assert [run.call_id for run in machine.plan()] == ["x-2"]


def test_the_provider_s_own_tools_are_left_to_it() -> None:
    """Its call is not run, and its output finds its call under the name that we gave it."""
    machine = make()
    machine.know_calls({"w"})
    before = machine.open_reply()
    call = FinalFunctionCall(id="i", name="search", call_id="w", arguments="{}", origin="provider")
    output = FinalFunctionCallOutput(id="o", call_id="w", output="found", origin="provider")
    machine.push(
        [
            begin("i", "function_call", name="search", call_id="w", origin="provider"),
            delta("i", "{}"),
            event(ItemDone(item_id="i", final_item=call)),
            begin("o", "function_call_output", call_id="w"),
            event(ItemDone(item_id="o", final_item=output)),
            ended("stop"),
        ]
    )
    machine.finish_reply(before)
    assert machine.plan() == []
    assert machine.next_step() == "end"
    start, done = (each.payload for each in machine.outbox[-2:])
    assert isinstance(start, ItemStart)
    assert start.call_id == "w-2"
    assert isinstance(done, ItemDone)
    assert isinstance(done.final_item, FinalFunctionCallOutput)
    assert done.final_item.call_id == "w-2"


def test_what_a_model_says_twice_is_said_once() -> None:
    """An item that has ended has ended, so no tool runs twice; nothing comes after the terminal."""
    machine = make()
    before = machine.open_reply()
    call = begin("i", "function_call", name="look", call_id="c")
    machine.push([call, delta("i", "{}"), called("i", "c"), called("i", "c"), ended(), begin("late"), ended("stop")])
    machine.push([begin("later")])
    machine.finish_reply(before)
    assert len(machine.plan()) == 1
    machine.calls.answer("c", "seen", success=True)
    machine.calls.answer("c", "seen again", success=True)
    machine.conclude()
    machine.tell_end()
    assert told(machine)[2:] == ["call c: look {}", "result c: seen", "done complete tool_calls"]


def test_an_event_that_comes_twice_counts_once_and_replies_may_number_anew() -> None:
    """A turn drops ids that it knows: what the second reply says would be lost, and the conversation would differ."""
    machine = make()
    heard: list[Any] = []
    for number in (1, 2):
        reply = [begin("m"), delta("m", "a"), said("m", "a"), finished()]
        numbered = [attrs.evolve(each, event_id=f"e{place}") for place, each in enumerate(reply)]
        before = machine.open_reply()
        machine.push([*numbered[:2], numbered[1], *numbered[2:]])
        machine.finish_reply(before)
        heard += [each.delta for each in machine.take_agui() if isinstance(each, TextMessageContent)]
        assert heard == ["a"] * number
    machine.conclude()
    machine.tell_end()
    assert told(machine) == ["start", "user: Hi", "agent: a", "agent: a", "done complete stop"]


def test_a_model_that_leaves_items_open_has_them_closed() -> None:
    """As its end says: text with what there is, half a call as an error."""
    machine = make()
    before = machine.open_reply()
    machine.push([begin("m"), delta("m", "half"), begin("i", "function_call", name="look", call_id="c")])
    machine.push([begin("r", "reasoning"), delta("r", "hm"), ended("stop")])
    machine.finish_reply(before)
    assert machine.plan() == []
    machine.conclude()
    machine.tell_end()
    assert told(machine)[2:] == [
        "agent: half",
        "item_error INCOMPLETE_ARGUMENTS",
        "thought: hm",
        "done complete stop",
    ]


CALLING = begin("i1", "function_call", name="look", call_id="c1", arguments="{}")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param([], id="before a model was asked"),
        pytest.param([CALLING, called("i1", "c1"), ended()], id="while tools run"),
        pytest.param([begin("m"), delta("m", "a")], id="in the middle of a reply"),
    ],
)
def test_the_conversation_hears_of_a_stop_once(reply: list[Any]) -> None:
    """Whoever says it: the reply that was broken off, or the run."""
    machine = make()
    if reply:
        machine.open_reply()
        machine.push(reply)
        machine.plan()
    machine.stop()
    machine.tell_end()
    ends = [each.outcome for each in machine.take_agui() if isinstance(each, RunFinished)]
    assert ends.count({"type": "cancelled"}) == 1
    assert told(machine)[-1] == "done aborted None"


def test_a_model_that_says_it_was_aborted_ends_the_run_so() -> None:
    """Somebody has stopped it at the provider's."""
    machine = make()
    before = machine.open_reply()
    machine.push([begin("m"), delta("m", "a"), event(TurnAbortedByUser(turn_id="t", reason="r"))])
    machine.finish_reply(before)
    assert machine.next_step() == "end"
    machine.conclude()
    machine.tell_end()
    assert told(machine)[2:] == ["agent: a", "done aborted None"]
    assert machine.outcome == RunOutcome(status="aborted", iterations=1)


def test_usage_is_added_up_where_replies_tell_only_their_own() -> None:
    """From updates and from ends; a reply that says nothing adds nothing."""
    machine = make()
    own = Usage(prompt_tokens=3, total_tokens=3)
    for payload in (UsageUpdate(response_id="x", usage=own), None, UsageUpdate(response_id="x", usage=own)):
        before = machine.open_reply()
        machine.push([*([] if payload is None else [event(payload)]), ended("stop")])
        machine.finish_reply(before)
    before = machine.open_reply()
    machine.push([ended("stop", own)])
    machine.finish_reply(before)
    machine.conclude()
    machine.tell_end()
    check_contract(machine.outbox)
    updates = [each.payload.usage for each in machine.outbox if isinstance(each.payload, UsageUpdate)]
    assert [usage.prompt_tokens for usage in updates] == [3, 6]
    last = machine.outbox[-1].payload
    assert isinstance(last, ResponseDone)
    assert last.usage == Usage(prompt_tokens=9, total_tokens=9)


def test_a_run_that_fails_before_its_model_was_asked_is_told_whole() -> None:
    """A start, and the error."""
    machine = make()
    machine.fail(make_error("X", "x", retryable=False))
    machine.tell_end()
    machine.tell_end()
    assert told(machine) == ["start", "user: Hi", "response_error X"]
    assert machine.outcome == RunOutcome(status="error", error_code="X")


def test_two_calls_of_one_id_at_once_keep_apart() -> None:
    """A host that numbers nothing: each has its own result."""
    machine = make(look, Tool.client("pick"))
    before = machine.open_reply()
    for item in ("i", "j"):
        machine.push([begin(item, "function_call", name="look", call_id="c"), delta(item, "{}"), called(item, "c")])
    machine.push([ended()])
    machine.finish_reply(before)
    assert [run.call_id for run in machine.plan()] == ["c", "c-2"]
