"""A growing message and its envelope, made in half the time that their constructors take.

Nearly every output is this one. A frozen attrs class sets its fields one by one through `object.__setattr__`; here they
are set through their slots, which is what that comes to. The test beside this room holds the results against the
ordinary way.
"""

from collections.abc import Callable
from typing import Any

from turnwire.messages.events import Origin
from turnwire.messages.outputs import ContentStatus, Message, StreamMessage


def _setter(owner: type, field: str) -> Callable[[Any, Any], None]:
    setter: Callable[[Any, Any], None] = vars(owner)[field].__set__
    return setter


_new = object.__new__
_set_message_turn_id = _setter(Message, "turn_id")
_set_thread_id = _setter(Message, "thread_id")
_set_item_id = _setter(Message, "item_id")
_set_status = _setter(Message, "status")
_set_content = _setter(Message, "content")
_set_origin = _setter(Message, "origin")
_set_error_code = _setter(Message, "error_code")
_set_error_message = _setter(Message, "error_message")
_set_event_id = _setter(StreamMessage, "event_id")
_set_timestamp = _setter(StreamMessage, "timestamp")
_set_turn_id = _setter(StreamMessage, "turn_id")
_set_payload = _setter(StreamMessage, "payload")


def make_message(
    turn_id: str, thread_id: str, item_id: str, status: ContentStatus, content: str, origin: Origin
) -> Message:
    """Make a message without an error. Positional, because keywords cost a tenth of the whole."""
    message = _new(Message)
    _set_message_turn_id(message, turn_id)
    _set_thread_id(message, thread_id)
    _set_item_id(message, item_id)
    _set_status(message, status)
    _set_content(message, content)
    _set_origin(message, origin)
    _set_error_code(message, None)
    _set_error_message(message, None)
    return message


def make_envelope(event_id: str, timestamp: int, turn_id: str, payload: str) -> StreamMessage:
    """Make the envelope around an output's JSON."""
    envelope = _new(StreamMessage)
    _set_event_id(envelope, event_id)
    _set_timestamp(envelope, timestamp)
    _set_turn_id(envelope, turn_id)
    _set_payload(envelope, payload)
    return envelope
