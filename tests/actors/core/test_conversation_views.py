"""Views that never change, and callbacks that may do anything."""

from typing import Any

import pytest
from msgspec import UNSET

from tests.kit.conversations import (
    SNAPSHOT,
    Stage,
    args,
    asks,
    briefs,
    call,
    called,
    flat,
    say,
    text,
    think,
    under_every_strategy,
)
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.events import Custom, RunStarted
from turnwire.messages.ui import TextPart, ToolCallPart, UIMessage
from turnwire.messages.ui_changes import MessageChanged


def question(number: int = 1) -> UIMessage:
    return UIMessage(id=f"u{number}", role="user", parts=(TextPart(content="Why?"),))


def test_a_view_never_changes() -> None:
    stage = Stage().play(text("One ", "two ", "three"), call(), args("{", "}"), called(result="1"))
    stage.step(stage.machine.add_message, question())
    stage.play(text("Four"))
    stage.machine.process_event(structure_agui(SNAPSHOT))
    seen = [[briefs(message) for message in view] for view in stage.listener.views]
    assert seen[:3] == [[["text 'One '"]], [["text 'One two '"]], [["text 'One two three'"]]]
    assert seen[3] == [["text 'One two three'", "call c1 awaiting-input '' UNSET -> UNSET"]]
    assert seen[6][0][1:] == ["call c1 complete '{}' {} -> 1", "result c1 complete '1' None"]
    assert seen[7][1:] == [["text 'Why?'"]]
    assert seen[8][1:] == [["text 'Why?'"], ["text 'Four'"]]


def test_a_part_that_has_not_changed_is_the_same_object() -> None:
    """So a view can tell by identity what it need not draw."""
    stage = Stage()
    stage.send(text("One"), call(), args("{}"), called(result="1"), say("Two", message_id="m2"))
    before = stage.machine.messages[0].parts
    stage.send(say(" more", message_id="m2"))
    after = stage.machine.messages[0].parts
    assert all(old is new for old, new in zip(before[:3], after[:3], strict=True))
    assert before[3] is not after[3]


def test_messages_are_a_sequence() -> None:
    stage = Stage(messages=[question(1), question(2)]).play(text("x"))
    view = stage.machine.messages
    assert len(view) == 3
    assert (view[-1], view[0:2], view[1]) == (view[2], (question(1), question(2)), question(2))
    assert view == list(view)
    assert view != [question(1)]
    with pytest.raises(IndexError):
        _ = view[3]


def test_a_user_message_in_mid_stream_stands_after_the_one_that_is_being_made() -> None:
    stage = Stage()
    stage.send(text("One"))
    stage.step(stage.machine.add_message, question())
    stage.send(say(" two"))
    stage.step(stage.machine.finalize)
    assert [briefs(message) for message in stage.machine.messages] == [["text 'One two'"], ["text 'Why?'"]]
    with pytest.raises(ValueError, match="u1 already"):
        stage.machine.add_message(question())


def test_a_blank_message_in_the_middle_is_removed_too() -> None:
    stage = Stage()
    stage.send(text(" "))
    stage.step(stage.machine.add_message, question())
    stage.step(stage.machine.finalize)
    assert [message.id for message in stage.machine.messages] == ["u1"]
    assert [[message.id for message in view] for view in stage.listener.views] == [["msg-1"], ["msg-1", "u1"], ["u1"]]


def test_a_callback_may_answer_at_once() -> None:
    """The result stands in the messages when the callback returns, and is told of by itself."""
    views: list[int] = []

    def answer(call_id: str, _name: str, value: Any) -> None:
        machine.add_tool_result(call_id, {"seen": value})

    callbacks = ConversationCallbacks(
        on_tool_call=answer, on_messages_change=lambda messages: views.append(len(messages[0].parts))
    )
    machine = ConversationMachine(callbacks=callbacks)
    asked = Custom(name="tool-input-available", data={"toolCallId": "c1", "toolName": "look", "input": 5})
    machine.process(flat(call(), called(), asked, text("x")))
    assert briefs(machine.messages[0]) == [
        "call c1 complete '' UNSET -> {'seen': 5}",
        "result c1 complete '{\"seen\":5}' None",
        "text 'x'",
    ]
    assert views == [1, 1, 2, 3]


