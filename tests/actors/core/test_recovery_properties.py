"""What holds for a turn that changes hands, whatever its events, wherever its owners die and whatever they had written."""

import random
from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actors.core.plays import Play, check_story
from tests.actors.core.test_turn_properties import ACTS, perform
from tests.kit.turns import event
from turnwire.actors.core.gradient import Gradient
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered, resume_turn
from turnwire.actors.core.text import utf16_length
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages.events import Payload, StreamEvent
from turnwire.messages.folds import TurnSnapshot, fold_outputs
from turnwire.messages.outputs import Content, Message, Output, Thinking, ToolCall, TurnComplete, TurnError

TURN, THREAD = "turn-1", "thread-1"
PAUSES = (0.0, 0.0, 0.05, 0.3, 1.5)
SEEDS = st.integers(0, 2**32)
OPTIONS: list[dict[str, Any]] = [
    {"batch_gradient": [1, 2], "batch_timeout": 0.1},
    {"batch_gradient": [3], "batch_timeout": 0.25, "max_latency": 0.2, "outbox_limit": 2, "patience": 0.0},
    {"batch_gradient": [2, 1], "growth": 0.5, "outbox_limit": 1, "patience": 0.1, "emit_cancelled": True},
    {"max_item_bytes": 30, "batch_gradient": [2], "max_items": 2},
]


class Script(Play):
    """Writes the events down instead of playing them."""

    def __init__(self) -> None:
        super().__init__()
        self.payloads: list[Payload] = []

    def push(self, payload: Payload, event_id: str | None = None) -> list[Output]:  # noqa: ARG002  # as Play has it
        self.payloads.append(payload)
        return []


def random_text(rng: random.Random) -> str:
    return "".join(rng.choice(("a", "word ", "é", "😀", "\ud83d", "\ude00", "{}")) for _ in range(rng.randrange(12)))


def random_story(rng: random.Random, item_id: str) -> list[tuple[str, str, str]]:
    """An item's life: acts of `perform`, each with the item and a text."""
    if rng.random() < 0.4:
        story = [("start", item_id, "ab")] if rng.random() < 0.5 else []  # two letters make it a function call
        story += [("delta", item_id, random_text(rng)) for _ in range(rng.randrange(2))]
        story += [("call", item_id, '{"a": 1}')] if rng.random() < 0.8 else []
        story += [("output start", item_id, "")] if rng.random() < 0.5 else []
        ends = ["output", "output", "error", "cancel", "final error", ""]
    else:
        story = [rng.choice((("start", item_id, ""), ("start", item_id, "w"), ("prompt", item_id, random_text(rng))))]
        story += [("delta", item_id, random_text(rng)) for _ in range(rng.randrange(8))]
        ends = ["done", "done", "error", "cancel", "final error", "final cancelled", "misfit", "", ""]
    return [*story, (end, item_id, random_text(rng))] if (end := rng.choice(ends)) else story


def random_log(rng: random.Random) -> list[StreamEvent]:
    """A log A: stories of items among each other, some nonsense, some events twice, a terminal or none."""
    script = Script()
    if rng.random() < 0.9:
        script.begin()
    stories = [random_story(rng, item_id) for item_id in "abcde"[: rng.randrange(1, 6)]]
    while stories := [story for story in stories if story]:
        perform(script, *rng.choice(stories).pop(0))
        if rng.random() < 0.05:
            perform(
                script, rng.choice([act for act in ACTS if act != "flush"]), rng.choice("abcdefg"), random_text(rng)
            )
    if end := rng.choice(("finish", "breaks", "abort", "")):
        perform(script, end, "", "")
        perform(script, "delta", "a", "late")
    events = [event(payload, event_id=f"e{number}") for number, payload in enumerate(script.payloads)]
    for _ in range(rng.randrange(4) if events else 0):
        again = rng.randrange(len(events))
        events.insert(rng.randrange(again, len(events)) + 1, events[again])
    return events


