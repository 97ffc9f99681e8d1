"""The world around the actors: hosting, logs, the command line."""

from turnwire.actors import Conversation, ConversationCallbacks, ConversationOptions, Turn, TurnOptions
from turnwire.runtime.conversations import open_conversation
from turnwire.runtime.engines import HostedEngine, open_engine
from turnwire.runtime.host import Runtime, TurnCounts, open_runtime, wall_clock
from turnwire.runtime.hosting import AnyTurn, Bridge, Hosted, open_bridge, open_hosted
from turnwire.runtime.logs.memory import MemoryLog

__all__ = [
    "AnyTurn",
    "Bridge",
    "Conversation",
    "ConversationCallbacks",
    "ConversationOptions",
    "Hosted",
    "HostedEngine",
    "MemoryLog",
    "Runtime",
    "Turn",
    "TurnCounts",
    "TurnOptions",
    "open_bridge",
    "open_conversation",
    "open_engine",
    "open_hosted",
    "open_runtime",
    "wall_clock",
]
