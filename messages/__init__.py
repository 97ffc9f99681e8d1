"""The nouns: StreamEvents in, outputs out, how they stand on the wire, and what many of them come to."""

from turnwire.messages.errors import (
    ClosedError,
    FencedError,
    InvalidEventError,
    ProtocolError,
    RetryExhaustedError,
    TooManyTurnsError,
    TurnwireError,
)
from turnwire.messages.event_codec import decode_event, encode_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import Response, ResponseItem, TurnSnapshot, fold_events, fold_outputs
from turnwire.messages.json_text import parse_json_or_text
from turnwire.messages.output_codec import decode_message, decode_output, encode_message, encode_output
from turnwire.messages.outputs import (
    Content,
    Message,
    Output,
    StreamMessage,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnEvent,
    TurnStarted,
)

__all__ = [
    "ClosedError",
    "Content",
    "FencedError",
    "InvalidEventError",
    "Message",
    "Output",
    "ProtocolError",
    "Response",
    "ResponseItem",
    "RetryExhaustedError",
    "StreamEvent",
    "StreamMessage",
    "Thinking",
    "TooManyTurnsError",
    "ToolCall",
    "TurnComplete",
    "TurnError",
    "TurnEvent",
    "TurnSnapshot",
    "TurnStarted",
    "TurnwireError",
    "decode_event",
    "decode_message",
    "decode_output",
    "encode_event",
    "encode_message",
    "encode_output",
    "fold_events",
    "fold_outputs",
    "parse_json_or_text",
]
