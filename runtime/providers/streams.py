"""From any source of provider events to StreamEvents, as an async iterator that ends with the terminal.

Whoever stops reading early closes it: `async with aclosing(adapt_stream(...)) as events`. Cancelling the reader
closes the source, and with it the connection behind it.
"""

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing

import trio

from turnwire.actors.stream_ends import read_out
from turnwire.messages.events import StreamEvent
from turnwire.messages.providers import Adapter
from turnwire.runtime.providers.pieces import Piece, PieceReader, error_payload

CLOSE_GRACE = 2.0
"""Seconds that a source has for closing itself; a connection that needs longer is left to its owner."""
DRAIN_GRACE = 0.5
"""Seconds that a source has for ending by itself after the terminal."""

_log = logging.getLogger("turnwire.provider")


async def adapt_stream(adapter: Adapter, source: AsyncIterable[Piece]) -> AsyncGenerator[StreamEvent, None]:
    """Give the StreamEvents of one response, one by one, the terminal last.

    A source that fails ends the response (STREAM_TRUNCATED, or the provider's own error if that is what was raised);
    it raises nothing here. Cancellation passes through.
    """
    async with aclosing(adapt_batches(adapter, source)) as batches:
        async for batch in batches:
            for event in batch:
                yield event


async def adapt_batches(adapter: Adapter, source: AsyncIterable[Piece]) -> AsyncGenerator[list[StreamEvent], None]:
    """Give the StreamEvents of one response, those that one piece of the source made together."""
    reader = PieceReader(adapter)
    pieces = aiter(source)
    try:
        if begun := adapter.start():
            yield begun
        while not adapter.ended:
            try:
                events = reader.read(await anext(pieces))
            except StopAsyncIteration:
                events = reader.end()
            except Exception as failure:  # noqa: BLE001 - whatever broke the source, its readers get a terminal
                events = _read_failure(adapter, failure)
            if events:
                yield events
        await read_out(pieces, seconds=DRAIN_GRACE, log=_log)
    finally:
        await _close(pieces)
        if pieces is not source:
            await _close(source)


def _read_failure(adapter: Adapter, failure: Exception) -> list[StreamEvent]:
    # The type alone: a message may quote a request, and a request may hold a key.
    _log.warning("run %s: the provider stream broke: %s", adapter.run_id, type(failure).__name__)
    payload = error_payload(failure)
    return adapter.finish() if payload is None else adapter.fail_from(payload)


async def _close(source: object) -> None:
    """Close an async generator, an SDK's stream, or anything else that can be closed."""
    close = getattr(source, "aclose", None) or getattr(source, "close", None)
    if close is None:
        return
    with trio.move_on_after(CLOSE_GRACE, shield=True):
        try:
            closing = close()
            if inspect.isawaitable(closing):
                await closing
        except Exception as failure:  # noqa: BLE001 - the response is told already; a failed close changes nothing
            _log.debug("a provider stream did not close cleanly: %s", type(failure).__name__)
