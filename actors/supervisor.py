"""Keeps a long-lived task running: starts it again when it fails, within a budget; past that the failure goes up.

For tailers, worker loops and servers. A turn is not restarted: its failure is its end, and stays in it.
"""

import logging
from collections.abc import Awaitable, Callable

import trio

from turnwire.actors.core.restarts import RestartBudget

log = logging.getLogger("turnwire.supervisor")


async def run_supervised(body: Callable[[], Awaitable[object]], *, name: str, budget: RestartBudget) -> None:
    """Run `body` until it returns. When it raises, wait as the budget says and run it again, or let the error go up."""
    while True:
        try:
            await body()
        except Exception as exc:
            delay = budget.spend(now=trio.current_time())
            if delay is None:
                log.exception("%s failed again; its restart budget is spent", name)
                raise
            log.warning("%s failed and is started again in %g s", name, delay, exc_info=exc)
        else:
            return
        await trio.sleep(delay)
