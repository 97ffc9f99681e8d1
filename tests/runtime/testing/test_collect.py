"""Turns that are run for a test, and turns of a log that become one."""

from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages import StreamEvent, encode_event
from turnwire.messages.events import FinalMessage, ItemDelta, ItemDone
from turnwire.messages.outputs import Message
from turnwire.runtime.record import Recorded
from turnwire.runtime.testing import (
    MemoryLog,
    assert_outputs,
    assert_says,
    check_saved_turn,
    collect_turn,
    read_turn_events,
    save_turn,
)


def whole_turn() -> list[StreamEvent]:
    return [started("t7", "th7"), begin("m"), delta("m", "secret"), said("m", "secret word"), finished()]


def texts_in(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.iterdir())


async def stream(events: list[StreamEvent]) -> AsyncIterator[StreamEvent]:
    for event in events:
        await trio.sleep(0.5)
        yield event


async def test_a_turn_is_collected_from_a_list(autojump_clock: MockClock) -> None:
    """Events or their JSON; the ids are those that the stream names."""
    first, *rest = whole_turn()
    events: list[StreamEvent | bytes | str] = [encode_event(first), *rest]
    turn = await collect_turn(events)
    assert_outputs(turn, [{"type": "turn_started", "turnId": "t7", "threadId": "th7"}, ..., {"type": "turn_complete"}])
    assert_says(turn, "secret word")
    assert len(turn.times) == len(turn.messages)


async def test_a_turn_is_collected_from_a_stream_with_exact_times(autojump_clock: MockClock) -> None:
    """They count from the opening of the turn, which is its first event."""
    turn = await collect_turn(stream(whole_turn()))
    assert turn.times == (0.0, 1.5, 2.0)


async def test_a_recording_is_played_in_its_own_time(autojump_clock: MockClock) -> None:
    """Stalls included."""
    recording = [Recorded(at=10.0 * number, event=event) for number, event in enumerate(whole_turn())]
    turn = await collect_turn(recording)
    assert turn.times == (0.0, 21.0, 30.0, 40.0)


async def test_a_turn_that_names_nothing_has_ids_of_its_own(autojump_clock: MockClock) -> None:
    """Also one with no events at all."""
    turn = await collect_turn([begin("m"), said("m", "x")])
    assert turn.messages[0].turn_id == "turn-1"
    assert (await collect_turn(list[StreamEvent]())).snapshot.items == ()


async def test_a_turn_of_a_log_is_saved_and_checked(autojump_clock: MockClock, tmp_path: Path) -> None:
    """With the timing that its events' own timestamps tell."""
    log, path = MemoryLog(), tmp_path / "turn.jsonl"
    events = [attrs.evolve(event, timestamp=1000 + 2500 * number) for number, event in enumerate(whole_turn())]
    await log.append_events("run", events)
    assert [it.at for it in await read_turn_events(log, "run")] == [0.0, 2.5, 5.0, 7.5, 10.0]
    await save_turn(log, "run", path)
    turn = await check_saved_turn(path)
    assert turn.times[-1] == 10.0
    assert_says(turn, "secret word")


async def test_a_saved_turn_that_comes_out_otherwise_is_shown(autojump_clock: MockClock, tmp_path: Path) -> None:
    """By the same report as any other assert."""
    log, path = MemoryLog(), tmp_path / "turn.jsonl"
    await log.append_events("run", whole_turn())
    await save_turn(log, "run", path)
    expected = path.with_name("turn.jsonl.expected")
    expected.write_text(expected.read_text().replace("secret word", "another word"))
    with pytest.raises(AssertionError, match="differs in content"):
        await check_saved_turn(path)


async def test_what_is_private_can_be_scrubbed(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Before anything is written; what is expected is of the scrubbed events."""
    log, path = MemoryLog(), tmp_path / "turn.jsonl"
    await log.append_events("run", whole_turn())

    def scrub(event: StreamEvent) -> StreamEvent:
        match event.payload:
            case ItemDelta(item_id=item_id, delta_content=text):
                return attrs.evolve(event, payload=ItemDelta(item_id=item_id, delta_content="x" * len(text)))
            case ItemDone(item_id=item_id, final_item=FinalMessage(content=text)):
                final = FinalMessage(id=item_id, content="x" * len(text))
                return attrs.evolve(event, payload=ItemDone(item_id=item_id, final_item=final))
            case _:
                return event

    await save_turn(log, "run", path, scrub=scrub)
    assert "secret" not in texts_in(tmp_path)
    turn = await check_saved_turn(path)
    assert [item.content for item in turn.snapshot.items if isinstance(item, Message)] == ["x" * len("secret word")]


async def test_a_run_that_the_log_does_not_have_is_named(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(LookupError, match="no events of run nobody"):
        await save_turn(MemoryLog(), "nobody", tmp_path / "turn.jsonl")
    assert texts_in(tmp_path) == ""


async def test_a_long_run_is_read_page_by_page(autojump_clock: MockClock) -> None:
    """To its end."""
    log = MemoryLog()
    await log.append_events("run", [delta("m", "x") for _ in range(600)])
    assert len(await read_turn_events(log, "run")) == 600
