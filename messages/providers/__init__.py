"""Provider streams in our words: three adapters, each a synchronous machine without I/O."""

from collections.abc import Mapping

from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.anthropic_messages import AnthropicMessages
from turnwire.messages.providers.continuation import Continuation
from turnwire.messages.providers.item import Item, ItemKind
from turnwire.messages.providers.openai_chat import OpenAIChat
from turnwire.messages.providers.openai_responses import OpenAIResponses

ADAPTERS: Mapping[str, type[Adapter]] = {
    adapter.FORMAT: adapter for adapter in (OpenAIResponses, OpenAIChat, AnthropicMessages)
}
"""The adapters by the names of the formats they understand."""

__all__ = [
    "ADAPTERS",
    "Adapter",
    "AnthropicMessages",
    "Continuation",
    "Item",
    "ItemKind",
    "OpenAIChat",
    "OpenAIResponses",
]
