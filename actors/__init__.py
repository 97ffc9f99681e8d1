"""The actors: turns, conversations and the agent loop as supervised tasks, and what they need from the world."""

from turnwire.actors.change_feed import ChangeFeed
from turnwire.actors.conversation import Conversation
from turnwire.actors.core.chunking import AnyOf, ChunkStrategy, EveryN, Immediate, Punctuation, WordBoundary
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.gradient import DEFAULT_GRADIENT
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.core.loop import LoopState, LoopStrategy, all_of, max_iterations, until_finish_reason
from turnwire.actors.core.message_list import Messages
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.recovery import Recovered, Recovery, resume_turn
from turnwire.actors.core.restarts import RestartBudget
from turnwire.actors.core.retry import RetryPolicy, retry_delay
from turnwire.actors.core.text import estimate_tokens
from turnwire.actors.core.tool_results import ToolResult
from turnwire.actors.core.toolset import Tool, Tools, ToolSet, tool
from turnwire.actors.engine import AnnouncedTurn, Engine
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, ModelCall, ModelStream, Publish, ThreadStore
from turnwire.actors.ports import BatchLog, Log, OnEmit, RawLog, Sink, make_event_id
from turnwire.actors.supervisor import run_supervised
from turnwire.actors.tool_call import run_tool
from turnwire.actors.turn import Turn

__all__ = [
    "DEFAULT_GRADIENT",
    "AnnouncedTurn",
    "AnyOf",
    "BatchLog",
    "BufferInfo",
    "ChangeFeed",
    "ChunkStrategy",
    "Conversation",
    "ConversationCallbacks",
    "ConversationMachine",
    "ConversationOptions",
    "Engine",
    "EngineOptions",
    "EveryN",
    "Immediate",
    "Log",
    "LoopState",
    "LoopStrategy",
    "Messages",
    "Model",
    "ModelCall",
    "ModelStream",
    "OnEmit",
    "Publish",
    "Punctuation",
    "RawLog",
    "Recovered",
    "Recovery",
    "RestartBudget",
    "RetryPolicy",
    "Sink",
    "ThreadStore",
    "Tool",
    "ToolResult",
    "ToolSet",
    "Tools",
    "Turn",
    "TurnOptions",
    "WordBoundary",
    "all_of",
    "estimate_tokens",
    "make_event_id",
    "max_iterations",
    "resume_turn",
    "retry_delay",
    "run_supervised",
    "run_tool",
    "tool",
    "until_finish_reason",
]
