"""An `item_delta` event, made in half the time that its constructors take.

Nineteen of twenty events are this one, and most of an adapter's time is making it: a frozen attrs class sets its
fields one by one through `object.__setattr__`. Here they are set through their slots, which is what that comes to.
The test beside this room holds the result against the ordinary way.
"""

from collections.abc import Callable
from typing import Any

from turnwire.messages.events import ItemDelta, StreamEvent, TraceContext


def _setter(owner: type, field: str) -> Callable[[Any, Any], None]:
    setter: Callable[[Any, Any], None] = vars(owner)[field].__set__
    return setter


_new = object.__new__
_set_event_id = _setter(StreamEvent, "event_id")
_set_timestamp = _setter(StreamEvent, "timestamp")
_set_run_id = _setter(StreamEvent, "run_id")
_set_trace_context = _setter(StreamEvent, "trace_context")
_set_payload = _setter(StreamEvent, "payload")
_set_item_id = _setter(ItemDelta, "item_id")
_set_delta_content = _setter(ItemDelta, "delta_content")


def make_delta_event(
    event_id: str, timestamp: float, run_id: str, trace_context: TraceContext, item_id: str, text: str
) -> StreamEvent:
    """Make the event. Positional, because keywords cost a tenth of the whole."""
    payload = _new(ItemDelta)
    _set_item_id(payload, item_id)
    _set_delta_content(payload, text)
    event = _new(StreamEvent)
    _set_event_id(event, event_id)
    _set_timestamp(event, timestamp)
    _set_run_id(event, run_id)
    _set_trace_context(event, trace_context)
    _set_payload(event, payload)
    return event
