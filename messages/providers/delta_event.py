"""An `item_delta` event, made in half the time that its constructors take.

Nineteen of twenty events are this one, and most of an adapter's time is making it. How: messages/slots.py.
"""

from turnwire.messages.events import ItemDelta, StreamEvent, TraceContext
from turnwire.messages.slots import slot_setter

_new = object.__new__
_set_event_id = slot_setter(StreamEvent, "event_id")
_set_timestamp = slot_setter(StreamEvent, "timestamp")
_set_run_id = slot_setter(StreamEvent, "run_id")
_set_trace_context = slot_setter(StreamEvent, "trace_context")
_set_payload = slot_setter(StreamEvent, "payload")
_set_item_id = slot_setter(ItemDelta, "item_id")
_set_delta_content = slot_setter(ItemDelta, "delta_content")


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
