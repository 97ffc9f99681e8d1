"""Asking a store again and again while it cannot be reached, as long as patience lasts."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from turnwire.actors.core.retry import retry_delay
from turnwire.messages.errors import LogUnavailableError

log = logging.getLogger("turnwire.engine")

_T = TypeVar("_T")


async def persist(operation: Callable[[], Awaitable[_T]], run_id: str, *, patience: float) -> _T:
    """Do something with a store, again and again as long as that cannot be reached and patience lasts."""
    give_up_at = trio.current_time() + patience
    failed = 0
    while True:
        try:
            return await operation()
        except LogUnavailableError as exc:
            delay = retry_delay(failed, base=0.05, longest=1.0)
            if trio.current_time() + delay > give_up_at:
                raise
            if failed == 0:
                log.warning("run %s: the store is away; trying again: %s", run_id, exc)
            await trio.sleep(delay)
            failed += 1
