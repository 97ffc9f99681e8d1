"""What one run is across the requests of a tool loop: its iterations share ids, trace and bill."""

import secrets

import attrs

from turnwire.messages.particulars import TraceContext, Usage


@attrs.frozen(kw_only=True)
class Continuation:
    """What the adapter of the next request must know of the ones before it."""

    iteration: int
    used_ids: frozenset[str]
    events: int
    """How many events the run has had: the default event ids go on counting."""
    usage: Usage | None
    trace_context: TraceContext


def new_trace_context() -> TraceContext:
    """Make a fresh, valid W3C trace context for a run that was given none."""
    return TraceContext(traceparent=f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01")
