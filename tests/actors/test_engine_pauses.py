"""Runs that wait for somebody: tools of the client, approvals, and what becomes of them later."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.kit.agents import DONE, ScriptModel, Stage, call, end, say, used
from turnwire.actors.core.toolset import Tool, tool
from turnwire.messages.errors import ApprovalAnsweredError, CallAnsweredError, UnknownCallError
from turnwire.messages.runs import ApprovalAnswer, PendingCall, RunOutcome, ToolAnswer, ToolSpec
from turnwire.messages.ui import Approval, ToolCallPart

deleted: list[str] = []


@tool(needs_approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    deleted.append(path)
    return "gone"


async def look() -> str:
    """Look around."""
    return "all quiet"


@pytest.fixture(autouse=True)
def nothing_deleted() -> None:
    deleted.clear()


def waiting(run_id: str, call_id: str = "c1", **more: Any) -> PendingCall:
    facts: dict[str, Any] = {
        "kind": "approval",
        "tool_name": "delete",
        "input": {"path": "a"},
        "approval_id": f"{run_id}-approval-1",
    }
    return PendingCall(thread_id="th", run_id=run_id, tool_call_id=call_id, **{**facts, **more})


def asking(*more: Any) -> Stage:
    """An agent that wants to delete a file, and says "Done" afterwards."""
    first = [say("May I?"), call("delete", "c1", path="a"), *more, DONE]
    return Stage(ScriptModel([first, [say("Done"), end()]]), [delete, look])


async def said_of(stage: Stage) -> Approval | None:
    """What the conversation has about the approval of its one call."""
    saved = await stage.store.load("th")
    assert saved is not None
    (part,) = (part for message in saved.messages for part in message.parts if isinstance(part, ToolCallPart))
    return part.approval


async def test_a_call_that_needs_approval_ends_the_run_as_paused(autojump_clock: MockClock) -> None:
    """Other tools of the same reply run; what waits is in the outcome, in the store and in the conversation."""
    stage = asking(call("look", "c2"))
    outcome = await stage.run(run_id="r1")
    assert outcome == RunOutcome(status="paused", iterations=1, pending=(waiting("r1"),))
    assert stage.told[2:] == [
        "agent: May I?",
        'call c1: delete {"path":"a"}',
        "call c2: look {}",
        "result c2: all quiet",
        "done complete tool_calls",
    ]
    assert deleted == []
    assert await stage.store.pending("th") == await stage.store.pending() == (waiting("r1"),)
    saved = await stage.store.load("th")
    assert saved is not None
    asked = saved.messages[-1].parts[1]
    assert isinstance(asked, ToolCallPart)
    assert (asked.state, asked.approval) == ("approval-requested", Approval(id="r1-approval-1"))


async def test_a_paused_run_says_what_it_has_cost(autojump_clock: MockClock) -> None:
    """As every end does."""
    stage = asking(used(5, 1))
    await stage.run()
    done: Any = stage.events[-1].payload
    assert done.usage.total_tokens == 6


async def test_an_approved_call_runs_in_the_next_run(autojump_clock: MockClock) -> None:
    """The call is told again there, with its result; the conversation gets the result where the call stands."""
    stage = asking()
    await stage.run(run_id="r1")
    await stage.engine.answer("th", ApprovalAnswer(approval_id="r1-approval-1", approved=True))
    assert await stage.store.pending("th") == ()
    assert await stage.run(None) == RunOutcome(status="complete", iterations=1)
    assert stage.told == [
        "start",
        'call c1: delete {"path":"a"}',
        "result c1: gone",
        "agent: Done",
        "done complete stop",
    ]
    assert deleted == ["a"]
    assert await stage.parts() == [
        "user: Hello",
        "assistant: May I?",
        "assistant: call c1 delete complete",
        "assistant: complete c1: gone",
        "assistant: Done",
    ]
    assert len(stage.model.calls[1].messages) == 2
    assert await said_of(stage) == Approval(id="r1-approval-1", approved=True)


async def test_a_denied_call_is_not_run_and_says_so(autojump_clock: MockClock) -> None:
    """To the model and to the user interface."""
    stage = asking()
    await stage.run(run_id="r1")
    assert await stage.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=False)) == RunOutcome(
        status="complete", iterations=1
    )
    assert "error c1: The user denied this tool call. The tool was not run." in stage.told
    assert deleted == []
    assert "assistant: call c1 delete error" in await stage.parts()
    assert await said_of(stage) == Approval(id="r1-approval-1", approved=False)


async def test_a_second_answer_is_refused_with_the_first(autojump_clock: MockClock) -> None:
    """Before the next run and after it; and what nobody asked is refused, too."""
    stage = asking()
    await stage.run(run_id="r1")
    yes, no = (ApprovalAnswer(approval_id="r1-approval-1", approved=said) for said in (True, False))
    await stage.engine.answer("th", yes)
    with pytest.raises(ApprovalAnsweredError) as refused:
        await stage.engine.answer("th", no)
    assert refused.value.approved is True
    await stage.run(None, no)
    assert deleted == ["a"]
    with pytest.raises(ApprovalAnsweredError):
        await stage.engine.answer("th", no)
    with pytest.raises(UnknownCallError):
        await stage.engine.answer("th", ApprovalAnswer(approval_id="r9", approved=True))
    await stage.run(None)
    assert deleted == ["a"]


async def test_an_approval_is_answered_after_a_restart(autojump_clock: MockClock) -> None:
    """Another engine finds all it needs in the store."""
    before = asking()
    await before.run(run_id="r1")
    after = Stage(ScriptModel([[say("Done"), end()]]), [delete], store=before.store)
    assert await after.engine.pending() == (waiting("r1"),)
    assert await after.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=True)) == RunOutcome(
        status="complete", iterations=1
    )
    assert deleted == ["a"]


async def test_an_approved_tool_that_is_gone_is_an_error_result(autojump_clock: MockClock) -> None:
    """After a restart without it."""
    before = asking()
    await before.run(run_id="r1")
    after = Stage(ScriptModel([[say("Done"), end()]]), [look], store=before.store)
    await after.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=True))
    assert "error c1: there is no tool named 'delete'; the tools are: look" in after.told


async def test_a_client_s_tool_is_answered_later(autojump_clock: MockClock) -> None:
    """The run pauses; its result begins another one, exactly once."""
    picking = [call("pick", "c1", title="Colour"), call("look", "c2"), DONE]
    stage = Stage(ScriptModel([picking, [say("Blue then"), end()]]), [look])
    spec = ToolSpec(name="pick", description="Have the user pick")
    outcome = await stage.run(run_id="r1", client_tools=(spec,))
    asked = waiting("r1", kind="client_tool", tool_name="pick", input={"title": "Colour"}, approval_id=None)
    assert outcome == RunOutcome(status="paused", iterations=1, pending=(asked,))
    assert stage.told[-2:] == ["result c2: all quiet", "done complete tool_calls"]
    await stage.engine.answer("th", ToolAnswer(tool_call_id="c1", output={"colour": "blue"}))
    with pytest.raises(CallAnsweredError) as refused:
        await stage.engine.answer("th", ToolAnswer(tool_call_id="c1", output="red"))
    assert refused.value.output == {"colour": "blue"}
    assert await stage.run(None) == RunOutcome(status="complete", iterations=1)
    assert stage.told[1:4] == ['call c1: pick {"title":"Colour"}', 'result c1: {"colour":"blue"}', "agent: Blue then"]
    assert 'assistant: complete c1: {"colour":"blue"}' in await stage.parts()


async def test_a_client_s_failure_is_an_error_result(autojump_clock: MockClock) -> None:
    """With the client's own words."""
    stage = Stage(ScriptModel([[call("pick", "c1"), DONE], [say("Pity"), end()]]), [Tool.client("pick")])
    await stage.run()
    await stage.run(None, ToolAnswer(tool_call_id="c1", error="closed the window"))
    assert "error c1: closed the window" in stage.told


