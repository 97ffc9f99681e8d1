"""How a response ends: the finish reasons in our words (C13), and provider errors told apart (C10)."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from turnwire.messages.json_shapes import JsonObject, bare_text, is_object
from turnwire.messages.particulars import ErrorInfo

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "other"]
FINISH_REASONS: frozenset[FinishReason] = frozenset(get_args(FinishReason))

STREAM_TRUNCATED = "STREAM_TRUNCATED"
"""The code of a stream that ended with no terminal (C8)."""
INCOMPLETE_ARGUMENTS = "INCOMPLETE_ARGUMENTS"
"""The code of a tool call that was cut off: no tool may run on half a call (C11)."""
CONNECTION_FAILED = "CONNECTION_FAILED"
"""The code of a provider that could not be reached."""
PROVIDER_ERROR = "PROVIDER_ERROR"
"""The code of an error to which the provider gave none."""

STARTED_OVER = "the provider started over"
"""The reason with which the items of an abandoned attempt are cancelled."""

ANTHROPIC_STOP_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
    "pause_turn": "pause",
}
CHAT_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
RESPONSES_INCOMPLETE_REASONS: Mapping[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
CUT_SHORT: frozenset[FinishReason] = frozenset({"length", "content_filter", "refusal"})
"""Replies that ended so may have meant more than they said: their calls are not run."""
MAY_HALVE_CALLS = CUT_SHORT | {"other"}
"""Endings after which the last call may be half a call."""

_RETRYABLE = frozenset(
    {
        "overloaded_error",
        "overloaded",
        "rate_limit_error",
        "rate_limit_exceeded",
        "api_error",
        "timeout_error",
        "timeout",
        "server_error",
        "internal_server_error",
        "internal_error",
        "service_unavailable",
        "server_overloaded",
        "vector_store_timeout",
        CONNECTION_FAILED,
    }
)
"""Codes that speak of the provider's state, not of our request: the same request may pass later."""

_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})  # beside all from 500 up


def read_error(payload: object) -> ErrorInfo:
    """Make an ErrorInfo of a provider's error object, whichever of its fields are there.

    An object that is only the wrapping of one (`{"type": "error", "error": {...}}`) is unwrapped.
    """
    if is_object(payload) and is_object(payload.get("error")):
        payload = payload["error"]
    fields: JsonObject = payload if is_object(payload) else {"message": bare_text(payload)}
    code = bare_text(fields.get("code")) or bare_text(fields.get("type")) or PROVIDER_ERROR
    message = bare_text(fields.get("message")) or f"the provider reported {code}"
    retryable = is_retryable(code) or is_retryable(bare_text(fields.get("type")))
    return make_error(code, message, retryable=retryable, provider_error=payload)


def make_error(code: str, message: str, *, retryable: bool, **details: Any) -> ErrorInfo:
    """Make an ErrorInfo whose details say whether the same request may be sent again."""
    return ErrorInfo(code=code, message=message, details={"retryable": retryable, **details})


def is_retryable(code: str) -> bool:
    """Tell whether a provider's error code, a word or an HTTP status, can pass by waiting."""
    status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    return code in _RETRYABLE or status in _RETRYABLE_STATUS or status >= 500


def truncated() -> ErrorInfo:
    """Make the error of a stream, or of an item, that ended in the middle (C8)."""
    return make_error(STREAM_TRUNCATED, "the stream ended before its end was announced", retryable=True)


def incomplete_arguments() -> ErrorInfo:
    """Make the error of a call whose arguments were cut off (C11)."""
    return make_error(INCOMPLETE_ARGUMENTS, "the arguments of this call were cut off", retryable=False)
