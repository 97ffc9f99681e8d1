"""The effect of each of AG-UI's 31 events, in the middle of a stream: on the messages, and on who is told what."""

from typing import Any

import pytest

from tests.kit.agui_events import ONE_OF_EACH
from tests.kit.conversations import Stage, briefs, call, say, think
from turnwire.messages.agui.codec import structure_agui

CALL = "call c awaiting-input '' UNSET -> UNSET"
BEFORE = ["thinking 'So'", CALL, "text 'Well'"]

EFFECTS: dict[str, tuple[list[str], list[str]]] = {
    "TEXT_MESSAGE_CONTENT": (["thinking 'So'", CALL, "text 'WellHi'"], ["text msg-1 WellHi"]),
    "TEXT_MESSAGE_CHUNK": (["thinking 'So'", CALL, "text 'Well'", "text 'Hi'"], ["text msg-1 Hi"]),
    "TOOL_CALL_ARGS": (
        ["thinking 'So'", "call c input-streaming '{' UNSET -> UNSET", "text 'Well'"],
        ["call msg-1 c input-streaming {"],
    ),
    "TOOL_CALL_CHUNK": (
        ["thinking 'So'", "call c input-streaming '{' UNSET -> UNSET", "text 'Well'"],
        ["call msg-1 c input-streaming {"],
    ),
    "TOOL_CALL_END": (
        ["thinking 'So'", "call c input-complete '' UNSET -> UNSET", "text 'Well'"],
        ["call msg-1 c input-complete "],
    ),
    "TOOL_CALL_RESULT": (
        ["thinking 'So'", "call c complete '' UNSET -> 'ok'", "text 'Well'", "result c complete 'ok' None"],
        ["call msg-1 c input-complete ", "call msg-1 c complete "],
    ),
    "RUN_FINISHED": (
        ["thinking 'So'", "call c input-complete '' UNSET -> UNSET", "text 'Well'"],
        ["call msg-1 c input-complete "],
    ),
    "RUN_ERROR": (BEFORE, ["error no (X)"]),
    "REASONING_MESSAGE_CONTENT": (["thinking 'SoHm'", CALL, "text 'Well'"], ["thinking msg-1 SoHm"]),
    "REASONING_MESSAGE_CHUNK": (["thinking 'SoHm'", CALL, "text 'Well'"], ["thinking msg-1 SoHm"]),
    "STATE_SNAPSHOT": (BEFORE, ["state {'a': None}"]),
    "STATE_DELTA": (BEFORE, ["state {'a': 1}"]),
    "CUSTOM": (BEFORE, ["custom mood [1]"]),
}
"""The parts after the event, and what was told of it. What is not here shows in neither."""


def stage_in_mid_stream() -> Stage:
    stage = Stage()
    stage.machine.process_event(structure_agui({"type": "STATE_SNAPSHOT", "snapshot": {}}))
    stage.send(think("So", "r"), call("c"), say("Well", message_id="m"))
    stage.listener.told.clear()
    return stage


@pytest.mark.parametrize("tag", [tag for tag in ONE_OF_EACH if tag != "MESSAGES_SNAPSHOT"])
def test_each_event_does_what_it_is_said_to_do_and_nothing_else(tag: str) -> None:
    """Most do nothing: the message is the same object as before, and nobody is told."""
    stage = stage_in_mid_stream()
    before = stage.machine.messages[0]
    views = len(stage.listener.views)
    wire: dict[str, Any] = {"type": tag, **ONE_OF_EACH[tag]}
    stage.send(structure_agui(wire))
    parts, told = EFFECTS.get(tag, (BEFORE, []))
    assert stage.parts == parts
    assert stage.told == told
    if parts == BEFORE and tag != "REASONING_ENCRYPTED_VALUE":
        assert stage.machine.messages[0] is before
        assert len(stage.listener.views) == views
    repeated = tag in ("TOOL_CALL_START", "TOOL_CALL_CHUNK")  # a chunk that names a call begins it
    assert stage.machine.counts == ({"repeated_tool_call_starts": 1} if repeated else {})


def test_an_encrypted_value_is_kept_with_its_call() -> None:
    stage = stage_in_mid_stream()
    stage.send(structure_agui({"type": "REASONING_ENCRYPTED_VALUE", **ONE_OF_EACH["REASONING_ENCRYPTED_VALUE"]}))
    assert stage.machine.messages[0].parts[1].provider_data == {"encryptedValue": "e"}


def test_a_messages_snapshot_takes_the_place_of_all() -> None:
    stage = stage_in_mid_stream()
    stage.send(structure_agui({"type": "MESSAGES_SNAPSHOT", **ONE_OF_EACH["MESSAGES_SNAPSHOT"]}))
    assert [(message.id, briefs(message)) for message in stage.machine.messages] == [
        ("1", ["text 'x'", "image https://x/y.png"]),
        ("2", ["text 'x'"]),
        ("3", ["text 'x'"]),
        ("5", ["thinking 'x'", "text 'x'", "call c error '{}' {} -> 'x'", "result c error 'x' 'no'"]),
    ]
    assert stage.told == []
    assert len(stage.listener.views) == 4
