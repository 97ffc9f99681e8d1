"""Recordings: what was written comes back, in its own time, in another, or at once."""

import itertools
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.kit.recordings import adapt
from tests.kit.streams import Event, brief, chunk
from turnwire.messages import StreamEvent, encode_event, fold_events
from turnwire.messages.events import ItemDelta
from turnwire.messages.providers.contract import check_contract
from turnwire.runtime.record import (
    Recorded,
    load_demo,
    load_recording,
    open_recorder,
    play,
    read_recording,
    record,
)

EVENTS = [chunk(content="Hel"), chunk(content="lo"), chunk("stop")]


async def slow_source(events: list[Any], seconds: float) -> AsyncGenerator[Any, None]:
    for event in events:
        yield event
        await trio.sleep(seconds)


async def test_a_stream_is_recorded_with_its_timing(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """The recorder passes every event on, and writes it with the time since the first."""
    path = tmp_path / "stream.jsonl"
    with open_recorder(path) as recorder:
        assert [event async for event in record(slow_source(EVENTS, 1.5), recorder)] == EVENTS
    assert load_recording(path) == [Recorded(at=1.5 * n, event=event) for n, event in enumerate(EVENTS)]


async def test_stream_events_are_recorded_too(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """StreamEvents come back as StreamEvents."""
    told = adapt("openai-chat", EVENTS)
    path = tmp_path / "stream.jsonl"
    with open_recorder(path) as recorder:
        for event in told:
            recorder.write(event)
    assert [recorded.event for recorded in load_recording(path)] == told


@pytest.mark.parametrize(("speed", "moments"), [(1.0, [0, 2, 5]), (2.0, [0, 1, 2.5]), (None, [0, 0, 0])])
async def test_a_recording_plays_at_any_speed(
    speed: float | None, moments: list[float], autojump_clock: trio.testing.MockClock
) -> None:
    """At its own speed, at a given one, or at once; under a virtual clock all of them take no time."""
    recording = [Recorded(at=at, event=event) for at, event in zip([0, 2, 5], EVENTS, strict=True)]
    played = [(trio.current_time(), event) async for event in play(recording, speed=speed)]
    assert played == list(zip(moments, EVENTS, strict=True))


async def test_a_slow_reader_does_not_shift_the_later_events(autojump_clock: trio.testing.MockClock) -> None:
    """Times count from the beginning: what is late is given at once, what is not keeps its time."""
    recording = [Recorded(at=at, event=event) for at, event in zip([0, 1, 5], EVENTS, strict=True)]
    moments: list[float] = []
    async for _ in play(recording):
        moments.append(trio.current_time())
        await trio.sleep(3)
    assert moments == [0, 3, 6]


async def test_a_speed_must_be_positive() -> None:
    """Nothing plays backwards."""
    with pytest.raises(ValueError, match="positive"):
        await anext(play([], speed=0))


def test_bare_stream_events_are_a_recording() -> None:
    """Their timestamps are its timing, from the first one on."""
    times = iter([1000, 1000, 1250, 3250])
    told: list[StreamEvent] = adapt("openai-chat", [chunk(content="Hi")], now=lambda: next(times, 4000))
    lines = [encode_event(event) for event in told]
    assert [recorded.at for recorded in read_recording(lines)][:3] == pytest.approx([0, 0.25, 2.25])


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"at": "x", "event": {}}', '{"event_id": "e", "payload": {}}'])
def test_a_line_that_is_no_recording_is_named(line: str) -> None:
    """The error says which line."""
    good = json.dumps({"at": 0, "event": EVENTS[0]})
    with pytest.raises(ValueError, match="line 3"):
        list(read_recording([good, "", line]))


def test_the_demo_is_a_whole_turn() -> None:
    """The bundled stream has a prompt, reasoning, a tool call with its output, and a long answer, in natural time."""
    recording = load_demo()
    events = [recorded.event for recorded in recording]
    told = [event for event in events if isinstance(event, StreamEvent)]
    assert len(told) == len(recording)
    check_contract(told)
    response = fold_events(told)
    kinds = [item.item_type for item in response.items]
    assert kinds == ["message", "reasoning", "function_call", "function_call_output", "message"]
    answer = response.items[-1].text
    assert 250 <= len(answer.split()) <= 300
    assert any(ord(character) > 0x1F300 for character in answer)
    assert response.usage is not None
    assert 15 <= recording[-1].at <= 30
    assert max(b.at - a.at for a, b in itertools.pairwise(recording)) > 1
    deltas = [event.payload.delta_content for event in told if isinstance(event.payload, ItemDelta)]
    assert max(len(delta.split()) for delta in deltas) <= 4
    assert brief(told)[-1] == "end complete stop"


def test_events_of_other_shapes_pass_as_they_are() -> None:
    """A provider's event is not looked into."""
    event: Event = {"anything": [1, None]}
    (recorded,) = read_recording([json.dumps({"at": 0.5, "event": event})])
    assert recorded == Recorded(at=0, event=event)
