"""How a stream of somebody else's is let go of: read out after its terminal, and closed if it can be."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import cast

import trio


def closing(stream: object) -> AbstractAsyncContextManager[object]:
    """Close a stream at the end of a block, if it can be: it is not left half read for the garbage collector."""
    if hasattr(stream, "aclose"):
        return aclosing(cast("AsyncGenerator[object, None]", stream))
    return nullcontext()


async def read_out(rest: AsyncIterator[object], *, seconds: float, log: logging.Logger) -> None:
    """Read what comes after the terminal, which is nothing, so that the stream ends by itself.

    A connection that was read to its end can be used again, and an SDK's generators are left in no half state. The
    stream is told already, so whatever breaks here changes nothing.
    """
    with trio.move_on_after(seconds):
        try:
            async for _ in rest:
                pass
        except Exception as exc:  # noqa: BLE001  # as above
            # The type alone: a message may quote a request, and a request may hold a key.
            log.debug("a stream broke after its terminal: %s", type(exc).__name__)
