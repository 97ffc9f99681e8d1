"""The rules of a conversation beyond the catalogue: order, names, whose text it is, thinking."""

from tests.kit.conversations import (
    RUN,
    Stage,
    args,
    begin,
    briefs,
    call,
    called,
    end,
    failed,
    finished,
    say,
    text,
    think,
    under_every_strategy,
)
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.events import StepFinished, StepStarted
from turnwire.messages.agui.more_events import (
    ReasoningEncryptedValue,
    ReasoningMessageChunk,
    ReasoningMessageContent,
)
from turnwire.messages.ui import TextPart, ThinkingPart, ToolCallPart, UIMessage


def question(number: int = 1) -> UIMessage:
    return UIMessage(id=f"u{number}", role="user", parts=(TextPart(content="Why?"),))


@under_every_strategy
def test_text_that_thinking_interrupts_goes_on_after_it(strategy: str) -> None:
    """Parts stand in the order of the stream."""
    stage = Stage(strategy).play(RUN, begin(), say("One", " two"), think("Hm."), say(" three."))
    assert stage.parts == ["text 'One two'", "thinking 'Hm.'", "text ' three.'"]


@under_every_strategy
def test_thinking_that_was_there_before_does_not_cut_the_text(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, think("Hm."), begin(), say("One"), think(" Hm."), say(" two."))
    assert stage.parts == ["thinking 'Hm. Hm.'", "text 'One two.'"]


@under_every_strategy
def test_blocks_that_interleave_keep_the_order_of_the_stream(strategy: str) -> None:
    stage = Stage(strategy).play(
        RUN, begin("a"), begin("b"), say("1", message_id="a"), say("2", message_id="b"), say("3", message_id="a")
    )
    assert stage.parts == ["text '1'", "text '2'", "text '3'"]


@under_every_strategy
def test_a_message_of_white_space_is_removed_unless_the_run_failed(strategy: str) -> None:
    stage = Stage(strategy, messages=[question()]).play(RUN, text(" ", "\n"), finished())
    assert [message.id for message in stage.machine.messages] == ["u1"]
    assert stage.machine.result.content == " \n"
    assert stage.told[-1] == "end None"
    assert len(Stage(strategy).play(text(" ", "\n"), failed()).machine.messages) == 1
    assert len(Stage(strategy).play(text(" "), call()).machine.messages) == 1
    assert len(Stage(strategy).play(say("")).machine.messages) == 0


def test_the_id_of_a_removed_message_is_free_again() -> None:
    stage = Stage().play(text(" "))
    stage.play(text("x"))
    assert [message.id for message in stage.machine.messages] == ["msg-2"]
    for words in (" ", "y"):
        stage.machine.prepare_assistant_message("mine")
        stage.send(text(words))
        stage.machine.finalize()
    assert [message.id for message in stage.machine.messages] == ["msg-2", "mine"]


def test_a_stream_may_name_its_message_and_numbers_avoid_what_is_taken() -> None:
    machine = ConversationMachine(messages=[UIMessage(id="msg-1", role="user")])
    for wish in (None, "mine", "mine"):
        machine.prepare_assistant_message(wish)
        for event in text("x"):
            machine.process_event(event)
        machine.finalize()
    assert [message.id for message in machine.messages] == ["msg-1", "msg-2", "mine", "msg-3"]


def test_events_after_the_end_of_a_stream_begin_a_new_one() -> None:
    stage = Stage().play(text("one"))
    stage.send(text("two"))
    assert [briefs(message) for message in stage.machine.messages] == [["text 'one'"], ["text 'two'"]]
    assert stage.machine.result.content == "two"


def test_text_of_others_is_a_message_of_theirs_and_comes_whole() -> None:
    """AG-UI 1.0 may stream a user's or the system's words; they are no part of the answer."""
    stage = Stage().play(
        begin("u", role="user"),
        say("Why", "?", message_id="u"),
        end("u"),
        text("So."),
        begin("d", role="developer"),
        say("Be brief", message_id="d"),
    )
    assert [(message.id, message.role, briefs(message)) for message in stage.machine.messages] == [
        ("u", "user", ["text 'Why?'"]),
        ("msg-1", "assistant", ["text 'So.'"]),
        ("d", "developer", ["text 'Be brief'"]),
    ]
    assert stage.machine.result.content == "So."


def test_what_others_say_behind_their_end_is_never_the_assistants() -> None:
    """It is a message of theirs again, under another id; and an id may change hands with a new start."""
    stage = Stage().play(
        begin("u", role="user"),
        say("Why", message_id="u"),
        end("u"),
        say(" though", message_id="u"),
        text("So."),
        begin("u"),
        say("Because.", message_id="u"),
    )
    assert [(message.id, message.role, briefs(message)) for message in stage.machine.messages] == [
        ("u", "user", ["text 'Why'"]),
        ("msg-1", "assistant", ["text 'So.'", "text 'Because.'"]),
        ("msg-2", "user", ["text ' though'"]),
    ]
    assert stage.machine.result.content == "So.Because."


