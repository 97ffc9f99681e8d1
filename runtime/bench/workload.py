"""The events that the measurements send: turns of one message each, cut into deltas of one short word."""

from array import array
from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs

from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import (
    FinalMessage,
    ItemDelta,
    ItemDone,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseStart,
    StreamEvent,
    TraceContext,
    Usage,
)

WORDS = (" the", " turn", " goes", " on", " and", " every", " word", " of", " it", " counts", ",", " at", " last")
TRACE = TraceContext(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
START_MS = 1_700_000_000_000


@attrs.frozen
class Shape:
    """How many turns, how long each, and how many events of one turn come in a row."""

    name: str
    turns: int
    deltas: int
    burst: int

    @property
    def events(self) -> int:
        """How many events that are in all: each turn also starts and ends, and so does its message."""
        return self.turns * (self.deltas + 4)


def turn_events(turn: int, deltas: int) -> Iterator[StreamEvent]:
    """Make the events of one turn: start, message start, deltas, message done, done."""
    run_id, item_id = f"run_{turn:016x}", f"msg_{turn:016x}"
    words = [WORDS[i % len(WORDS)] for i in range(deltas)]
    payloads: list[Payload] = [
        ResponseStart(
            response_id=run_id, turn_id=run_id, thread_id="th", model_id="m", provider_id="p", created_at=START_MS
        ),
        ItemStart(item_id=item_id, item_type="message"),
        *(ItemDelta(item_id=item_id, delta_content=word) for word in words),
        ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content="".join(words))),
        ResponseDone(
            response_id=run_id,
            status="complete",
            usage=Usage(prompt_tokens=10, completion_tokens=deltas, total_tokens=10 + deltas),
            finish_reason="stop",
        ),
    ]
    for number, payload in enumerate(payloads):
        event_id = f"ev_{turn:016x}{number:016x}"
        yield StreamEvent(
            event_id=event_id, timestamp=START_MS + number, run_id=run_id, trace_context=TRACE, payload=payload
        )


def encoded(turns: Sequence[Sequence[StreamEvent]]) -> tuple[tuple[bytes, ...], ...]:
    """The same as JSON bytes. Tuples, which the garbage collector leaves alone once it has seen what is in them."""
    return tuple(tuple(encode_event(event) for event in events) for events in turns)


_T = TypeVar("_T")


def arrivals(shape: Shape, turns: Sequence[Sequence[_T]]) -> tuple["array[int]", tuple[_T, ...]]:
    """Give the events in the order of arrival, `burst` of each turn in rotation, and beside them whose they are."""
    order = [
        (turn, event)
        for first in range(0, shape.deltas + 4, shape.burst)
        for turn in range(shape.turns)
        for event in range(first, min(first + shape.burst, shape.deltas + 4))
    ]
    return array("l", [turn for turn, _ in order]), tuple(turns[turn][event] for turn, event in order)