def test_a_callback_that_raises_leaves_the_conversation_whole() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    told: list[str] = []
    machine = ConversationMachine(
        callbacks=ConversationCallbacks(on_text_update=fail, on_stream_end=lambda _: told.append("end"))
    )
    with pytest.raises(RuntimeError, match="no"):
        machine.process(text("x"))
    assert briefs(machine.messages[0]) == ["text 'x'"]
    machine.finalize()
    assert told == ["end"]


def test_an_input_that_is_null_is_not_an_absent_one() -> None:
    stage = Stage().play(call(), args("null"), called(result="null"))
    part = stage.machine.messages[0].parts[0]
    assert isinstance(part, ToolCallPart)
    assert (part.input, part.output) == (None, None)
    assert Stage().play(call()).machine.messages[0].parts[0].input is UNSET  # type: ignore[union-attr]  # it is a call


def test_options_are_checked() -> None:
    for wrong in ({"states": "modern"}, {"thinking": "none"}):
        with pytest.raises(ValueError, match="must be in"):
            ConversationOptions(**wrong)  # type: ignore[arg-type]  # that is the test


def test_run_started_means_nothing_to_the_messages() -> None:
    stage = Stage()
    stage.send(RunStarted(run_id="r", thread_id="t"))
    assert list(stage.machine.messages) == []
    assert stage.machine.take_changes() == []


def test_changes_are_told_in_the_order_of_the_list_also_when_a_message_settles() -> None:
    """Whoever follows puts a message that is new to it at the end."""
    machine = ConversationMachine()
    for event in flat(text("One")):
        machine.process_event(event)
    machine.add_message(question())
    machine.finalize()
    assert [change.message.id for change in machine.take_changes() if isinstance(change, MessageChanged)] == [
        "msg-1",
        "u1",
    ]


@under_every_strategy
def test_flushing_in_mid_stream_shows_what_waits_and_cuts_no_character_in_two(strategy: str) -> None:
    """A conversation may be saved between the two halves of a pair."""
    stage = Stage(strategy)
    stage.send(say("No mark\ud83d"), think("Hm\ud83d"), say("And"))
    stage.step(stage.machine.flush)
    assert stage.parts == ["text 'No mark\ufffd'", "thinking 'Hm'", "text 'And'"]
    stage.send(say("\ud83d"))
    stage.step(stage.machine.flush)
    stage.send(say("\ude00"), think("\ude00"))
    stage.step(stage.machine.finalize)
    assert stage.parts == ["text 'No mark\ufffd'", "thinking 'Hm😀'", "text 'And😀'"]
    assert stage.machine.result.content == "No mark\ufffdAnd😀"


def test_a_view_of_a_message_that_late_answers_changed_shows_what_there_was() -> None:
    stage = Stage().play(call("c1"), call("c2"), asks("c1"))
    views = [stage.machine.messages]
    stage.machine.add_tool_approval_response("a1", approved=True)
    views.append(stage.machine.messages)
    for output in (1, 2):
        stage.machine.add_tool_result("c1", output)
        views.append(stage.machine.messages)
    assert [briefs(view[0]) for view in views] == [
        ["call c1 approval-requested '' UNSET -> UNSET a1=None", "call c2 input-complete '' UNSET -> UNSET"],
        ["call c1 approval-responded '' UNSET -> UNSET a1=True", "call c2 input-complete '' UNSET -> UNSET"],
        ["call c1 complete '' UNSET -> 1 a1=True", "call c2 input-complete '' UNSET -> UNSET", "result c1 complete '1' None"],
        ["call c1 complete '' UNSET -> 2 a1=True", "call c2 input-complete '' UNSET -> UNSET", "result c1 complete '2' None"],
    ]  # fmt: skip
    assert views[3][0].parts[1] is views[0][0].parts[1], "what has not changed is the same object"
