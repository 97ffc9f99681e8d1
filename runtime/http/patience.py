"""A little patience with a log that is away: a server that is back within a second is no reason to refuse anybody."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnwire.actors.persist import persist

PATIENCE = 1.0  # seconds: longer than a lost connection takes to be made again, shorter than a client's own patience

_T = TypeVar("_T")


async def patiently(operation: Callable[[], Awaitable[_T]]) -> _T:
    """Do something that may be done twice, again and again while the log is away. Raises LogUnavailableError."""
    return await persist(operation, patience=PATIENCE, base=0.02, longest=0.25)
