"""One answer of a model on its way to the engine: an adapter, and where its events come from."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import aclosing

from turnwire.messages.events import StreamEvent
from turnwire.messages.providers import Adapter
from turnwire.messages.providers.continuation import Continuation
from turnwire.runtime.providers.pieces import Piece
from turnwire.runtime.providers.streams import adapt_batches


class AdaptedStream:
    """A ModelStream around an adapter. `source` is asked for the provider's pieces when it is first iterated."""

    def __init__(
        self,
        adapter: Adapter,
        source: Callable[[], AsyncIterable[Piece]],
        *,
        clean: Callable[[StreamEvent], StreamEvent] | None = None,
    ) -> None:
        self._adapter = adapter
        self._source = source
        self._clean = clean
        self._batches: AsyncGenerator[list[StreamEvent], None] | None = None

    def __aiter__(self) -> AsyncIterator[list[StreamEvent]]:
        """Give the events as they come, those that came together in one list, the terminal last."""
        if self._batches is not None:
            raise RuntimeError("the answer of a model is read once")
        self._batches = self._read()
        return self._batches

    async def _read(self) -> AsyncGenerator[list[StreamEvent], None]:
        if self._adapter.ended:  # stopped before it was read: nothing is sent any more
            return
        async with aclosing(adapt_batches(self._adapter, self._source())) as batches:
            async for batch in batches:
                yield batch if self._clean is None else list(map(self._clean, batch))

    def abort(self) -> list[StreamEvent]:
        """End the answer here: what is open is closed with what there is (C9). Nothing comes after."""
        return self._adapter.abort()

    def continuation(self) -> Continuation:
        """Give what the next request of the same run needs as its `after`."""
        return self._adapter.continuation()

    async def aclose(self) -> None:
        """Let the connection go. Twice is fine."""
        if self._batches is not None:
            await self._batches.aclose()
