"""The actors: turns as supervised tasks, and what they need from the world."""

from turnwire.actors.core.gradient import DEFAULT_GRADIENT
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.restarts import RestartBudget
from turnwire.actors.core.retry import retry_delay
from turnwire.actors.core.text import estimate_tokens
from turnwire.actors.ports import Log, OnEmit, Sink, make_event_id
from turnwire.actors.supervisor import run_supervised
from turnwire.actors.turn import Turn

__all__ = [
    "DEFAULT_GRADIENT",
    "BufferInfo",
    "Log",
    "OnEmit",
    "RestartBudget",
    "Sink",
    "Turn",
    "TurnOptions",
    "estimate_tokens",
    "make_event_id",
    "retry_delay",
    "run_supervised",
]
