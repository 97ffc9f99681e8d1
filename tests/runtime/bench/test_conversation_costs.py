"""The bench of conversations measures what it says, and what it measures does not grow."""

import json

import pytest

from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.ui import TextPart, ToolCallPart, ToolResultPart, UIMessage
from turnwire.runtime.bench import node_side
from turnwire.runtime.bench.conversation import Load, measure_conversations
from turnwire.runtime.bench.conversation_streams import Kind, make_conversation
from turnwire.runtime.bench.node_side import NodeCase, find_node, find_package, run_in_node
from turnwire.runtime.cli import bench
from turnwire.runtime.cli.main import main

SMALL = (
    Load(name="text", kind="text", sizes=(20, 40)),
    Load(name="shown", kind="arguments", sizes=(20,), partial=True),
    Load(name="turns", kind="turns", sizes=(2,)),
)


def shown(kind: Kind, size: int) -> list[UIMessage]:
    """Give what a conversation makes of a load."""
    machine = ConversationMachine()
    for each in make_conversation(kind, size):
        machine.process(structure_agui(event) for event in each.stream)
    return list(machine.messages)


def test_the_made_up_streams_are_real_ones() -> None:
    """A long text, a whole call with long arguments, turns with a text, an answered call and a text."""
    (text,) = shown("text", 50)
    assert [type(part) for part in text.parts] == [TextPart]
    (call,) = shown("arguments", 50)
    (part,) = call.parts
    assert isinstance(part, ToolCallPart)
    assert list(json.loads(part.arguments)) == ["path", "lines"]
    assert part.input == json.loads(part.arguments)
    turns = shown("turns", 3)
    assert [[type(part) for part in turn.parts] for turn in turns] == [
        [TextPart, ToolCallPart, ToolResultPart, TextPart]
    ] * 3


def test_without_node_there_are_only_our_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is said why."""
    monkeypatch.setattr(node_side, "find_node", lambda: None)
    costs = measure_conversations(loads=SMALL, repeats=1)
    assert [(row.name, row.size) for row in costs.rows] == [("text", 20), ("text", 40), ("shown", 20), ("turns", 2)]
    assert all(row.us_per_event > 0 and row.ratio is None for row in costs.rows)
    assert costs.note is not None
    assert "no node" in costs.note


def test_without_the_package_there_are_only_our_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is said how to get it."""
    monkeypatch.setattr(node_side, "find_node", lambda: "/bin/node")
    monkeypatch.setattr(node_side, "find_package", lambda: None)
    told, note = run_in_node([NodeCase.of("text", 5, False, 1)])
    assert told == [None]
    assert note is not None
    assert "npm install" in note


def test_the_other_side_is_measured_on_the_same_events() -> None:
    """Where Node and the package are there."""
    if find_node() is None or find_package() is None:
        pytest.skip("no node, or no @tanstack/ai in tests/node: the other side was not measured")
    told, note = run_in_node([NodeCase.of("turns", 2, True, 1), NodeCase.of("text", 20, False, 2)])
    assert note is None
    assert all(number is not None and number > 0 for number in told)


def test_the_table_and_the_json_say_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run each, printed both ways."""
    monkeypatch.setattr(bench, "LOADS", SMALL)
    monkeypatch.setattr(node_side, "find_package", lambda: None)
    args = ["bench", "--repeats", "1", "--only", "conversation"]
    assert main([*args, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["conversation"]
    assert [row["size"] for row in document["rows"]] == [20, 40, 20, 2]
    assert document["rows"][1]["growth"] > 0
    assert main(args) == 0
    assert "UIMessages" in capsys.readouterr().out
