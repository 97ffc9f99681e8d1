"""The short way to a delta event gives what the long way gives."""

import attrs

from turnwire.messages import decode_event, encode_event
from turnwire.messages.events import ItemDelta, StreamEvent, TraceContext
from turnwire.messages.providers.delta_event import make_delta_event


def test_the_short_way_gives_the_same_event() -> None:
    """Equal, hashable, evolvable, encodable, and with no field forgotten."""
    trace = TraceContext(traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    made = make_delta_event("e1", 7, "run", trace, "item", "Hi")
    payload = ItemDelta(item_id="item", delta_content="Hi")
    ordinary = StreamEvent(event_id="e1", timestamp=7, run_id="run", trace_context=trace, payload=payload)
    assert made == ordinary
    assert hash(made) == hash(ordinary)
    assert repr(made) == repr(ordinary)
    assert attrs.evolve(made, event_id="e2") == attrs.evolve(ordinary, event_id="e2")
    assert decode_event(encode_event(made)) == ordinary
    for noun in (made, made.payload):
        for field in attrs.fields(type(noun)):
            getattr(noun, field.name)  # a field that was never set would raise here