@attrs.define
class Truth:
    """What a turn that nobody interrupted came to: with no batching, so that only ends and terminals emit."""

    snapshot: TurnSnapshot
    open_calls: set[str]


def truth_of(log: list[StreamEvent], options: TurnOptions) -> Truth:
    plain = attrs.evolve(options, batch_gradient=[10**9], emit_cancelled=False, repeat_window=None)
    machine = TurnMachine(TURN, THREAD, plain)
    open_calls: set[str] = set()
    calls: dict[str, None] = {}
    for one in log:
        if not machine.ended:
            open_calls = {item_id for item_id in calls if machine.items._calls.is_open(item_id)}
        machine.push(one.event_id, one.payload, now=0.0)
        calls |= {output.item_id: None for output in machine.outbox.outputs if isinstance(output, ToolCall)}
    if not machine.ended:
        open_calls = {item_id for item_id in calls if machine.items._calls.is_open(item_id)}
    machine.fail("TURN_STALLED", "silent", now=0.0)
    return Truth(fold_outputs(machine.outbox.outputs), open_calls)


def is_final(content: Content) -> bool:
    return content.status in ("complete", "error")


def check_owed(recovered: Recovered, written: list[Output], log: list[StreamEvent], options: TurnOptions) -> None:
    """Hold what is owed to what was promised about it."""
    owed, known = recovered.owed, {item.item_id: item for item in recovered.shown.items}
    contents = [output for output in owed if isinstance(output, Message | Thinking | ToolCall)]
    assert len({content.item_id for content in contents}) == len(contents), "two outputs for one item"
    check_story([*written, *owed])
    for content in contents:
        before = known.get(content.item_id)
        assert before is None or not is_final(before)
        if before is not None and not is_final(content):
            assert not before.content.startswith(content.content), "said already"
        if not is_final(content) and not isinstance(content, ToolCall) and not recovered.machine.ended:
            gradient, shown = Gradient(options.batch_gradient, options.growth), before.content if before else ""
            passed = [gradient.index_past(utf16_length(text) + 1, 0) for text in (shown, content.content)]
            assert passed[0] < passed[1] or utf16_length(content.content) >= gradient.limit(0), "below its threshold"
    again = resume_turn(TURN, THREAD, options, log, fold_outputs([*written, *owed]), now=5.0)
    assert again.owed == ()
    assert again.machine.ended == recovered.machine.ended
    assert {i: b.token_count for i, b in again.machine.buffers().items()} == {
        i: b.token_count for i, b in recovered.machine.buffers().items()
    }


def check_end(written: list[Output], truth: Truth, options: TurnOptions) -> None:
    """Hold the whole of log B to what an uninterrupted turn came to."""
    check_story(written)
    snapshot = fold_outputs(written)
    assert snapshot.started == truth.snapshot.started
    assert snapshot.terminal == truth.snapshot.terminal
    items = {item.item_id: item for item in snapshot.items}
    for wanted in truth.snapshot.items:
        item = items.pop(wanted.item_id, None)
        if is_final(wanted):
            assert item == wanted
        elif isinstance(wanted, ToolCall):
            if wanted.item_id in truth.open_calls:
                assert item == wanted
            elif item is not None:
                check_cancelled(item, options)
        else:
            assert item is not None
            assert not is_final(item)
            assert (type(item), item.content) == (type(wanted), wanted.content)
    for item in items.values():
        check_cancelled(item, options)


def check_cancelled(item: Content, options: TurnOptions) -> None:
    if is_final(item):
        assert options.emit_cancelled
        assert item.error_code == "ITEM_CANCELLED"
    else:
        assert not options.emit_cancelled


