"""What a service stands on: logs, queue, directory of turns, threads; in memory or in Redis."""

from turnwire.runtime.backend.backend import Backend, open_backend
from turnwire.runtime.backend.directory import ListedTurn, RecentTurns, TurnDirectory

__all__ = ["Backend", "ListedTurn", "RecentTurns", "TurnDirectory", "open_backend"]
