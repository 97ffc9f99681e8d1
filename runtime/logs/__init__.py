"""Where messages are kept: what a log is, the one in memory, and how logs are read. That in Redis is in `.redis`."""

from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.follow import Follower, RawFollower
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.logs.memory import MemoryLog

__all__ = ["Follower", "LogCounts", "MemoryLog", "RawFollower", "TurnLog"]
