"""Tool calls, results and approvals beyond the catalogue."""

from typing import Any

import pytest

from tests.kit.conversations import (
    Stage,
    args,
    asks,
    briefs,
    call,
    called,
    finished,
)
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.more_events import (
    ToolCallResult,
)
from turnwire.messages.errors import ApprovalAnsweredError, UnknownCallError
from turnwire.messages.json_text import MAX_DEPTH, parse_json
from turnwire.messages.ui import SavedConversation, ToolCallPart, ToolResultPart
from turnwire.messages.ui_codec import decode_saved, encode_saved


def test_arguments_after_the_end_still_join_and_the_state_stays() -> None:
    stage = Stage().play(call(), args("{"), called(), args("}"))
    assert stage.parts == ["call c1 input-complete '{}' UNSET -> UNSET"]


def test_classic_states_end_at_input_complete() -> None:
    stage = Stage(options={"states": "classic"}).play(
        call("c1"), args("{}"), called("c1", result="1"), call("c2"), called("c2"), asks("c2")
    )
    stage.machine.add_tool_approval_response("a1", approved=True)
    stage.machine.add_tool_result("c2", None, "denied")
    assert stage.parts == [
        "call c1 input-complete '{}' {} -> 1",
        "result c1 complete '1' None",
        "call c2 approval-responded '' UNSET -> None a1=True",
        "result c2 error 'null' 'denied'",
    ]


def test_a_terminal_state_is_never_taken_back_and_nothing_is_erased() -> None:
    stage = Stage()
    stage.send(call(), asks())
    stage.machine.add_tool_approval_response("a1", approved=True)
    stage.send(
        called(result="1"),
        asks(approval_id="a2"),
        called(),
        called(input={"late": True}),
        args("x"),
        finished(),
        call(),
        called(result="2", error="no"),
    )
    assert stage.parts == ["call c1 complete 'x' {'late': True} -> 2 a1=True", "result c1 error '2' 'no'"]
    assert stage.machine.counts == {"repeated_approval_requests": 1, "repeated_tool_call_starts": 1}


def test_an_approval_told_again_keeps_its_answer() -> None:
    stage = Stage().play(call(), asks(), asks(), finished())
    assert [line for line in stage.told if line.startswith("approval")] == ["approval c1 look None a1"] * 2
    stage.machine.add_tool_approval_response("a1", approved=False)
    stage.play(asks())
    assert stage.parts == ["call c1 approval-responded '' UNSET -> UNSET a1=False"]


def test_a_newer_question_takes_the_place_of_one_that_nobody_answered() -> None:
    stage = Stage().play(call(), asks(), asks(approval_id="a2"))
    assert stage.machine.pending_approvals == ("a2",)
    with pytest.raises(UnknownCallError, match="no approval a1"):
        stage.machine.add_tool_approval_response("a1", approved=True)
    stage.machine.add_tool_approval_response("a2", approved=True)
    assert stage.parts == ["call c1 approval-responded '' UNSET -> UNSET a2=True"]


def test_an_approval_for_an_unknown_call_is_counted() -> None:
    stage = Stage().play(asks("ghost"))
    assert stage.machine.counts == {"approval_for_unknown_call": 1}
    assert stage.told == []
    with pytest.raises(UnknownCallError, match="no approval a1"):
        stage.machine.add_tool_approval_response("a1", approved=True)


def test_a_result_of_a_tool_nobody_called_is_refused() -> None:
    with pytest.raises(UnknownCallError, match="no call c9"):
        ConversationMachine().add_tool_result("c9", 1)


def test_a_pending_approval_survives_a_reload() -> None:
    stage = Stage().play(call(), args("{}"), asks(value={}), finished("tool_calls"))
    again = Stage(messages=tuple(stage.machine.messages))
    assert again.machine.pending_approvals == ("a1",)
    again.step(again.machine.add_tool_approval_response, "a1", True)
    again.play(called(result="ok"))
    assert again.parts == ["call c1 complete '{}' {} -> 'ok' a1=True", "result c1 complete 'ok' None"]


def test_an_id_that_a_host_uses_again_is_a_new_call_once_the_old_one_is_answered() -> None:
    stage = Stage().play(call("call_0"), called("call_0", result="1"))
    stage.play(call("call_0"), args("{}", call_id="call_0"), called("call_0", result="2"))
    assert [briefs(message)[-1] for message in stage.machine.messages] == [
        "result call_0 complete '1' None",
        "result call_0 complete '2' None",
    ]


def test_a_repeated_start_of_a_call_that_waits_since_an_earlier_stream_is_the_same_call() -> None:
    stage = Stage().play(call(), args("{}"), called(), asks())
    stage.play(call(), args("{}"), called(), called(result="ok"))
    assert len(stage.machine.messages) == 1
    assert stage.parts == ["call c1 complete '{}' {} -> 'ok' a1=None", "result c1 complete 'ok' None"]


