"""What a run with kills has left in Redis, held against what the writer was told had arrived. Knows no turnwire code.

The writer's journal is a list of facts: `ack` (turn, event id, payload: the append returned), `sent` (turn, event id: the
raw log had it), `said` (turn, item, text: what an item was to end with), `ended` (turn). The logs are read with a plain client. Everything else follows.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

Fields: TypeAlias = Mapping[str, str]
LogEntry: TypeAlias = tuple[str, Fields]
"""Id and fields, as a plain client reads them."""
State: TypeAlias = dict[str, tuple[str, str]]
"""What a reader knows: item → status, content. The turn's own end stands under the empty name."""

FINAL = ("complete", "error")
TERMINAL = ("turn_complete", "turn_error")


@attrs.define
class Journal:
    """What one process wrote down, told apart."""

    acks: dict[str, list[tuple[str, str]]] = attrs.field(factory=lambda: defaultdict[str, list[tuple[str, str]]](list))
    ack_times: list[float] = attrs.field(factory=list[float])
    sent: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict[str, list[str]](list))
    said: dict[str, dict[str, str]] = attrs.field(factory=lambda: defaultdict[str, dict[str, str]](dict))
    ended: list[str] = attrs.field(factory=list[str])
    counts: list[tuple[float, dict[str, int]]] = attrs.field(factory=list[tuple[float, dict[str, int]]])
    seen: dict[str, State] = attrs.field(factory=dict[str, State])
    disorder: int = 0
    rewound: int = 0

    @property
    def acknowledged(self) -> int:
        """How many emissions were acknowledged."""
        return sum(map(len, self.acks.values()))


def read_journal(path: Path) -> Journal:
    """Read a writer's or a reader's journal."""
    journal = Journal()
    for line in path.read_text().splitlines():
        kind, at, *fact = json.loads(line)
        if kind == "ack":
            journal.acks[fact[0]].append((fact[1], fact[2]))
            journal.ack_times.append(at)
        elif kind == "sent":
            journal.sent[fact[0]].append(fact[1])
        elif kind == "said":
            journal.said[fact[0]][fact[1]] = fact[2]
        elif kind == "ended":
            journal.ended.append(fact[0])
        elif kind == "counts":
            journal.counts.append((at, fact[0]))
        elif kind == "seen":
            journal.seen[fact[0]] = {item: (status, text) for item, (status, text) in fact[1].items()}
            journal.disorder += fact[2]
            journal.rewound += fact[3]
    return journal


@attrs.define
class Verdict:
    """What is wrong, by what it is; nothing, if all is well."""

    faults: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict[str, list[str]](list))

    def blame(self, kind: str, *what: str) -> None:
        """Note a fault, once per thing that has it."""
        self.faults[kind].extend(what)

    def count(self, kind: str) -> int:
        """How many things have this fault."""
        return len(self.faults.get(kind, ()))

    def __bool__(self) -> bool:
        return not any(self.faults.values())

    def __str__(self) -> str:
        kinds = (f"{len(what)} {kind} ({', '.join(what[:3])})" for kind, what in self.faults.items() if what)
        return "; ".join(kinds) or "nothing is wrong"


def judge(logs: Mapping[str, Sequence[LogEntry]], writer: Journal, reader: Journal | None = None) -> Verdict:
    """Compare each turn's log with the journals."""
    verdict = Verdict()
    for turn in set(logs) | set(writer.acks):
        entries = [entry for entry in logs.get(turn, ()) if "fence" not in entry[1]]
        _judge_form(turn, logs.get(turn, ()), entries, verdict)
        _judge_entries(turn, entries, writer.acks.get(turn, []), verdict)
        state = fold(fields["payload"] for _, fields in entries)
        _judge_ends(turn, state, writer, verdict)
        if reader is not None and reader.seen.get(turn) != state:
            verdict.blame("read wrong", turn)
    if reader is not None and reader.disorder:
        verdict.blame("read out of order", *["an entry"] * reader.disorder)
    return verdict


def judge_raw(logs: Mapping[str, Sequence[str]], writer: Journal, verdict: Verdict) -> None:
    """Compare the event ids in each raw log with those that were sent. One that is there twice is no fault."""
    for turn in set(logs) | set(writer.sent):
        there, sent = dict.fromkeys(logs.get(turn, ())), dict.fromkeys(writer.sent.get(turn, ()))
        verdict.blame("raw events lost", *(name for name in sent if name not in there))
        verdict.blame("raw events never sent", *(name for name in there if name not in sent))
        if [name for name in there if name in sent] != [name for name in sent if name in there]:
            verdict.blame("raw events out of order", turn)


def fold(payloads: Iterable[str]) -> State:
    """Give what a reader of these payloads knows at the end."""
    state: State = {}
    for payload in payloads:
        learn(state, json.loads(payload))
    return state


def learn(state: State, output: Mapping[str, Any]) -> None:
    """Take one output in."""
    if "itemId" in output:
        state[output["itemId"]] = (output["status"], output["content"])
    elif output["type"] in TERMINAL:
        state[""] = (output["type"], "")


def _judge_form(turn: str, everything: Sequence[LogEntry], entries: Sequence[LogEntry], verdict: Verdict) -> None:
    """Is the log in itself what a log must be: ascending ids, nothing twice, nothing after an end?"""
    ids = [tuple(map(int, entry_id.split("-"))) for entry_id, _ in everything]
    if ids != sorted(set(ids)):
        verdict.blame("ids not ascending", turn)
    names = [fields["eventId"] for _, fields in entries]
    verdict.blame(
        "repeated", *{name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    )
    verdict.blame(
        "under a wrong id",
        *(name for (entry_id, _), name in zip(entries, names, strict=True) if name != f"{turn}:{entry_id}"),
    )
    finals: set[str] = set()
    for position, (entry_id, fields) in enumerate(entries):
        output = json.loads(fields["payload"])
        item = output.get("itemId", "")
        if item in finals and item:
            verdict.blame("said after its final state", f"{turn} {entry_id}")
        if item and output["status"] in FINAL:
            finals.add(item)
        if output["type"] in TERMINAL and position != len(entries) - 1:
            verdict.blame("said after the end", f"{turn} {entry_id}")


def _judge_entries(turn: str, entries: Sequence[LogEntry], acks: Sequence[tuple[str, str]], verdict: Verdict) -> None:
    """Are the entries exactly those that were acknowledged, in the order in which they were?"""
    there = {fields["eventId"]: fields["payload"] for _, fields in entries}  # in order, repeats at their first place
    known = dict(acks)
    verdict.blame("lost", *(name for name in known if name not in there))
    verdict.blame("changed", *(name for name in known if there.get(name, known[name]) != known[name]))
    verdict.blame("never acknowledged", *(name for name in there if name not in known))
    wrong = [name for name in known if there.get(name) != known[name]]
    verdict.blame("final states lost", *(name for name in wrong if json.loads(known[name]).get("status") in FINAL))
    if [name for name in there if name in known] != [name for name in known if name in there]:
        verdict.blame("out of order", turn)


def _judge_ends(turn: str, state: State, writer: Journal, verdict: Verdict) -> None:
    """Has every item ended with the text it was to end with, and the turn with it?"""
    for item, text in writer.said.get(turn, {}).items():
        if state.get(item) != ("complete", text):
            verdict.blame("ended wrong", f"{turn} {item}")
    if turn in writer.ended and "" not in state:
        verdict.blame("without an end", turn)
