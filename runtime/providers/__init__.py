"""Shells around the adapters: async sources in, StreamEvents out.

The HTTP shell is `turnwire.runtime.providers.http`; it is not imported here because it needs httpx.
"""

from turnwire.runtime.providers.endpoints import Endpoint, anthropic_messages, openai_chat, openai_responses
from turnwire.runtime.providers.pieces import Piece, PieceReader
from turnwire.runtime.providers.streams import adapt_batches, adapt_stream

__all__ = [
    "Endpoint",
    "Piece",
    "PieceReader",
    "adapt_batches",
    "adapt_stream",
    "anthropic_messages",
    "openai_chat",
    "openai_responses",
]
