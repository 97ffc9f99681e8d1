"""The judge of the runs with kills sees each thing that can be wrong. One that sees nothing would acquit everybody."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.chaos.journal import JournalFile
from tests.chaos.judge import Journal, LogEntry, Verdict, judge, judge_raw, read_journal

Logs: TypeAlias = dict[str, list[LogEntry]]


def message(status: str, content: str, item: str = "m") -> str:
    return json.dumps({"type": "message", "itemId": item, "status": status, "content": content})


PAYLOADS = (
    json.dumps({"type": "turn_started"}),
    message("create", "Hel"),
    message("complete", "Hello"),
    json.dumps({"type": "turn_complete"}),
)


def entry(number: int, payload: str) -> LogEntry:
    return f"1-{number}", {"eventId": f"t:1-{number}", "payload": payload}


def good_logs() -> Logs:
    return {"t": [("1-0", {"fence": "me"}), *(entry(number, payload) for number, payload in enumerate(PAYLOADS, 1))]}


@pytest.fixture
def writer(tmp_path: Path) -> Journal:
    """A writer that was told that all of it arrived."""
    journal = JournalFile(tmp_path / "writer")
    for number, payload in enumerate(PAYLOADS, 1):
        journal.note("ack", "t", f"t:1-{number}", payload)
    journal.note("said", "t", "m", "Hello")
    journal.note("ended", "t")
    journal.note("counts", {"healed": 2})
    journal.close()
    return read_journal(tmp_path / "writer")


def reader(state: dict[str, tuple[str, str]], disorder: int = 0) -> Journal:
    return Journal(seen={"t": state}, disorder=disorder)


END = {"m": ("complete", "Hello"), "": ("turn_complete", "")}


def test_what_is_right_is_acquitted(writer: Journal) -> None:
    """Fences are nobody's business."""
    verdict = judge(good_logs(), writer, reader(END))
    assert verdict
    assert str(verdict) == "nothing is wrong"
    assert writer.acknowledged == 4
    assert writer.counts[-1][1] == {"healed": 2}


def lose_the_end(logs: Logs) -> None:
    del logs["t"][3:]


def lose_one(logs: Logs) -> None:
    del logs["t"][2]


def lose_the_turn(logs: Logs) -> None:
    del logs["t"]


def repeat_under_a_new_id(logs: Logs) -> None:
    logs["t"].append(("1-5", logs["t"][4][1]))


def say_it_twice(logs: Logs) -> None:
    logs["t"].insert(4, logs["t"][3])


def swap(logs: Logs) -> None:
    logs["t"][1], logs["t"][2] = logs["t"][2], logs["t"][1]


def change(logs: Logs) -> None:
    logs["t"][3] = entry(3, message("complete", "Hell"))


def add_a_stranger(logs: Logs) -> None:
    logs["t"].insert(1, ("1-0", {"eventId": "t:1-0", "payload": message("create", "")}))


@pytest.mark.parametrize(
    ("spoil", "kinds"),
    [
        (lose_the_end, {"lost", "final states lost", "ended wrong", "without an end"}),
        (lose_one, {"lost"}),
        (lose_the_turn, {"lost", "final states lost", "ended wrong", "without an end"}),
        (repeat_under_a_new_id, {"repeated", "under a wrong id", "said after the end"}),
        (say_it_twice, {"repeated", "said after its final state", "ids not ascending"}),
        (swap, {"ids not ascending", "out of order"}),
        (change, {"changed", "final states lost", "ended wrong"}),
        (add_a_stranger, {"never acknowledged", "ids not ascending"}),
    ],
)
def test_what_is_wrong_is_named(writer: Journal, spoil: Callable[[Logs], None], kinds: set[str]) -> None:
    """Each fault by its name, and no more faults than there are."""
    logs = good_logs()
    spoil(logs)
    verdict = judge(logs, writer)
    assert not verdict
    assert {kind for kind, what in verdict.faults.items() if what} == kinds
    assert all(kind in str(verdict) for kind in kinds)


def test_a_reader_who_ends_up_with_something_else_is_seen(writer: Journal) -> None:
    """Or who never came to the end, or read things in another order."""
    assert judge(good_logs(), writer, reader({**END, "m": ("create", "Hel")})).count("read wrong") == 1
    assert judge(good_logs(), writer, Journal()).count("read wrong") == 1
    assert judge(good_logs(), writer, reader(END, disorder=2)).count("read out of order") == 2


@pytest.mark.parametrize(
    ("there", "kinds"),
    [
        (["a", "b", "c"], set[str]()),
        (["a", "b", "b", "a", "c"], set[str]()),
        (["a", "b"], {"raw events lost"}),
        ([], {"raw events lost"}),
        (["a", "c", "b"], {"raw events out of order"}),
        (["a", "b", "x", "c"], {"raw events never sent"}),
    ],
)
def test_raw_events_may_come_twice_but_not_be_missing(there: list[str], kinds: set[str]) -> None:
    """Whoever folds them drops repeats; nobody can make up what is gone."""
    verdict = Verdict()
    judge_raw({"t": there}, Journal(sent={"t": ["a", "b", "c"]}), verdict)
    assert {kind for kind, what in verdict.faults.items() if what} == kinds
