"""What an event costs, in calls of functions and in characters copied: the same in a long text as in a short one."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from tests.kit.conversations import Stage, args, asks, call, called, say, text, think
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.histories import TextHistory
from turnwire.messages.agui.messages import AguiToolCall, AssistantMessage, ToolMessage
from turnwire.messages.agui.more_events import AnyAguiEvent, MessagesSnapshot, StateDelta
from turnwire.messages.ui import ThinkingPart, UIMessage


def count_calls(act: Callable[[], object]) -> int:
    """Count the calls of Python and C functions that something takes: a measure that no other load can move."""
    calls = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls


def ignore(*_: object) -> None:
    """Be told, and do nothing."""


def look(messages: Sequence[UIMessage]) -> None:
    _ = messages[-1].parts[-1]


GROWING = """
import tracemalloc
from turnwire.actors.core.histories import TextHistory

grown = TextHistory()
for number in range(20_000):
    grown.append("word ", number)
    grown.text()  # CPython does it from some dozen times on
tracemalloc.start()
for number in range(20_000, 20_200):
    grown.append("word ", number)
    grown.text()
print(tracemalloc.get_traced_memory()[1] / len(grown.text()))
"""

LISTENERS: dict[str, ConversationCallbacks] = {
    "nobody": ConversationCallbacks(),
    "views": ConversationCallbacks(on_messages_change=len),
    "looks": ConversationCallbacks(on_messages_change=look),
    "texts": ConversationCallbacks(on_text_update=ignore, on_tool_call_state_change=ignore),
}


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("kind", ["text", "arguments", "partial"])
def test_an_event_in_a_long_text_takes_as_many_calls_as_in_a_short_one(listener: str, kind: str) -> None:
    def costs(size: int) -> float:
        options = ConversationOptions(partial_arguments=kind == "partial")
        machine = ConversationMachine(options, LISTENERS[listener])
        pieces: list[AnyAguiEvent] = say(*["word "] * size) if kind == "text" else args(*['"ab",'] * size)
        if kind != "text":
            pieces = [call(), *pieces]
        return count_calls(lambda: machine.process(pieces)) / size

    assert costs(3200) <= costs(200) * 1.05 + 0.1


def turn(number: int) -> list[AnyAguiEvent]:
    call_id = f"c{number}"
    return [
        *text("So ", "be ", "it."),
        call(call_id),
        *args("{}", call_id=call_id),
        called(call_id),
        asks(call_id, f"a{number}"),
    ]


def test_a_turn_in_a_long_conversation_takes_as_many_calls_as_in_a_short_one() -> None:
    """With late answers to messages that are done, and a listener that keeps the newest view."""
    kept: list[Sequence[UIMessage]] = [()]

    def keep(messages: Sequence[UIMessage]) -> None:
        kept[0] = messages

    machine = ConversationMachine(callbacks=ConversationCallbacks(on_messages_change=keep))

    def play(number: int) -> None:
        machine.add_message(UIMessage(id=f"u{number}", role="user"))
        machine.process(turn(number))
        machine.add_tool_approval_response(f"a{number}", approved=True)
        machine.process([called(f"c{number}", result="ok")])

    costs = {number: count_calls(lambda number=number: play(number)) for number in range(800)}  # type: ignore[misc]
    assert costs[799] <= costs[50] * 1.05
    assert costs[399] <= costs[50] * 1.05


def many_calls(size: int) -> list[AnyAguiEvent]:
    calls = (f"c{number}" for number in range(size))
    return [event for name in calls for event in (call(name), called(name), called(name, result="ok"))]


def many_texts(size: int) -> list[AnyAguiEvent]:
    return [event for number in range(size) for event in text("So ", "be it.", message_id=f"m{number}")]


def many_steps(size: int) -> list[AnyAguiEvent]:
    return [think("Hm. ", f"s{number}", signature="sealed") for number in range(size)]


@pytest.mark.parametrize("make", [many_calls, many_texts, many_steps])
def test_looking_at_a_message_of_many_parts_takes_as_many_calls_as_at_one_of_few(
    make: Callable[[int], list[AnyAguiEvent]],
) -> None:
    """With a listener that looks at every change: only what has changed is made again."""

    def costs(size: int) -> float:
        machine = ConversationMachine(callbacks=LISTENERS["looks"])
        events = make(size)

        def play(stream: Sequence[AnyAguiEvent]) -> None:
            for event in stream:
                machine.process_event(event)

        play(events[:-3])
        return count_calls(lambda: play(events[-3:]))

    assert costs(1600) == costs(16)


def test_thinking_that_is_sealed_grows_as_cheaply_as_any() -> None:
    """What was thought is not cut into its steps anew at every look: characters copied, not calls, are counted here."""
    machine = ConversationMachine(callbacks=LISTENERS["looks"])
    machine.process_event(think("a" * 100_000, "s1", signature="sealed"))
    machine.process_event(think("b", "s2"))
    before = machine.messages[0].parts[0]
    machine.process_event(think("b", "s2"))
    after = machine.messages[0].parts[0]
    assert isinstance(before, ThinkingPart)
    assert isinstance(after, ThinkingPart)
    assert after.provider_data is not None
    assert before.provider_data is not None
    assert after.provider_data["steps"][0] is before.provider_data["steps"][0]


def test_an_answer_in_a_message_of_many_calls_takes_as_many_calls_as_in_one_of_few() -> None:
    """Late ones, to a message that is done, among them."""

    def costs(size: int) -> float:
        machine = ConversationMachine(callbacks=LISTENERS["looks"])
        stream = [event for number in range(size) for event in (call(f"c{number}"), asks(f"c{number}", f"a{number}"))]
        machine.process(stream)
        machine.add_tool_approval_response("a0", approved=True)  # the first one opens the message again
        machine.add_tool_result("c0", "ok")

        def answer() -> None:
            machine.add_tool_approval_response("a9", approved=True)
            machine.add_tool_result("c9", "ok")

        return count_calls(answer)

    assert costs(1600) == costs(16)


def test_a_patch_of_a_large_state_takes_as_many_calls_as_of_a_small_one() -> None:
    def costs(size: int) -> float:
        machine = ConversationMachine(state={"entries": [{"a": 1}] * size, "text": ""})
        patch = ({"op": "replace", "path": "/text", "value": "x"}, {"op": "add", "path": "/entries/-", "value": 1})
        return count_calls(lambda: machine.process_event(StateDelta(delta=patch)))

    assert costs(16_000) == costs(16)


def test_a_call_in_a_large_snapshot_takes_as_many_calls_as_in_a_small_one() -> None:
    """And so does finding what was known of it before."""

    def costs(size: int) -> float:
        calls = tuple(AguiToolCall(id=f"c{number}", name="look", arguments="{}") for number in range(size))
        results = (ToolMessage(id=f"t{number}", tool_call_id=f"c{number}", content="ok") for number in range(size))
        snapshot = MessagesSnapshot(messages=(AssistantMessage(id="a", tool_calls=calls), *results))
        machine = ConversationMachine()
        machine.process_event(snapshot)
        return count_calls(lambda: machine.process_event(snapshot)) / size

    assert costs(1600) <= costs(100) * 1.05


def test_a_text_that_nobody_keeps_is_extended_in_place() -> None:
    """Asking for it after each piece does not copy it: there are never two of it at a time. CPython only.

    In a process of its own, because a tracer (coverage) switches off what CPython does here.
    """
    told = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, check=True)  # noqa: S603  # ourselves
    assert float(told.stdout) < 1.5


def test_a_text_can_be_read_as_it_was() -> None:
    grown = TextHistory()
    for number in range(5):
        grown.append(str(number), number * 10)
    assert [grown.at(moment) for moment in (-1, 0, 15, 40, 99)] == ["", "0", "01", "01234", "01234"]
    assert (grown.count, grown.pieces_from(3)) == (5, ["3", "4"])


def test_the_stage_can_tell_a_change_that_is_told_twice() -> None:
    """The check that every test of the rules leans on can fail."""
    stage = Stage()
    stage.listener.views.clear()
    with pytest.raises(AssertionError):
        stage.step(lambda: stage.listener.views.append(()))
