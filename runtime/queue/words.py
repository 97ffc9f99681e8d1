"""Events that are not a provider's: a user's stop, and the end of a producer that has nothing more to say."""

import time

from turnwire.messages.events import ErrorInfo, ResponseError, StreamEvent, TraceContext, TurnAbortedByUser

TURN_CLOSED = "TURN_CLOSED"
_NO_TRACE = TraceContext(traceparent=f"00-{'0' * 32}-{'0' * 16}-00")  # what W3C calls invalid: nobody's trace


def stop_event(run_id: str, turn_id: str, reason: str) -> StreamEvent:
    """Word a stop. Repeated, it has the same id."""
    return _event(run_id, "stop", TurnAbortedByUser(turn_id=turn_id, reason=reason))


def close_event(run_id: str, reason: str) -> StreamEvent:
    """Word the end of a run whose producer ends without a terminal: it makes turn_error TURN_CLOSED."""
    error = ErrorInfo(code=TURN_CLOSED, message=reason)
    return _event(run_id, "closed", ResponseError(response_id=run_id, error=error))


def _event(run_id: str, name: str, payload: TurnAbortedByUser | ResponseError) -> StreamEvent:
    return StreamEvent(
        event_id=f"{run_id}:{name}",
        timestamp=round(time.time() * 1000),
        run_id=run_id,
        trace_context=_NO_TRACE,
        payload=payload,
    )
