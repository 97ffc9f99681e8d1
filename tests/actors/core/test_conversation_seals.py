"""What providers seal is kept with the part that it belongs to, and with its place."""

from typing import Any

from turnwire.actors.core.chunking import EveryN
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationOptions
from turnwire.messages.agui.events import (
    StepFinished,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallEnd,
    ToolCallStart,
)
from turnwire.messages.agui.more_events import (
    AnyAguiEvent,
    ReasoningEncryptedValue,
    ReasoningMessageContent,
    ReasoningMessageStart,
)
from turnwire.messages.dialects.agui_words import ANNOTATIONS, ORIGIN, PROVIDER_DATA
from turnwire.messages.ui import Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

SEAL = {"format": "f", "block": {"x": 1}}


def shown(*events: AnyAguiEvent, **options: Any) -> tuple[Part, ...]:
    machine = ConversationMachine(ConversationOptions(**options))
    machine.process(events)
    return machine.messages[0].parts


def test_a_text_keeps_its_data_and_annotations() -> None:
    """They come with its end; a view that was taken before does not have them."""
    machine = ConversationMachine()
    machine.process_event(TextMessageStart(message_id="m"))
    machine.process_event(TextMessageContent(message_id="m", delta="Hi"))
    before = machine.messages
    machine.process_event(TextMessageEnd(message_id="m", metadata={PROVIDER_DATA: SEAL, ANNOTATIONS: [1]}))
    assert machine.messages[0].parts == (TextPart(content="Hi", provider_data={**SEAL, "annotations": [1]}),)
    assert before[0].parts == (TextPart(content="Hi"),)


def test_data_of_a_text_without_text_is_not_lost() -> None:
    """An empty part carries it, and keeps its message from counting as blank."""
    parts = shown(TextMessageStart(message_id="m"), TextMessageEnd(message_id="m", metadata={PROVIDER_DATA: SEAL}))
    assert parts == (TextPart(content="", provider_data=SEAL),)


def test_the_end_of_another_text_says_nothing_of_this_one() -> None:
    """Data goes by the message's id."""
    parts = shown(
        TextMessageContent(message_id="m", delta="Hi"), TextMessageEnd(message_id="n", metadata={PROVIDER_DATA: SEAL})
    )
    assert parts == (TextPart(content="Hi"),)


def test_a_call_and_its_result_keep_their_data() -> None:
    """Who ran the tool, too."""
    call, result = shown(
        ToolCallStart(tool_call_id="c", tool_name="f", metadata={ORIGIN: "provider"}),
        ToolCallEnd(tool_call_id="c", metadata={PROVIDER_DATA: SEAL}),
        ToolCallEnd(tool_call_id="c", result="4", metadata={PROVIDER_DATA: {"format": "f"}}),
    )
    assert isinstance(call, ToolCallPart)
    assert call.provider_data == {**SEAL, "origin": "provider"}
    assert isinstance(result, ToolResultPart)
    assert result.provider_data == {"format": "f"}


THOUGHTS = (
    StepFinished(step_id="1", delta="A"),
    StepFinished(step_id="1", delta="", metadata={PROVIDER_DATA: SEAL}),
    StepFinished(step_id="2", delta="B"),
    TextMessageContent(message_id="m", delta="said"),
    StepFinished(step_id="3", delta="C"),
    StepFinished(step_id="4", delta="D"),
)


def test_a_step_keeps_its_data_and_its_place() -> None:
    """`at` is how many parts stood before it; a step right behind the first names none."""
    thinking, text = shown(*THOUGHTS)
    assert isinstance(thinking, ThinkingPart)
    assert text == TextPart(content="said")
    assert thinking.provider_data == {
        "steps": [
            {"stepId": "1", "content": "A", "providerData": SEAL},
            {"stepId": "2", "content": "B"},
            {"stepId": "3", "content": "C", "at": 2},
            {"stepId": "4", "content": "D", "at": 2},
        ]
    }


def test_text_that_waits_is_shown_before_a_later_step() -> None:
    """Else the step's place would be one too low."""
    thinking, _ = shown(*THOUGHTS, strategy=EveryN(50))
    assert isinstance(thinking, ThinkingPart)
    assert thinking.provider_data is not None
    assert [step.get("at") for step in thinking.provider_data["steps"]] == [None, None, 2, 2]


OURS = '{"format":"f","block":{"x":1}}'


def value(entity_id: str, text: str = OURS) -> ReasoningEncryptedValue:
    return ReasoningEncryptedValue(subtype="message", entity_id=entity_id, encrypted_value=text)


def test_the_end_of_a_text_that_others_came_behind_still_finds_it() -> None:
    """Blocks may interleave."""
    parts = shown(
        TextMessageContent(message_id="m", delta="Hi"),
        TextMessageContent(message_id="n", delta="Ho"),
        TextMessageEnd(message_id="m", metadata={PROVIDER_DATA: SEAL}),
        TextMessageContent(message_id="n", delta="!"),
    )
    assert parts == (TextPart(content="Hi", provider_data=SEAL), TextPart(content="Ho!"))


def test_our_data_is_the_same_whichever_dialect_carried_it() -> None:
    """AG-UI 1.0 has an event for sealed values: of a text, of a thought, of a thought or a text that shows nothing."""
    parts = shown(
        ReasoningMessageStart(message_id="r"),
        value("r"),
        ReasoningMessageStart(message_id="s"),
        ReasoningMessageContent(message_id="s", delta="Hm"),
        value("s"),
        TextMessageStart(message_id="m"),
        TextMessageContent(message_id="m", delta="Hi"),
        value("m"),
        TextMessageEnd(message_id="m", metadata={ANNOTATIONS: [1]}),
        TextMessageStart(message_id="n"),
        value("n"),
        TextMessageEnd(message_id="n"),
    )
    steps = [
        {"stepId": "r", "content": "", "providerData": SEAL},
        {"stepId": "s", "content": "Hm", "providerData": SEAL},
    ]
    assert parts == (
        ThinkingPart(content="Hm", provider_data={"steps": steps}),
        TextPart(content="Hi", provider_data={**SEAL, "annotations": [1]}),
        TextPart(content="", provider_data=SEAL),
    )


def test_a_value_that_somebody_else_sealed_stays_shut() -> None:
    text, thinking = shown(
        TextMessageContent(message_id="m", delta="Hi"),
        value("m", "c2VjcmV0"),
        ReasoningMessageStart(message_id="r"),
        value("r", "c2VjcmV0"),
    )
    assert text.provider_data == {"encryptedValue": "c2VjcmV0"}
    assert thinking.provider_data == {"steps": [{"stepId": "r", "content": "", "encryptedValue": "c2VjcmV0"}]}
