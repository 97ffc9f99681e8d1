"""The checker: silent on what the turns really write, whoever owned them; loud on logs that were tampered with."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actors.core.test_recovery_properties import OPTIONS, Owner, random_log
from tests.kit.turns import (
    answered,
    begin,
    broken,
    called,
    cancelled,
    delta,
    failed,
    finished,
    said,
    started,
    thought,
    tokens,
)
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import resume_turn
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages import StreamEvent, decode_event, encode_output, fold_outputs
from turnwire.messages.event_codec import unstructure_event
from turnwire.messages.events import Usage
from turnwire.messages.json_text import dump_json
from turnwire.messages.outputs import Output
from turnwire.runtime.check import CheckLimits, OutputEntry, RawEvent, Violation, judge

TURN, THREAD = "turn-1", "thread-1"
LIMITS = {"max_item_bytes": "item_bytes", "max_items": "live_items"}


def log_a(events: list[StreamEvent]) -> list[RawEvent]:
    # Not by our own codec: it writes no half surrogates, but a producer may, as escapes.
    texts = (json.dumps(unstructure_event(event)) for event in events)
    return [RawEvent(f"{1000 + number}-0", text) for number, text in enumerate(texts)]


def log_b(*owners: list[Output], fences: bool = True) -> list[OutputEntry]:
    """Write down what each owner said, under the ids of its epoch."""
    entries: list[OutputEntry] = []
    for epoch, outputs in enumerate(owners, 1):
        if fences:
            entries.append(OutputEntry(f"{epoch}-0"))
        for seq, output in enumerate(outputs, 1):
            place = f"{epoch}-{seq}"
            entries.append(OutputEntry(place, f"{TURN}:{place}", 10**6, TURN, encode_output(output)))
    return entries


def run(events: list[StreamEvent], **options: Any) -> list[Output]:
    machine = TurnMachine(TURN, THREAD, TurnOptions(outbox_limit=10**6, **options))
    for one in events:
        machine.push(one.event_id, one.payload, now=0.0)
    return list(machine.outbox.outputs)


@settings(max_examples=600, deadline=None)
@given(seed=st.integers(0, 2**32), options=st.sampled_from(OPTIONS))
def test_what_turns_write_has_no_violations(seed: int, options: dict[str, Any]) -> None:
    """Whatever the events and their timing, however often the turn changed hands, wherever its owners died."""
    rng, made = random.Random(seed), TurnOptions(**options)
    log = [decode_event(raw.event) for raw in log_a(random_log(rng))]  # as it comes out of a log
    written: list[Output] = []
    bounds = [0]
    owner, read = Owner(TurnMachine(TURN, THREAD, attrs.evolve(made, repeat_window=None)), written, 0.0), 0
    for _ in range(rng.randrange(3)):
        end = rng.randint(read, len(log))
        owner.live(log[read:end], rng)
        bounds.append(len(written))
        read = rng.randint(end, len(log))
        recovered = resume_turn(TURN, THREAD, made, log[:read], fold_outputs(written), now=owner.now)
        owner = Owner(recovered.machine, written, owner.now)
        owner.write(rng.randint(0, len(recovered.owed)))
    owner.live(log[read:], rng)
    owner.machine.fail("TURN_STALLED", "silent", now=owner.now)
    owner.write(10**6)
    parts = [written[start:end] for start, end in pairwise([*bounds, len(written)])]
    limits = CheckLimits(**{LIMITS[name]: value for name, value in options.items() if name in LIMITS})
    assert judge(TURN, log_a(log), log_b(*parts), thread_id=THREAD, limits=limits) == []


# Tampering

EVENTS = [
    *(started(), begin("r", "reasoning"), delta("r", tokens(12)), thought("r", tokens(13))),
    *(begin("m"), delta("m", tokens(11)), delta("m", tokens(10)), said("m", tokens(22))),
    *(begin("f", "function_call"), called("f", "c1", '{"n": 1}'), answered("o", "c1", '{"found": true}')),
    *(called("g", "c2"), begin("x"), failed("x", "BAD", "it broke"), begin("gone"), delta("gone", tokens(11))),
    *(cancelled("gone"), begin("open"), delta("open", tokens(11)), delta("open", "and more")),
    finished(usage=Usage(prompt_tokens=1, completion_tokens=2)),
]
RAW = log_a(EVENTS)
OUTPUTS = run(EVENTS)
GOOD = log_b(OUTPUTS[:7], OUTPUTS[7:])

Tampering = Callable[[list[OutputEntry]], list[OutputEntry]]


def find(entries: list[OutputEntry], *words: str) -> int:
    """Give the place of the first entry with all these words."""
    return next(at for at, entry in enumerate(entries) if all(word in (entry.payload or "") for word in words))


def renumbered(entries: list[OutputEntry]) -> list[OutputEntry]:
    """Give the entries ids without a gap, so that only what they say is wrong."""
    result: list[OutputEntry] = []
    epoch = seq = 0
    for entry in entries:
        epoch, seq = (epoch + 1, 0) if entry.is_fence else (epoch, seq + 1)
        place = f"{epoch}-{seq}"
        event_id = None if entry.is_fence else f"{TURN}:{place}"
        result.append(attrs.evolve(entry, entry=place, event_id=event_id))
    return result


def without(*words: str) -> Tampering:
    return lambda entries: renumbered([entry for at, entry in enumerate(entries) if at != find(entries, *words)])


def twice(*words: str) -> Tampering:
    return lambda entries: renumbered([*entries[: (at := find(entries, *words)) + 1], *entries[at:]])


def moved_to_the_end(*words: str) -> Tampering:
    def tamper(entries: list[OutputEntry]) -> list[OutputEntry]:
        taken = entries.pop(find(entries, *words))
        return renumbered([*entries[:-1], taken, entries[-1]])

    return tamper


def changed(old: str, new: str, *words: str) -> Tampering:
    def tamper(entries: list[OutputEntry]) -> list[OutputEntry]:
        at = find(entries, old, *words)
        payload = (entries[at].payload or "").replace(old, new)
        return [*entries[:at], attrs.evolve(entries[at], payload=payload), *entries[at + 1 :]]

    return tamper


def swapped(first: int, second: int) -> Tampering:
    def tamper(entries: list[OutputEntry]) -> list[OutputEntry]:
        entries[first], entries[second] = entries[second], entries[first]
        return entries

    return tamper


def with_texts_swapped(entries: list[OutputEntry]) -> list[OutputEntry]:
    create, update = find(entries, '"itemId":"m"', CREATE), find(entries, '"itemId":"m"', UPDATE)
    longer = (entries[update].payload or "").replace(UPDATE, CREATE)
    shorter = (entries[create].payload or "").replace(CREATE, UPDATE)
    entries[create] = attrs.evolve(entries[create], payload=longer)
    entries[update] = attrs.evolve(entries[update], payload=shorter)
    return entries


def added(entry: OutputEntry) -> Tampering:
    return lambda entries: [*entries, entry]


def late(place: str, payload: str | None = None) -> OutputEntry:
    return OutputEntry(place, f"{TURN}:{place}", 1, TURN, payload or GOOD[-1].payload)


LAST = int(GOOD[-1].entry.partition("-")[2])
COMPLETE, CREATE, UPDATE = '"status":"complete"', '"status":"create"', '"status":"update"'
TAMPERED: dict[str, tuple[Tampering, str, str]] = {
    "a message's end is dropped": (without('"itemId":"m"', COMPLETE), "lost", "item m: its end, complete, is missing"),
    "a call's end is dropped": (without('"itemId":"f"', COMPLETE), "lost", "item f: its end"),
    "an error is dropped": (without('"itemId":"x"'), "lost", "item x: its end, error, is missing"),
    "an open call is dropped": (without('"itemId":"g"'), "lost", "item g: the call is missing"),
    "the last text of an open item is dropped": (without("and more"), "lost", "item open: its whole text is missing"),
    "an entry is cut out": (lambda entries: [*entries[:4], *entries[5:]], "ids", "1-4 is missing"),
    "the first entry of an owner is cut out": (lambda entries: [*entries[:9], *entries[10:]], "ids", "2-1 is missing"),
    "the terminal is dropped": (lambda entries: entries[:-1], "terminal", "there is none"),
    "turn_started is dropped": (without("turn_started"), "started", "turn_started is missing"),
    "an end is repeated": (twice('"itemId":"m"', COMPLETE), "repeated", "item m: ends again"),
    "a call's end is repeated": (twice('"itemId":"f"', COMPLETE), "repeated", "item f: ends again"),
    "an update is repeated": (twice('"itemId":"m"', UPDATE), "repeated", "item m: says what 1-"),
    "a create is repeated": (twice('"itemId":"m"', CREATE), "statuses", "item m: is created again"),
    "turn_started is repeated": (twice("turn_started"), "started", "a second one"),
    "an entry is delivered twice": (lambda entries: [*entries[:4], entries[3], *entries[4:]], "ids", "is not greater"),
    "an eventId is repeated": (lambda entries: [*entries[:5], attrs.evolve(entries[5], event_id=entries[4].event_id), *entries[6:]], "repeated", f"eventId {TURN}:1-4 is that of 1-4"),
    "two entries are swapped": (swapped(3, 4), "ids", "is not greater"),
    "two entries are swapped and renumbered": (lambda entries: renumbered(swapped(5, 6)(entries)), "statuses", "item m: goes on after its end in 1-5"),
    "two states of a text are swapped": (with_texts_swapped, "wrong", "item m: does not go on from what 1-4 said"),
    "an end comes after a later one": (moved_to_the_end('"itemId":"r"', COMPLETE), "order", "what caused it comes before"),
    "a call comes after a later end": (moved_to_the_end('"itemId":"g"'), "order", "what caused it comes before"),
    "turn_started is not first": (lambda entries: renumbered([entries[0], entries[2], entries[1], *entries[3:]]), "started", "something stands before it"),
    "an end's text is changed": (changed("xxxx", "xxyx", '"itemId":"m"', COMPLETE), "wrong", "item m: content must be"),
    "a text on its way is changed": (changed("xxxx", "xxyx", '"itemId":"m"', CREATE), "wrong", "item m: its text is no beginning"),
    "the origin is changed": (changed('"origin":"agent"', '"origin":"user"', COMPLETE), "wrong", "item m: origin must be"),
    "arguments are changed": (changed('{"n":1}', '{"n":2}'), "wrong", "item f: tool_arguments must be"),
    "an output is changed": (changed('"found":true', '"found":false'), "wrong", "item f: tool_output must be"),
    "an error's code is changed": (changed("BAD", "GOOD"), "wrong", "item x: error_code must be"),
    "a cancelled item is given an end": (changed(CREATE, COMPLETE, '"itemId":"gone"'), "wrong", "item gone: was cancelled, but has an end"),
    "an open item is given an end": (changed(UPDATE, COMPLETE, "and more"), "wrong", "item open: has an end that log A does not have"),
    "an item begins with an update": (changed(CREATE, UPDATE, '"itemId":"m"'), "statuses", "item m: begins with an update"),
    "an item changes its type": (changed('"type":"message"', '"type":"thinking"', '"itemId":"x"'), "envelope", "its payload is no output"),
    "an item nobody sent": (changed('"itemId":"x"', '"itemId":"y"'), "wrong", "log A has no item y"),
    "a second terminal": (added(late(f"2-{LAST + 1}")), "terminal", "a second one"),
    "an entry after the terminal": (added(late(f"2-{LAST + 1}", GOOD[3].payload)), "terminal", "an entry after the terminal"),
    "another terminal": (changed('"status":"complete","usage"', '"status":"aborted","usage"'), "terminal", "log A calls for"),
    "another usage": (changed('"totalTokens":3', '"totalTokens":4'), "terminal", "log A calls for"),
    "an old owner writes after a new one": (lambda entries: [*entries[:9], late("1-8", GOOD[9].payload), *entries[9:]], "epochs", "of owner 1, after owner 2"),
    "an old owner's entry goes in behind the fence": (lambda entries: [*entries[:7], entries[8], entries[7], *entries[9:]], "epochs", "of owner 1, after owner 2"),
    "an eventId of another entry": (lambda entries: [*entries[:5], attrs.evolve(entries[5], event_id=f"{TURN}:9-9"), *entries[6:]], "ids", "eventId is"),
    "another turn's envelope": (lambda entries: [*entries[:5], attrs.evolve(entries[5], turn_id="t2"), *entries[6:]], "envelope", "turnId is 't2'"),
    "another turn's payload": (changed(f'"turnId":"{TURN}"', '"turnId":"t2"', COMPLETE), "envelope", "its payload is of turn 't2'"),
    "an id that is none": (lambda entries: [*entries, attrs.evolve(entries[-1], entry="9")], "ids", "is no <epoch>-<seq>"),
    "a fence that says something": (lambda entries: [late("1-0"), *entries[1:]], "ids", "a fence, and nothing else"),
    "no timestamp": (lambda entries: [*entries[:5], attrs.evolve(entries[5], timestamp=None), *entries[6:]], "envelope", "timestamp is None"),
    "a payload that is no JSON": (lambda entries: [*entries[:5], attrs.evolve(entries[5], payload="{"), *entries[6:]], "envelope", "its payload is no output"),
}  # fmt: skip


def test_the_log_that_is_tampered_with_is_fine_before() -> None:
    assert judge(TURN, RAW, GOOD, thread_id=THREAD) == []
    assert sum(entry.is_fence for entry in GOOD) == 2


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_noticed_and_named(name: str) -> None:
    """By its rule, with the turn and the entry, or the item that is missing."""
    tamper, rule, words = TAMPERED[name]
    violations = judge(TURN, RAW, tamper(list(GOOD)), thread_id=THREAD)
    assert [one for one in violations if one.rule == rule and words in one.problem], violations
    assert all(str(one).startswith(f"turn {TURN}") for one in violations)


# What is allowed


def test_fences_may_be_missing_or_stand_after_the_terminal() -> None:
    """Readers skip them, and somebody may claim a turn only to find that it is over."""
    assert judge(TURN, RAW, log_b(OUTPUTS[:7], OUTPUTS[7:], fences=False)) == []
    assert judge(TURN, RAW, [*GOOD, OutputEntry("3-0"), OutputEntry("4-0")]) == []
    assert judge(TURN, RAW, [entry for entry in GOOD if entry.entry != "1-0"]) == []


def test_an_end_of_our_own_cuts_the_log_of_events() -> None:
    """What the producer wrote after it is not judged; what it wrote before is."""
    machine = TurnMachine(TURN, THREAD, TurnOptions())
    events = [started(), begin("m"), delta("m", "hi"), said("m", "hi there"), finished()]
    for one in events[:3]:
        machine.push(one.event_id, one.payload, now=0.0)
    machine.fail("TURN_STALLED", "silent", now=0.0)
    entries = [attrs.evolve(entry, timestamp=1002) for entry in log_b(list(machine.outbox.outputs), fences=False)]
    assert judge(TURN, log_a(events), entries) == []
    later = [attrs.evolve(entry, timestamp=2000) for entry in entries]
    assert {one.rule for one in judge(TURN, log_a(events), later)} == {"lost", "terminal"}


def test_a_crash_is_a_violation() -> None:
    machine = TurnMachine(TURN, THREAD, TurnOptions())
    machine.push("e", started().payload, now=0.0)
    machine.crash(now=0.0)
    violations = judge(TURN, log_a([started()]), log_b(list(machine.outbox.outputs)))
    assert [one.rule for one in violations] == ["terminal"]


def test_events_that_are_none_are_passed_over() -> None:
    raw = [RawEvent("1-0", b"{}"), *log_a([started(), broken()])]
    assert judge(TURN, raw, log_b(run([started(), broken()]))) == []


def test_a_violation_says_where_it_is() -> None:
    assert str(Violation("t", "1-2", "ids", "odd")) == "turn t, entry 1-2: ids: odd"
    assert str(Violation("t", "", "lost", "gone")) == "turn t: lost: gone"


# The program


def dump(entries: list[OutputEntry]) -> str:
    turn = {
        "turn_id": TURN,
        "thread_id": THREAD,
        "events": [attrs.astuple(raw) for raw in RAW],
        "entries": [[part for part in attrs.astuple(entry) if part is not None] for entry in entries],
    }
    return dump_json(turn).decode() + "\n"


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (dump(GOOD) * 2, 0, ""),
        (dump(GOOD) + dump(GOOD[:-1]), 1, f"turn {TURN}: terminal: there is none\n"),
        ('{"turn_id": "t"}\n', 2, ""),
        ("no JSON\n", 2, ""),
    ],
)
def test_the_program_judges_dumps(tmp_path: Path, text: str, code: int, told: str) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text(text)
    command = [sys.executable, "-m", "turnwire.runtime.check"]
    from_file = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)  # noqa: S603  # ourselves
    assert (from_file.returncode, from_file.stdout) == (code, told)
    piped = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603  # ourselves
    assert (piped.returncode, piped.stdout, piped.stderr) == (code, told, from_file.stderr)
