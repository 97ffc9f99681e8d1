"""A little patience with a log that is away: a server that is back within a second is no reason to refuse anybody."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from turnwire.actors.core.retry import retry_delay
from turnwire.messages.errors import LogUnavailableError

PATIENCE = 1.0  # seconds: longer than a lost connection takes to be made again, shorter than a client's own patience

_T = TypeVar("_T")


async def patiently(operation: Callable[[], Awaitable[_T]]) -> _T:
    """Do something that may be done twice, again and again while the log is away. Raises LogUnavailableError."""
    give_up_at, failed = trio.current_time() + PATIENCE, 0
    while True:
        try:
            return await operation()
        except LogUnavailableError:
            delay = retry_delay(failed, base=0.02, longest=0.25)
            if trio.current_time() + delay > give_up_at:
                raise
            failed += 1
            await trio.sleep(delay)