async def test_with_some_answers_the_run_pauses_again_with_the_rest(autojump_clock: MockClock) -> None:
    """What was approved has run; the model is not asked before all have their answers."""
    stage = asking(call("delete", "c2", path="b"))
    first = await stage.run(run_id="r1")
    assert [each.approval_id for each in first.pending] == ["r1-approval-1", "r1-approval-2"]
    second = await stage.run(None, ApprovalAnswer(approval_id="r1-approval-2", approved=True))
    assert second == RunOutcome(status="paused", iterations=0, pending=first.pending[:1])
    assert stage.told == ["start", 'call c2: delete {"path":"b"}', "result c2: gone", "done complete tool_calls"]
    assert deleted == ["b"]
    third = await stage.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=True))
    assert third == RunOutcome(status="complete", iterations=1)
    assert deleted == ["b", "a"]


async def test_a_new_message_goes_on_and_the_question_stays(autojump_clock: MockClock) -> None:
    """The model is asked; what waits can still be answered, and is in the outcome."""
    stage = asking()
    first = await stage.run(run_id="r1")
    second = await stage.run("Never mind. What time is it?", run_id="r2")
    assert second == RunOutcome(status="complete", iterations=1, pending=first.pending)
    assert await stage.store.pending("th") == first.pending
    assert deleted == []
    await stage.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=True))
    assert deleted == ["a"]


async def test_nobody_is_asked_to_allow_what_does_not_fit(autojump_clock: MockClock) -> None:
    """Wrong arguments are an error result at once."""
    stage = Stage(ScriptModel([[call("delete", "c1", path=7), DONE], [say("Sorry"), end()]]), [delete])
    assert await stage.run() == RunOutcome(status="complete", iterations=2)
    assert "error c1: the arguments of delete do not fit: $.path: expected a string, got a number (7)" in stage.told


async def test_approval_may_depend_on_the_arguments(autojump_clock: MockClock) -> None:
    """A tool says for which calls it must be asked."""

    @tool(needs_approval=lambda arguments: arguments["path"] == "/")
    async def wipe(path: str) -> str:
        """Wipe a folder."""
        deleted.append(path)
        return "wiped"

    stage = Stage(ScriptModel([[call("wipe", "c1", path="/"), call("wipe", "c2", path="/old"), DONE]]), [wipe])
    outcome = await stage.run()
    assert [each.tool_call_id for each in outcome.pending] == ["c1"]
    assert deleted == ["/old"]
