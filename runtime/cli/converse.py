"""Read AG-UI events as JSON lines and write the conversation that they make: {"messages": [...], "result": {...}}.

The client's answers are lines too, in their place in the stream: {"type": "CLIENT_TOOL_RESULT", "toolCallId", "output",
"error"?} and {"type": "CLIENT_APPROVAL", "approvalId", "approved"}. CLIENT_MESSAGE {"message"} adds a message, and
CLIENT_STREAM_END begins another stream. A recording ({"at", "event"} lines) is read as well.

With --watch each change is a line as soon as it is there: {"message"} (its whole new state), {"removed"} (an id),
{"messages"} (all of them were replaced), {"state"}, and at the end {"result"}.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from turnwire.actors.core.chunking import parse_strategy
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationOptions
from turnwire.messages.agui.client_lines import structure_line
from turnwire.messages.errors import TurnwireError
from turnwire.messages.json_shapes import is_object
from turnwire.messages.json_text import dump_json
from turnwire.messages.ui_changes import (
    ConversationChange,
    MessageChanged,
    MessageRemoved,
    MessagesReplaced,
    StateChanged,
)
from turnwire.messages.ui_codec import unstructure_result, unstructure_ui_message, unstructure_ui_messages
from turnwire.messages.wire import parse_document
from turnwire.runtime.cli.lines import Complaints, open_input, reason_of, write_out
from turnwire.runtime.record import apply_line

NAME = "converse"
SUMMARY = "AG-UI events in, UIMessages out"
EXAMPLE = "turnwire converse --watch --strategy punctuation events.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="JSON lines of AG-UI events (standard input)")
    parser.add_argument("--watch", action="store_true", help="print each change as a line, as it comes")
    parser.add_argument(
        "--strategy",
        default="immediate",
        help="when text is shown: immediate, punctuation, word, every:N, or several with commas between (immediate)",
    )
    parser.add_argument(
        "--states", choices=("full", "classic"), default="full", help="classic: answered calls stay input-complete"
    )


def run(args: argparse.Namespace) -> int:
    """Read all input; 1 if some of it was bad, 2 if an option is."""
    try:
        options = ConversationOptions(strategy=parse_strategy(args.strategy), states=args.states)
        source = open_input(args.file)
    except (ValueError, OSError) as exc:
        print(f"turnwire converse: {reason_of(exc)}", file=sys.stderr)
        return 2
    machine, complaints = ConversationMachine(options), Complaints()
    with source:
        for _ in _read(source, machine, complaints):
            if args.watch:
                _write_changes(machine)
    was_bad = complaints.end()
    result = machine.finalize()
    document = {"result": unstructure_result(result)}
    if args.watch:
        _write_changes(machine)
        _write(document)
    else:
        _write({"messages": unstructure_ui_messages(machine.messages), **document})
    return 1 if was_bad else 0


def _read(source: BinaryIO, machine: ConversationMachine, complaints: Complaints) -> Iterator[None]:
    """Take the lines in, one by one; a bad one is named and skipped."""
    for number, line in enumerate(source, 1):
        if line.strip():
            try:
                apply_line(machine, structure_line(_unwrap(parse_document(line))))
            except (TurnwireError, ValueError) as exc:
                complaints.add(number, exc)
            yield


def _unwrap(document: object) -> object:
    """Give the event of a recording's line; any other line is its own."""
    if is_object(document) and "at" in document and "type" not in document:
        return cast("object", document.get("event"))
    return document


def _write_changes(machine: ConversationMachine) -> None:
    for change in machine.take_changes():
        _write(_unstructure(change))


def _unstructure(change: ConversationChange) -> dict[str, Any]:
    match change:
        case MessageChanged():
            return {"message": unstructure_ui_message(change.message)}
        case MessageRemoved():
            return {"removed": change.message_id}
        case MessagesReplaced():
            return {"messages": unstructure_ui_messages(change.messages)}
        case StateChanged():
            return {"state": change.state}


def _write(document: dict[str, Any]) -> None:
    write_out(dump_json(document) + b"\n")
