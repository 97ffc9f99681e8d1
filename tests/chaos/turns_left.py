"""What a run with workers has left in Redis, read with a plain client and put before the independent checker."""

import json
from collections import Counter
from pathlib import Path

import attrs

from tests.kit.servers import plain_client
from turnwire.runtime.check import OutputEntry, RawEvent, Violation, judge


@attrs.define
class Published:
    """What the producer was told had arrived."""

    announced: set[str] = attrs.field(factory=set[str])
    ended: set[str] = attrs.field(factory=set[str])
    events: dict[str, list[str]] = attrs.field(factory=dict[str, list[str]])
    healed: int = 0


def read_published(path: Path) -> Published:
    """Read the producer's journal."""
    published = Published()
    for line in path.read_text().splitlines():
        kind, _, *fact = json.loads(line)
        if kind == "announced":
            published.announced.add(fact[0])
        elif kind == "ended":
            published.ended.add(fact[0])
        elif kind == "published":
            published.events.setdefault(fact[0], []).extend(fact[1])
        elif kind == "counts":
            published.healed = fact[0]["healed"]
    return published


@attrs.define
class Verdict:
    """What is wrong; nothing, if all is well."""

    turns: int = 0
    entries: int = 0
    taken_over: int = 0
    """How often turns changed hands."""
    violations: list[Violation] = attrs.field(factory=list[Violation])
    events_lost: list[str] = attrs.field(factory=list[str])
    """Events that were acknowledged and are not in log A."""
    left_in_queue: int = 0

    def __bool__(self) -> bool:
        return not (self.violations or self.events_lost or self.left_in_queue)

    def __str__(self) -> str:
        rules = Counter(violation.rule for violation in self.violations)
        without_end = sum(
            violation.rule == "terminal" and violation.problem == "there is none" for violation in self.violations
        )
        counted = (
            f"{self.turns:,} turns, {self.entries:,} entries, {self.taken_over:,} takeovers: final states lost "
            f"{rules['lost'] + rules['wrong']}, repeated {rules['repeated'] + rules['statuses']}, out of order "
            f"{rules['order'] + rules['ids']}, from an old owner {rules['epochs']}, without a terminal {without_end}, "
            f"with a wrong one {rules['terminal'] - without_end}, events lost {len(self.events_lost)}"
        )
        if self:
            return f"{counted}: OK"
        examples = "; ".join(map(str, [*self.violations[:3], *self.events_lost[:3]]))
        return f"{counted}, left in the queue {self.left_in_queue}: FAILED: {examples}"


def judge_turns(url: str, prefix: str, published: Published) -> Verdict:
    """Judge every turn that was announced."""
    client = plain_client(url, decode_responses=True)
    verdict = Verdict(left_in_queue=client.xlen(f"{prefix}:turns"))
    for turn in sorted(published.announced):
        raw = [
            RawEvent(entry_id, fields["event"]) for entry_id, fields in client.xrange(f"{prefix}:run:r{turn}:events")
        ]
        entries = [_entry(entry_id, fields) for entry_id, fields in client.xrange(f"{prefix}:turn:{turn}:processed")]
        thread = "th" + turn[1:].split("-")[0]
        verdict.turns += 1
        verdict.entries += len(entries)
        verdict.taken_over += max((int(entry.entry.split("-")[0]) - 1 for entry in entries), default=0)
        verdict.violations += judge(turn, raw, entries, thread_id=thread)
        there = {json.loads(event.event)["event_id"] for event in raw}
        verdict.events_lost += [event for event in published.events.get(turn, ()) if event not in there]
    client.close()
    return verdict


def _entry(entry_id: str, fields: dict[str, str]) -> OutputEntry:
    if "fence" in fields:
        return OutputEntry(entry_id)
    return OutputEntry(entry_id, fields["eventId"], int(fields["timestamp"]), fields["turnId"], fields["payload"])