def test_tool_call_result_of_ag_ui_is_a_result() -> None:
    stage = Stage().play(
        call("c1"), args("{}"), ToolCallResult(tool_call_id="c1", content='{"a":1}', message_id="t1"),
        ToolCallResult(tool_call_id="ghost", content="", message_id="t2"),
        structure_agui({"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
    )  # fmt: skip
    assert stage.parts == ["call c1 complete '{}' {} -> 'ab'", "result c1 complete 'ab' None"]
    assert stage.machine.counts == {"result_for_unknown_call": 1}


def test_partial_arguments_show_while_they_stream() -> None:
    stage = Stage(options={"partial_arguments": True})
    seen: list[Any] = []
    stage.send(call())
    for delta in ('{"city": "Pa', 'ris", "days": [1, ', '2], "unit"', ": nul", "l}"):
        stage.send(args(delta))
        part = stage.machine.messages[0].parts[0]
        assert isinstance(part, ToolCallPart)
        seen.append(part.input)
    assert seen == [
        {"city": "Pa"},
        {"city": "Paris", "days": [1]},
        {"city": "Paris", "days": [1, 2]},
        {"city": "Paris", "days": [1, 2]},
        {"city": "Paris", "days": [1, 2], "unit": None},
    ]
    old = [view[0].parts[0] for view in stage.listener.views[1:]]
    assert [part.input for part in old if isinstance(part, ToolCallPart)] == seen, "as each view was, and not as it is"
    assert stage.play(call("c2"), args("{", call_id="c2")).parts == ["call c2 input-complete '{' UNSET -> UNSET"]


def reused(answer: bool | None) -> Stage:
    """A call whose approval was answered or not, that is over, and whose id the next stream uses again."""
    stage = Stage().play(call(), called(), asks("c1", "a1"))
    if answer is not None:
        stage.machine.add_tool_approval_response("a1", approved=answer)
    stage.machine.add_tool_result("c1", "over")
    return stage.play(call(), called(), asks("c1", "a2"))


def test_a_second_answer_to_an_approval_never_answers_that_of_a_newer_call_with_the_same_id() -> None:
    """The user said no to the first; a repeated click must not say yes to the second."""
    stage = reused(answer=False)
    assert stage.machine.pending_approvals == ("a2",)
    with pytest.raises(ApprovalAnsweredError) as refusal:
        stage.machine.add_tool_approval_response("a1", approved=True)
    assert refusal.value.approved is False
    assert stage.machine.pending_approvals == ("a2",)
    again = ConversationMachine(messages=stage.machine.messages)
    assert again.pending_approvals == ("a2",)
    with pytest.raises(ApprovalAnsweredError):
        again.add_tool_approval_response("a1", approved=True)
    again.add_tool_approval_response("a2", approved=True)
    assert len(again.pending_approvals) == 0


def test_an_approval_that_nobody_answered_before_its_call_was_over_takes_no_answer_for_a_newer_call() -> None:
    stage = reused(answer=None)
    with pytest.raises(UnknownCallError, match="a1"):
        stage.machine.add_tool_approval_response("a1", approved=True)
    assert stage.machine.pending_approvals == ("a2",)


def test_half_a_character_in_a_result_is_mended_as_it_is_when_saved() -> None:
    stage = Stage().play(call(), called(result="\ud83d"))
    assert stage.parts[1] == "result c1 complete '\ufffd' None"


def test_a_result_that_is_told_again_keeps_what_the_provider_sealed_of_it() -> None:
    sealed = {"turnwire.providerData": {"format": "f"}}
    stage = Stage().play(
        call(), called(), ToolCallResult(tool_call_id="c1", content="1", metadata=sealed), called(result="2")
    )
    result = stage.machine.messages[0].parts[-1]
    assert isinstance(result, ToolResultPart)
    assert (result.content, result.provider_data) == ("2", {"format": "f"})


@pytest.mark.parametrize("output", [float("nan"), [float("inf")], {"a": object()}, {1, 2}])
def test_an_output_that_is_no_json_is_refused_and_changes_nothing(output: Any) -> None:
    """It could not be saved."""
    stage = Stage().play(call(), called())
    with pytest.raises((ValueError, TypeError)):
        stage.step(stage.machine.add_tool_result, "c1", output)
    assert stage.parts == ["call c1 input-complete '' UNSET -> UNSET"]


@pytest.mark.parametrize("late", [False, True])
def test_the_deepest_output_can_be_saved_and_loaded(*, late: bool) -> None:
    """Whatever we take from a tool or its arguments, and however deep it stands in the saved conversation."""
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    stage = Stage().play(call(), args(deep), called(), finished() if late else called(result=deep))
    if late:
        stage.machine.add_tool_result("c1", parse_json(deep))
    assert stage.parts[0].startswith("call c1 complete '[[")
    saved = encode_saved(SavedConversation(messages=tuple(stage.machine.messages)))
    assert decode_saved(saved).messages == tuple(stage.machine.messages)
