"""Judge dumps of logs: `python -m turnwire.runtime.check [FILE ...]`, or from standard input.

Each line is one finished turn: {"turn_id", "thread_id"?, "events": [[entry id, event JSON], ...],
"entries": [[entry id, eventId, timestamp, turnId, payload], ...]}; a fence is an entry with its id alone. Violations go
to standard output, one a line. Exit 0: none; 1: some; 2: a file is no such dump.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnwire.messages.json_text import parse_json
from turnwire.runtime.check import OutputEntry, RawEvent, judge


def main(arguments: Sequence[str]) -> int:
    """Judge all turns of these files and give the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    try:
        lines = _lines(arguments)
    except (OSError, UnicodeDecodeError) as exc:
        print(exc, file=sys.stderr)
        return 2
    turns = violations = 0
    for number, line in enumerate(lines, 1):
        try:
            turn: Any = parse_json(line)
            events = [RawEvent(*raw) for raw in turn["events"]]
            entries = [OutputEntry(*entry) for entry in turn["entries"]]
            found = judge(turn["turn_id"], events, entries, thread_id=turn.get("thread_id"))
        except (ValueError, TypeError, KeyError) as exc:
            print(f"line {number} is no dump of a turn: {exc!r}", file=sys.stderr)
            return 2
        turns += 1
        violations += len(found)
        for violation in found:
            print(violation)
    print(f"{turns} turns, {violations} violations", file=sys.stderr)
    return 1 if violations else 0


def _lines(files: Sequence[str]) -> list[str]:
    texts = [Path(file).read_text(encoding="utf-8") for file in files] if files else [sys.stdin.read()]
    return [line for text in texts for line in text.split("\n") if line.strip()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
