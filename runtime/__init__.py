"""The world around the actors: hosting, logs, the command line."""

from turnwire.actors import Turn, TurnOptions
from turnwire.runtime.host import Runtime, open_runtime, wall_clock
from turnwire.runtime.logs.memory import MemoryLog

__all__ = ["MemoryLog", "Runtime", "Turn", "TurnOptions", "open_runtime", "wall_clock"]
