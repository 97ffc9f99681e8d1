"""A hundred thousand broken events: each is an event or an InvalidEventError, and no event breaks a turn."""

import json
import random
from typing import Any

import orjson
import pytest

from tests.actors.core.plays import check_story
from tests.messages.wire import Wire, all_events
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import Output

EVENTS = [json.dumps(event, ensure_ascii=False).encode() for event in all_events().values()]
SEEDS, EVENTS_PER_SEED = 20, 5_000
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "item-1",
    "message",
    "\ud83d",
    "😀",
    [],
    {},
    [[{}]],
    {"type": "message"},
]
OPTIONS = TurnOptions(batch_gradient=(1, 2), batch_timeout=0.5, max_items=3, max_item_bytes=40, emit_cancelled=True)


def broken_event(rng: random.Random) -> bytes:
    """Make an event that is as good as new or broken in up to three places."""
    text = rng.choice(EVENTS)
    for _ in range(rng.randrange(4)):
        text = rng.choice((changed_field, changed_field, cut, flipped, spliced))(rng, text)
    return text


def changed_field(rng: random.Random, text: bytes) -> bytes:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    inner: Any = document
    while isinstance(inner, dict) and inner:
        fields: Wire = inner  # pyright: ignore[reportUnknownVariableType]
        key = rng.choice(list(fields))
        if isinstance(fields[key], dict) and rng.random() < 0.7:
            inner = fields[key]
            continue
        change = rng.randrange(6)
        if change == 0:
            del fields[key]
        elif change == 1:
            fields[key] = {key: fields[key]}
        elif change == 2:
            fields[rng.choice(("type", "item_id", "new", "\ud83d", "call_id"))] = fields[key]
        elif change == 3:
            twice = json.dumps(document)  # the same name a second time, with another value
            return (twice[:-1] + f", {json.dumps(key)}: {json.dumps(rng.choice(STRANGE))}}}").encode()
        else:
            fields[key] = rng.choice(STRANGE)
        break
    return json.dumps(document).encode()


def cut(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def flipped(rng: random.Random, text: bytes) -> bytes:
    if not text:
        return text
    at = rng.randrange(len(text))
    return text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1 :]


def spliced(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text) + 1)
    piece = rng.choice((b'"', b"\\", b"{", b"}", b"[", b",", b":", b"1e999", b"NaN", b"\xff", b"\\ud83d", b"0"))
    return text[:at] + piece + text[at:]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_broken_event_is_an_event_or_an_invalid_event_error(seed: int) -> None:
    """No input makes the decoder raise anything but InvalidEventError."""
    rng = random.Random(seed)
    decoded, paths = 0, set[str]()
    for _ in range(EVENTS_PER_SEED):
        text = broken_event(rng)
        try:
            decode_event(text)
        except InvalidEventError as exc:
            paths.add(exc.path[:1])
        else:
            decoded += 1
    assert paths == {"$"}
    assert EVENTS_PER_SEED / 10 < decoded < EVENTS_PER_SEED * 9 / 10


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_decoded_event_breaks_a_turn(seed: int) -> None:
    """Whatever decodes goes through a turn without an exception, and what comes out is a well-formed story."""
    rng = random.Random(seed)
    machine, outputs, now = TurnMachine("turn-1", "thread-1", OPTIONS), list[Output](), 0.0
    for number in range(EVENTS_PER_SEED):
        try:
            event = decode_event(renamed(rng, broken_event(rng)))
        except (InvalidEventError, UnicodeError):
            continue  # the decoder's own test counts what may be raised here
        now += rng.choice((0.0, 0.1, 0.6))
        machine.push(f"event-{number}", event.payload, now=now)
        while (emission := machine.outbox.take()) is not None:
            outputs.append(emission.output)
            encode_output(emission.output)
            machine.outbox.delivered(now=now)
        if machine.ended:
            check_story(outputs)
            machine, outputs = TurnMachine("turn-1", "thread-1", OPTIONS), []


def renamed(rng: random.Random, text: bytes) -> bytes:
    """Spread the events over a few items and calls, and make ends of turns rare enough for something to happen."""
    if rng.random() < 0.8 and b'"response_' in text:
        text = rng.choice(EVENTS)
    item, call = f'"item-{rng.randrange(5)}"'.encode(), f'"call-{rng.randrange(3)}"'.encode()
    return text.replace(b'"item-1"', item).replace(b'"call-1"', call)


def test_the_fuzz_reaches_the_fast_road_and_the_slow_one() -> None:
    """The examples the fuzz starts from are valid themselves."""
    for text in EVENTS:
        assert decode_event(text).event_id == orjson.loads(text)["event_id"]
