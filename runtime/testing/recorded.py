"""A turn of production becomes a test: its events with their timing in a file, what readers knew at the end beside it.

`save_turn(log, run_id, path)` is called once, with the log that has the turn; `check_saved_turn(path)` in the test.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Protocol

import attrs

from turnwire.actors.core.options import TurnOptions
from turnwire.messages.entries import START, EntryId, RawEntry
from turnwire.messages.event_codec import decode_event, unstructure_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.json_text import dump_json
from turnwire.messages.output_codec import decode_output, encode_output
from turnwire.runtime.record import Recorded, load_recording
from turnwire.runtime.testing.collect import CollectedTurn, collect_turn
from turnwire.runtime.testing.expect import assert_outputs

PAGE = 256  # events read from a log at once


class ReadsEvents(Protocol):
    """What is needed of a log: `MemoryLog` and `RedisLog` have it."""

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        """Give a run's events after an id."""
        ...


@attrs.frozen(kw_only=True)
class RecordedEvent(Recorded):
    """One StreamEvent of a recording."""

    event: StreamEvent


async def read_turn_events(log: ReadsEvents, run_id: str) -> list[RecordedEvent]:
    """Read a run's events from log A, as a recording: their own timestamps are its timing.

    Raises LookupError if the log has none: it never had them, or they have expired.
    """
    recording: list[RecordedEvent] = []
    began, at, after = 0.0, 0.0, START
    while page := await log.read_events(run_id, after=after, limit=PAGE):
        for entry in page:
            event = decode_event(entry.event)
            began = event.timestamp if not recording else began
            at = max(at, (event.timestamp - began) / 1000)  # clocks of producers have been seen to jump back
            recording.append(RecordedEvent(at=at, event=event))
        after = page[-1].id
    if not recording:
        raise LookupError(f"the log has no events of run {run_id}")
    return recording


async def save_turn(
    log: ReadsEvents,
    run_id: str,
    path: str | PathLike[str],
    *,
    scrub: Callable[[StreamEvent], StreamEvent] | None = None,
    options: TurnOptions | None = None,
) -> CollectedTurn:
    """Write a run's events to `path` and what readers know at its end to `<path>.expected`; give how it ran.

    `scrub` changes each event first: what users and models said in production is seldom for a repository. What is
    expected is what this version makes of the events, so look at it once; from then on it is held to it.
    """
    recording = await read_turn_events(log, run_id)
    events = [(it.at, scrub(it.event) if scrub else it.event) for it in recording]
    turn = await collect_turn([event for _, event in events], options=options)
    _write(Path(path), [dump_json({"at": at, "event": unstructure_event(event)}).decode() for at, event in events])
    _write(_expected(path), [encode_output(output) for output in turn.snapshot.outputs])
    return turn


async def check_saved_turn(path: str | PathLike[str], *, options: TurnOptions | None = None) -> CollectedTurn:
    """Play a saved turn in its own time, and raise AssertionError unless its readers end up as expected.

    Under a mock clock it takes a moment. Gives how it ran, for more asserts.
    """
    turn = await collect_turn(load_recording(path), options=options)
    lines = _expected(path).read_text(encoding="utf-8").splitlines()
    assert_outputs(turn.snapshot, [decode_output(line) for line in lines])
    return turn


def _expected(path: str | PathLike[str]) -> Path:
    return Path(f"{path}.expected")


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
