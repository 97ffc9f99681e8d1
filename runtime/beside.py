"""Tasks that live as long as a block does, and do not change what the block raises."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio


@asynccontextmanager
async def run_beside(
    run: Callable[..., Awaitable[Any]], stop: Callable[[], Awaitable[object]], *, name: str | None = None
) -> AsyncGenerator[None, None]:
    """Start `run` (which says by `task_status` that it is up) for the length of the block; then have `stop` end it.

    What the block raises comes out as it is, not in a group: that there is a nursery is nobody's business.
    """
    failure: BaseException | None = None
    async with trio.open_nursery() as root:
        # Shielded: a task that starts under a cancelled scope cannot say that it is up, and one that is itself shielded
        # would then run for ever, unknown to us.
        with trio.CancelScope(shield=True):
            await root.start(run, name=name)
        try:
            yield
        except BaseException as exc:  # noqa: BLE001  # raised again below, where no nursery puts it into a group
            failure = exc
        finally:
            await stop()
    if failure is not None:
        try:
            raise failure
        finally:
            del failure  # an exception that is held by a frame of its own traceback is freed late
