"""Asking a store again and again while it cannot be reached, as long as patience lasts."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from math import inf
from typing import TypeVar

import trio

from turnwire.actors.core.retry import Patience
from turnwire.messages.errors import LogUnavailableError

log = logging.getLogger("turnwire.engine")

_T = TypeVar("_T")


async def persist(
    operation: Callable[[], Awaitable[_T]],
    *,
    patience: float = inf,
    base: float = 0.05,
    longest: float = 1.0,
    on_outage: Callable[[LogUnavailableError], object] | None = None,
) -> _T:
    """Do something that may be done twice, again and again as long as the store is away and patience lasts.

    Waits `base` seconds at first, `longest` at last. `on_outage` is told the first failure, if another try follows.
    Raises LogUnavailableError.
    """
    waits = Patience(patience, now=trio.current_time(), base=base, longest=longest)
    while True:
        try:
            return await operation()
        except LogUnavailableError as exc:
            delay = waits.delay(now=trio.current_time())
            if delay is None:
                raise
            if waits.failed == 1 and on_outage is not None:
                on_outage(exc)
            await trio.sleep(delay)


async def persist_for_run(run_id: str, operation: Callable[[], Awaitable[_T]], *, patience: float) -> _T:
    """Persist for a run of the engine, whose id the log is told."""
    return await persist(operation, patience=patience, on_outage=partial(_say_outage, run_id))


def _say_outage(run_id: str, exc: LogUnavailableError) -> None:
    log.warning("run %s: the store is away; trying again: %s", run_id, exc)
