"""Recorded events, put in the order of a virtual time that their own timestamps tell.

Time runs from each turn's first event, so a turn gives the same alone and among others, whenever it was recorded. A
timestamp in a turn's past counts as now.
"""

from collections.abc import Callable, Iterable

import attrs

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ResponseStart, StreamEvent

LATEST_MS = 8.64e15
"""The last moment that a date in JavaScript can name, some 275,000 years from now. Past that it is no timestamp."""


@attrs.define(eq=False)
class Scheduled:
    """One recorded turn."""

    run_id: str
    thread_id: str
    first_line: int
    base_ms: float
    arrivals: "list[Arrival]" = attrs.field(factory=list, repr=False)

    def timestamp(self, at: float) -> int:
        """Milliseconds since the epoch of a moment in this turn's own time."""
        return round(self.base_ms + at * 1000)


@attrs.frozen(eq=False)
class Arrival:
    """One event, and when it arrives: seconds since its turn's first one."""

    turn: Scheduled
    at: float
    line: int
    event: StreamEvent

    @property
    def is_last(self) -> bool:
        """Is it the last event of its turn?"""
        return self.turn.arrivals[-1] is self

    def order(self) -> tuple[float, int]:
        """What to sort arrivals of many turns by."""
        return self.at, self.line


def schedule(
    lines: Iterable[bytes], *, thread_id: str | None, complain: Callable[[int, object], None]
) -> list[Scheduled]:
    """Read all lines and schedule them by turn. A bad line is complained about by its number, and skipped.

    A turn's thread is the one its response_start names, wherever that stands, else `thread_id`; without either the
    turn is left out, and its first line complained about.
    """
    turns: dict[str, Scheduled] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = decode_event(line.rstrip(b"\r\n"))
        except InvalidEventError as exc:
            complain(number, exc)
            continue
        if not abs(event.timestamp) <= LATEST_MS:
            complain(number, InvalidEventError("is no moment in time", path="$.timestamp", event=event.event_id))
            continue
        _add(turns, event, number)
    for turn in turns.values():
        turn.thread_id = turn.thread_id or thread_id or ""
        if not turn.thread_id:
            skipped = f"its {len(turn.arrivals)} events are skipped"
            complain(turn.first_line, f"run {turn.run_id} has no response_start and no --thread is given; {skipped}")
    return [turn for turn in turns.values() if turn.thread_id]


def _add(turns: dict[str, Scheduled], event: StreamEvent, line: int) -> None:
    turn = turns.get(event.run_id)
    if turn is None:
        turn = turns[event.run_id] = Scheduled(event.run_id, "", line, event.timestamp)
    if isinstance(event.payload, ResponseStart) and not turn.thread_id:
        turn.thread_id = event.payload.thread_id
    latest = turn.arrivals[-1].at if turn.arrivals else 0.0
    turn.arrivals.append(Arrival(turn, max(latest, (event.timestamp - turn.base_ms) / 1000), line, event))