class Owner:
    """Whoever has the turn: takes events in, writes some of the outputs, and dies."""

    def __init__(self, machine: TurnMachine, written: list[Output], now: float) -> None:
        self.machine = machine
        self.written = written
        self.now = now

    def write(self, number: int) -> None:
        outbox = self.machine.outbox
        while number > 0 and (emission := outbox.take()) is not None:
            self.written.append(emission.output)
            outbox.delivered(now=self.now)
            number -= 1

    def live(self, events: list[StreamEvent], rng: random.Random) -> None:
        laziness = rng.choice((0, 0, 2, 9))
        for one in events:
            self.now += rng.choice(PAUSES)
            self.machine.push(one.event_id, one.payload, now=self.now)
            self.machine.outbox.open_at(self.now)
            if not rng.randrange(laziness + 1):
                self.write(rng.randrange(4))
            if not rng.randrange(20):
                self.machine.flush(now=self.now)


@settings(max_examples=1000, deadline=None)
@given(seed=SEEDS, options=st.sampled_from(OPTIONS), may_lose=st.booleans())
def test_any_number_of_deaths_anywhere_leaves_what_an_uninterrupted_turn_leaves(
    seed: int, options: dict[str, Any], may_lose: bool
) -> None:
    """No final state is lost, nothing is repeated, and there is one terminal, last.

    An owner dies with any part of its outputs written. The next one finds all the events that the last one had, or
    more; or, if the log may lose its tail, fewer, and the rest comes again.
    """
    rng, made = random.Random(seed), TurnOptions(**options)
    log = random_log(rng)
    if may_lose:
        made = attrs.evolve(made, emit_cancelled=False)
    written: list[Output] = []
    owner, read = Owner(TurnMachine(TURN, THREAD, attrs.evolve(made, repeat_window=None)), written, 0.0), 0
    for _ in range(rng.randrange(1, 4)):
        end = rng.randint(read, len(log))
        owner.live(log[read:end], rng)
        read = rng.randint(0 if may_lose else end, len(log))
        recovered = resume_turn(TURN, THREAD, made, log[:read], fold_outputs(written), now=owner.now)
        assert recovered.owed == recovered.machine.outbox.outputs
        check_owed(recovered, written, log[:read], made)
        owner = Owner(recovered.machine, written, owner.now)
        owner.write(rng.randint(0, len(recovered.owed)))
    owner.live(log[read:], rng)
    owner.machine.fail("TURN_STALLED", "silent", now=owner.now)
    owner.write(10**6)
    check_end(written, truth_of(log, made), made)


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS, options=st.sampled_from(OPTIONS))
def test_a_death_in_the_middle_of_what_is_owed_changes_nothing(seed: int, options: dict[str, Any]) -> None:
    """Whatever prefix of it was written, the rest is just what the next owner owes."""
    rng, made = random.Random(seed), TurnOptions(**options)
    log = random_log(rng)
    written: list[Output] = []
    owner = Owner(TurnMachine(TURN, THREAD, attrs.evolve(made, repeat_window=None)), written, 0.0)
    owner.live(log[: rng.randint(0, len(log))], rng)
    recovered = resume_turn(TURN, THREAD, made, log, fold_outputs(written), now=0.0)
    for part in range(len(recovered.owed) + 1):
        told = [*written, *recovered.owed[:part]]
        again = resume_turn(TURN, THREAD, made, log, fold_outputs(told), now=0.0)
        assert again.owed == recovered.owed[part:]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_turn_that_nobody_wrote_anything_of_is_owed_all(options: dict[str, Any]) -> None:
    """With an empty log B what is owed is the turn as it would have come to a sink that is always behind."""
    made, numbers = TurnOptions(**options), count()
    script = Script()
    script.begin()
    for number in range(20):
        perform(script, "prompt" if number % 2 else "start", f"i{number}", "word " * 20)
    script.finish()
    log = [event(payload, event_id=f"e{next(numbers)}") for payload in script.payloads]
    recovered = resume_turn(TURN, THREAD, made, log, TurnSnapshot(), now=0.0)
    assert isinstance(recovered.owed[-1], TurnComplete | TurnError)
    assert fold_outputs(recovered.owed) == truth_of(log, made).snapshot