def test_a_cut_surrogate_pair_is_joined_again() -> None:
    stage = Stage().play(RUN, text("a\ud83d", "\ude00b", "\ud83d"), think("\ud83d"), think("\ude00"))
    assert stage.parts == ["text 'a😀b\ufffd'", "thinking '😀'"]
    assert stage.machine.result.content == "a😀b\ufffd"


def test_halves_that_nothing_follows_become_the_replacement_character() -> None:
    stage = Stage().play(think("a\ud83d"), call(), args('{"x": "\ud83d', '\ude00\ud83d"}'))
    assert stage.parts == [
        "thinking 'a\ufffd'",
        "call c1 input-complete '{\"x\": \"😀\ufffd\"}' {'x': '😀\ufffd'} -> UNSET",
    ]
    assert stage.machine.result.thinking == "a\ufffd"
    assert stage.machine.is_done


def test_created_at_is_the_time_of_the_event_that_made_the_message() -> None:
    stage = Stage().play(
        begin(), structure_agui({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "timestamp": 17})
    )
    assert stage.machine.messages[0].created_at == 17


def test_signatures_are_kept_by_step_with_the_text_they_seal() -> None:
    stage = Stage().play(
        think("one", "s1"), think("", "s1", signature="sig1"), think("two", "s2"), think("!", "s2", signature="sig2")
    )
    (part,) = stage.machine.messages[0].parts
    assert isinstance(part, ThinkingPart)
    assert (part.content, part.provider_data) == (
        "onetwo!",
        {
            "steps": [
                {"stepId": "s1", "content": "one", "signature": "sig1"},
                {"stepId": "s2", "content": "two!", "signature": "sig2"},
            ]
        },
    )


def test_each_step_may_have_a_part_of_its_own() -> None:
    stage = Stage(options={"thinking": "step"}).play(
        think("a", "s1"), text("T"), think("b", "s2", signature="sig"), think("c", "s1")
    )
    first, _, last = stage.machine.messages[0].parts
    assert first == ThinkingPart(content="ac", step_id="s1")
    assert isinstance(last, ThinkingPart)
    assert (last.content, last.step_id) == ("b", "s2")
    assert last.provider_data == {"steps": [{"stepId": "s2", "content": "b", "signature": "sig"}]}
    assert stage.machine.result.thinking == "abc"
    assert [line for line in stage.told if line.startswith("thinking")] == [
        "thinking msg-1 a",
        "thinking msg-1 b",
        "thinking msg-1 ac",
    ]


def test_a_step_that_only_has_a_name_is_no_thinking() -> None:
    """AG-UI 1.0 marks steps of a run with these two; they make no message."""
    stage = Stage().play(StepStarted(step_id="plan"), StepFinished(step_id="plan"))
    assert list(stage.machine.messages) == []


def test_a_step_without_delta_is_read_from_its_content() -> None:
    stage = Stage().play(StepFinished(step_id="s", content="ab"), StepFinished(step_id="s", content="abc"))
    assert stage.parts == ["thinking 'abc'"]


def test_reasoning_events_are_thinking() -> None:
    sealed = ReasoningEncryptedValue(subtype="message", entity_id="r1", encrypted_value="xyz")
    stage = Stage().play(
        structure_agui({"type": "REASONING_START", "messageId": "r1"}),
        structure_agui({"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"}),
        ReasoningMessageContent(message_id="r1", delta="Let me see"),
        structure_agui({"type": "REASONING_MESSAGE_END", "messageId": "r1"}),
        sealed,
        structure_agui({"type": "REASONING_END", "messageId": "r1"}),
        ReasoningMessageChunk(message_id="r2", delta=", "),
        ReasoningMessageChunk(delta="ok"),
    )
    (part,) = stage.machine.messages[0].parts
    assert isinstance(part, ThinkingPart)
    assert part.content == "Let me see, ok"
    assert part.provider_data == {
        "steps": [
            {"stepId": "r1", "content": "Let me see", "encryptedValue": "xyz"},
            {"stepId": "r2", "content": ", ok"},
        ]
    }


def test_encrypted_values_are_kept_with_what_they_belong_to() -> None:
    stage = Stage().play(
        ReasoningEncryptedValue(subtype="message", entity_id="x", encrypted_value="0"),
        call(),
        ReasoningEncryptedValue(subtype="tool-call", entity_id="c1", encrypted_value="1"),
        ReasoningEncryptedValue(subtype="message", entity_id="m9", encrypted_value="2"),
        ReasoningEncryptedValue(subtype="tool-call", entity_id="c9", encrypted_value="3"),
        called(result="ok"),
    )
    message = stage.machine.messages[0]
    assert isinstance(message.parts[0], ToolCallPart)
    assert message.parts[0].provider_data == {"encryptedValue": "1"}
    assert message.provider_data == {"encryptedValues": {"x": "0", "m9": "2", "c9": "3"}}
    assert stage.machine.counts == {}
    nothing = Stage().play(ReasoningEncryptedValue(subtype="message", entity_id="x", encrypted_value="0"))
    assert list(nothing.machine.messages) == []
    assert nothing.machine.counts == {"encrypted_values_of_nothing": 1}
