"""A growing message and its envelope, made in half the time that their constructors take.

Nearly every output is this one. How: slots.py.
"""

from turnwire.messages.events import Origin
from turnwire.messages.outputs import ContentStatus, Message, StreamMessage
from turnwire.messages.slots import slot_setter

_new = object.__new__
_set_message_turn_id = slot_setter(Message, "turn_id")
_set_thread_id = slot_setter(Message, "thread_id")
_set_item_id = slot_setter(Message, "item_id")
_set_status = slot_setter(Message, "status")
_set_content = slot_setter(Message, "content")
_set_origin = slot_setter(Message, "origin")
_set_error_code = slot_setter(Message, "error_code")
_set_error_message = slot_setter(Message, "error_message")
_set_event_id = slot_setter(StreamMessage, "event_id")
_set_timestamp = slot_setter(StreamMessage, "timestamp")
_set_turn_id = slot_setter(StreamMessage, "turn_id")
_set_payload = slot_setter(StreamMessage, "payload")


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
