"""What holds for every turn, whatever its events and their timing."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actors.core.plays import Play, answered, broken, called, check_story, said, taken_back, thought
from turnwire.actors.core.text import has_halves, utf16_length
from turnwire.messages.events import Heartbeat, Payload, Usage, UsageUpdate
from turnwire.messages.folds import fold_outputs
from turnwire.messages.output_codec import decode_output, encode_output
from turnwire.messages.outputs import Message, Thinking, ToolCall

PAUSES = st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.4, 1.0, 3.0])
TEXTS = st.text(st.sampled_from("ab é😀\n"), max_size=60)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"batch_gradient": [1]},
    {"batch_gradient": [2, 1, 3], "batch_timeout": 0.25},
    {"batch_gradient": [1.5], "growth": 0.5, "max_latency": 0.5},
]


def code_units(text: str) -> list[str]:
    data = text.encode("utf-16-le")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


@settings(max_examples=300, deadline=None)
@given(
    text=TEXTS,
    data=st.data(),
    options=st.sampled_from(OPTIONS),
    item_type=st.sampled_from(["message", "reasoning"]),
    end=st.sampled_from(["done", "finish", "breaks", "abort", "close", "error"]),
)
def test_any_split_and_any_timing_ends_with_the_whole_text(
    text: str, data: st.DataObject, options: dict[str, Any], item_type: str, end: str
) -> None:
    """The last output of an item carries its whole text; each content is a prefix of the next and has no half pair."""
    play, units = Play(**options), code_units(text)
    play.start(item_type=item_type, initial_content="".join(units[: (first := data.draw(st.integers(0, 3)))]))
    del units[:first]
    while units:
        size = data.draw(st.integers(1, len(units)))
        play.now += data.draw(PAUSES)
        play.delta("".join(units[:size]))
        del units[:size]
    play.now += data.draw(PAUSES)
    final = said(text) if item_type == "message" else thought(text)
    {
        "done": lambda: play.done(final),
        "finish": play.finish,
        "breaks": play.breaks,
        "abort": play.abort,
        "close": play.close,
        "error": play.error,
    }[end]()
    check_story(play.outputs)
    contents = [output.content for output in play.outputs if isinstance(output, Message | Thinking)]
    assert (contents or [""])[-1] == text
    for content, longer in pairwise([*contents, text]):
        assert longer.startswith(content)
        assert not has_halves(content)
    moments = [at for at, _ in play.record]
    assert moments == sorted(moments)


def test_a_step_emits_as_often_as_its_thresholds_say() -> None:
    """Without pauses the emissions of one-unit deltas are those that a naive reading of the rules gives."""
    for steps in ([1], [2, 1, 3], [1.5, 2]):
        play = Play(batch_gradient=steps)
        play.start()
        emitted = [units for units in range(1, 200) if play.delta("x")]
        thresholds = [sum(steps) + steps[-1] * more for more in range(100)]
        thresholds = sorted({*thresholds, *(sum(steps[:n]) for n in range(1, len(steps)))})
        naive = list[int]()
        index = 0
        for units in range(1, 200):
            if -(-units // 4) > thresholds[index]:
                naive.append(units)
                while -(-units // 4) > thresholds[index]:
                    index += 1
        assert emitted == naive


ACTS = [
    *("start", "start", "delta", "delta", "delta", "delta", "delta", "done", "error", "cancel", "call", "output"),
    *("output start", "beat", "usage", "flush", "begin", "prompt", "final error", "final cancelled", "misfit"),
]
ENDS = ["finish", "breaks", "abort", "close", "fail"]
Act = tuple[float, str, str, str]


def random_acts(rng: random.Random) -> list[Act]:
    """A turn that nobody would send, and that nobody should be afraid of."""
    acts = [
        (rng.choice((0.0, 0.0, 0.05, 0.3, 1.2)), rng.choice(ACTS), rng.choice("abcde"), random_text(rng))
        for _ in range(rng.randrange(60))
    ]
    return [*acts, (0.2, rng.choice(ENDS), "", ""), (0.1, rng.choice(ACTS[:10]), "a", "late")]


def random_text(rng: random.Random) -> str:
    return "".join(rng.choice(("a", "word ", "😀", "\ud83d", "\ude00", "é")) for _ in range(rng.randrange(12)))


def perform(play: Play, act: str, item_id: str, text: str) -> None:
    final: Any = {"call": called(text, call_id=item_id), "output": answered(text, call_id=item_id), "done": said(text)}
    final |= {"final error": broken(), "final cancelled": taken_back(), "misfit": thought(text)}
    match act:
        case "start":
            play.start(item_id, ("message", "reasoning", "function_call")[len(text) % 3], initial_content=text[:3])
        case "prompt":
            play.start(item_id, origin="user", initial_content=text)
        case "output start":
            play.start(f"out-{item_id}", "function_call_output", call_id=item_id)
        case "delta":
            play.delta(text, item_id)
        case "output":
            play.done(final[act], f"out-{item_id}")
        case "done" | "call" | "final error" | "final cancelled" | "misfit":
            play.done(final[act], item_id)
        case "error":
            play.error(item_id if len(text) % 2 else f"out-{item_id}")
        case "cancel":
            play.cancel(item_id)
        case "beat" | "usage":
            payloads: dict[str, Payload] = {
                "beat": Heartbeat(),
                "usage": UsageUpdate(response_id="r", usage=Usage(prompt_tokens=1)),
            }
            play.push(payloads[act])
        case "fail":
            play.machine.fail("TURN_TIMEOUT", "too long", now=play.now)
            play.news()
        case _:
            acts = {"flush": play.flush, "begin": play.begin, "finish": play.finish, "breaks": play.breaks}
            (acts | {"abort": play.abort, "close": play.close})[act]()


def played(acts: list[Act], options: dict[str, Any], ticks: random.Random | None = None) -> Play:
    """Play a turn, looking in at moments of its own if there are ticks."""
    play = Play(**options)
    for pause, act, item_id, text in acts:
        at = play.now + pause
        if ticks is not None:
            for moment in sorted(play.now + pause * ticks.random() for _ in range(ticks.randrange(4))):
                play.machine.tick(now=moment)
            if ticks.random() < 0.5:
                play.machine.tick(now=at)
        play.now = at
        perform(play, act, item_id, text)
    return play


RANDOM_OPTIONS: list[dict[str, Any]] = [
    {"batch_gradient": [1, 2], "batch_timeout": 0.1},
    {"batch_gradient": [3], "batch_timeout": 0.25, "max_latency": 0.2, "emit_cancelled": True},
    {"batch_gradient": [100], "max_latency": 0.4, "max_items": 2},
    {"max_item_bytes": 30, "batch_gradient": [2]},
]


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_every_turn_is_a_well_formed_story(options: dict[str, Any]) -> None:
    """Statuses in order, at most one terminal, nothing after it, whatever comes in whatever order."""
    for seed in range(400):
        outputs = played(random_acts(random.Random(seed)), options).outputs
        check_story(outputs)


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_how_often_somebody_looks_does_not_matter(options: dict[str, Any]) -> None:
    """Extra ticks at any moments change neither an output nor its time."""
    for seed in range(400):
        acts = random_acts(random.Random(seed))
        assert played(acts, options, random.Random(seed + 1)).record == played(acts, options).record, f"seed {seed}"


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_the_same_events_at_the_same_times_give_the_same_outputs(options: dict[str, Any]) -> None:
    """A turn has no randomness of its own."""
    for seed in range(100):
        acts = random_acts(random.Random(seed))
        first, second = played(acts, options), played(acts, options)
        assert first.record == second.record
        assert first.machine.counts == second.machine.counts


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_every_output_can_be_put_into_words_and_read_back(options: dict[str, Any]) -> None:
    """What a turn emits survives the wire, but for ids that are half a character."""
    for seed in range(100):
        outputs = played(random_acts(random.Random(seed)), options).outputs
        assert [decode_output(encode_output(output)) for output in outputs] == outputs


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_moments_never_run_backwards(options: dict[str, Any]) -> None:
    """The times at which emissions were made are in the order in which they were made."""
    for seed in range(200):
        moments = [at for at, _ in played(random_acts(random.Random(seed)), options).record]
        assert moments == sorted(moments)


@pytest.mark.parametrize("options", RANDOM_OPTIONS)
def test_nothing_is_live_after_the_end(options: dict[str, Any]) -> None:
    """A turn that has ended holds no item and waits for nothing."""
    for seed in range(100):
        machine = played(random_acts(random.Random(seed)), options).machine
        assert machine.ended
        assert machine.buffers() == {}
        assert machine.items.due == float("inf")


def test_a_snapshot_of_all_outputs_has_every_item_once() -> None:
    """A reader of the whole turn and a reader of its fold know the same."""
    for seed in range(100):
        outputs = played(random_acts(random.Random(seed)), RANDOM_OPTIONS[0]).outputs
        snapshot = fold_outputs(outputs)
        assert fold_outputs(snapshot.outputs) == snapshot
        newest = {one.item_id: one for one in outputs if isinstance(one, Message | Thinking | ToolCall)}
        assert {item.item_id: item for item in snapshot.items} == newest


def test_a_delta_costs_the_same_however_much_is_there() -> None:
    """Length is kept as it grows: the buffers hold pieces, joined only for an emission."""
    play = Play(batch_gradient=[10**9])
    play.start()
    for _ in range(1000):
        play.delta("some words ")
    item = play.machine.items.live["a"]
    assert len(item._pieces) == 1000
    assert item.units == utf16_length("some words ") * 1000
