"""Waiting, in a task of an asyncio host, for something that must not be left behind."""

import asyncio
from collections.abc import Callable

import anyio


def _nothing() -> None:
    pass


async def wait_through(
    event: asyncio.Event, on_cancel: Callable[[], object] = _nothing
) -> asyncio.CancelledError | None:
    """Wait for the event, also when cancelled meanwhile: then `on_cancel` is called once, to hurry things up.

    Gives the cancellation, for the caller to raise once it has let go of everything.
    """
    try:
        await event.wait()
    except asyncio.CancelledError as exc:
        cancelled = exc
    else:
        return None
    on_cancel()
    # asyncio cancels once; AnyIO would cancel this task again in every round of the loop, were it not for the shield.
    with anyio.CancelScope(shield=True):
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                continue  # told already; whoever catches the first one sees by `task.cancelling()` that there were more
    try:
        return cancelled
    finally:
        del cancelled  # an exception that is held by a frame of its own traceback is freed late
