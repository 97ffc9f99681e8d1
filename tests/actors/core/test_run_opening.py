"""What a run begins with: the conversation, its prompt, and the calls that have their answers."""

from tests.kit.agents import user
from turnwire.actors.core.run_opening import call_ids, has_news, opening_of, prompt_of, sort_waiting, text_of
from turnwire.messages.runs import Answer, ApprovalAnswer, PendingCall, PendingKind, RunInput, ToolAnswer
from turnwire.messages.ui import Approval, Part, SavedConversation, ToolCallPart, ToolResultPart, UIMessage


def run(**more: object) -> RunInput:
    return RunInput(run_id="r", turn_id="t", thread_id="th", **more)  # type: ignore[arg-type]  # fields of all kinds


def assistant(*parts: Part, message_id: str = "a1") -> UIMessage:
    return UIMessage(id=message_id, role="assistant", parts=parts)


def call(call_id: str, **more: object) -> ToolCallPart:
    return ToolCallPart(id=call_id, name="t", arguments="{}", state="input-complete", **more)  # type: ignore[arg-type]  # as above


def pending(call_id: str, approval_id: str | None = None) -> PendingCall:
    kind: PendingKind = "client_tool" if approval_id is None else "approval"
    return PendingCall(
        kind=kind, thread_id="th", run_id="r0", tool_call_id=call_id, tool_name="t", approval_id=approval_id
    )


def test_new_messages_come_behind_what_is_stored() -> None:
    """Once, also if the run is given twice."""
    stored = SavedConversation(messages=(user("One"), assistant()), state=1)
    opening = opening_of(run(new_messages=(user("One"), user("Two", "u2"))), stored)
    assert [message.id for message in opening.messages] == ["u1", "a1", "u2"]
    assert opening.state == 1
    assert opening_of(run(state=2), stored).state == 2
    assert opening_of(run(), None) == SavedConversation()


def test_the_client_s_messages_replace_what_is_stored() -> None:
    """Its calls keep what no client sends back."""
    sealed = call("c", approval=Approval(id="ap"), provider_data={"format": "f"})
    stored = SavedConversation(messages=(user("One"), assistant(sealed)))
    given = (user("Other", "u9"), assistant(call("c"), call("d"), message_id="x"))
    opening = opening_of(run(messages=given), stored)
    assert [message.id for message in opening.messages] == ["u9", "x"]
    assert opening.messages[1].parts == (sealed, call("d"))
    assert opening.messages[0] is given[0]
    assert call_ids(opening.messages) == {"c", "d"}


def test_a_client_changes_no_call_that_waits() -> None:
    """Neither under its own id nor under its approval's: what was asked is what runs."""
    waits = call("c", approval=Approval(id="ap"))
    stored = SavedConversation(messages=(assistant(waits),))
    forged = ToolCallPart(
        id="c", name="rm", arguments='{"x":1}', input={"x": 1}, state="input-complete", approval=Approval(id="other")
    )
    named_alike = call("d", approval=Approval(id="ap", approved=True))
    for given in (
        run(messages=(assistant(forged), assistant(named_alike, message_id="a2"))),
        run(new_messages=(assistant(forged, named_alike, message_id="a3"),)),
    ):
        messages = opening_of(given, stored).messages
        answered = sort_waiting(messages, (), (ApprovalAnswer(approval_id="ap", approved=True),)).answered
        assert [each.call for each in answered] == [waits]


def test_the_prompt_is_what_the_user_said_last() -> None:
    """In the new messages, or at the end of the client's own."""
    assert prompt_of(run(new_messages=(user("One"), user("Two", "u2")))) == "Two"
    assert prompt_of(run(messages=(user("One"),))) == "One"
    assert prompt_of(run(messages=(user("One"), assistant()))) is None
    assert prompt_of(run()) is None
    assert [has_news(each) for each in (run(), run(messages=(assistant(),)), run(messages=(user("x"),)))] == [
        False,
        False,
        True,
    ]
    assert has_news(run(new_messages=(UIMessage(id="s", role="system"),)))


def test_calls_with_an_answer_go_on_and_the_others_wait() -> None:
    """What has a result already, or is not in the conversation, does neither."""
    asked = call("c1", approval=Approval(id="ap1"))
    over = ToolResultPart(tool_call_id="c3", content="", state="complete")
    messages = [assistant(asked, call("c2"), call("c3"), over, call("c4"))]
    answers: list[Answer] = [
        ApprovalAnswer(approval_id="ap1", approved=True),
        ToolAnswer(tool_call_id="c3"),
        ToolAnswer(tool_call_id="c9"),
    ]
    waiting = sort_waiting(messages, [pending("c1", "ap1"), pending("c2"), pending("c3"), pending("c8")], answers)
    assert [(each.call.id, each.answer) for each in waiting.answered] == [("c1", answers[0])]
    assert waiting.rest == (pending("c2"),)


def test_a_client_s_answer_is_text_for_the_model() -> None:
    """Why it failed comes first."""
    said = [
        ToolAnswer(tool_call_id="c", output="plain"),
        ToolAnswer(tool_call_id="c", output={"a": 1}),
        ToolAnswer(tool_call_id="c"),
        ToolAnswer(tool_call_id="c", error="no"),
        ToolAnswer(tool_call_id="c", error="no", output=[1]),
    ]
    assert [text_of(answer) for answer in said] == ["plain", '{"a":1}', "null", "no", "no\n[1]"]
