"""The entries of log B as such: their ids, their owners and their envelopes, whatever they say."""

import re
from collections.abc import Sequence

from turnwire.runtime.check.violation import OutputEntry, Violation

_ID = re.compile(r"(?P<epoch>[1-9][0-9]*)-(?P<seq>0|[1-9][0-9]*)")


def check_envelopes(turn_id: str, entries: Sequence[OutputEntry]) -> list[Violation]:
    """Give everything that is wrong with ids, epochs and envelopes."""
    found: list[Violation] = []
    newest = (0, -1)
    seen: dict[str, str] = {}
    for entry in entries:
        place = _ID.fullmatch(entry.entry)
        if place is None:
            found.append(Violation(turn_id, entry.entry, "ids", "is no <epoch>-<seq>"))
            continue
        here = (int(place["epoch"]), int(place["seq"]))
        found += _check_place(turn_id, entry, newest, here)
        newest = max(newest, here)
        if not entry.is_fence:
            found += _check_envelope(turn_id, entry, seen)
            seen.setdefault(entry.event_id or "", entry.entry)
    return found


def _check_place(turn_id: str, entry: OutputEntry, newest: tuple[int, int], here: tuple[int, int]) -> list[Violation]:
    epoch, seq = here
    if epoch < newest[0]:
        problem = f"of owner {epoch}, after owner {newest[0]} has taken the turn over"
        return [Violation(turn_id, entry.entry, "epochs", problem)]
    if here <= newest:
        return [Violation(turn_id, entry.entry, "ids", f"is not greater than {newest[0]}-{newest[1]} before it")]
    if entry.is_fence != (seq == 0):
        return [Violation(turn_id, entry.entry, "ids", "a fence, and nothing else, has the number 0")]
    expected = newest[1] + 1 if epoch == newest[0] else 1
    if seq not in (0, expected):
        return [
            Violation(turn_id, entry.entry, "ids", f"follows on {newest[0]}-{newest[1]}; {epoch}-{expected} is missing")
        ]
    return []


def _check_envelope(turn_id: str, entry: OutputEntry, seen: dict[str, str]) -> list[Violation]:
    found: list[Violation] = []
    if entry.event_id in seen:
        found.append(
            Violation(turn_id, entry.entry, "repeated", f"eventId {entry.event_id} is that of {seen[entry.event_id]}")
        )
    elif entry.event_id != f"{turn_id}:{entry.entry}":
        found.append(Violation(turn_id, entry.entry, "ids", f"eventId is {entry.event_id!r}"))
    if entry.turn_id != turn_id:
        found.append(Violation(turn_id, entry.entry, "envelope", f"turnId is {entry.turn_id!r}"))
    if entry.timestamp is None or entry.timestamp < 0:
        found.append(Violation(turn_id, entry.entry, "envelope", f"timestamp is {entry.timestamp!r}"))
    if entry.payload is None:
        found.append(Violation(turn_id, entry.entry, "envelope", "has no payload"))
    return found
