"""A Trio stream as an asyncio host reads it: many entries to a crossing, few read ahead, let go of when left."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import trio

from turnwire.actors.stream_ends import closing
from turnwire.runtime.hosting.block import Block
from turnwire.runtime.hosting.crossing import Crossing

AHEAD = 16
"""Entries taken from a stream before they are asked for: as many as a log's reader gives without a pause."""

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Stream(Protocol[_T_co]):
    """What `iterate` gives: `async for` over it; `async with` around that, for whoever may stop early."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> _T_co: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    async def aclose(self) -> None:
        """Let go of what is read, and wait for its cleanup. Twice is fine."""
        ...


@asynccontextmanager
async def opened(source: AsyncIterable[_T]) -> AsyncGenerator[AsyncIterable[_T], None]:
    """Hold a stream open, in the way that it can be."""
    if hasattr(source, "__aenter__"):
        async with cast("Any", source) as entered:
            yield entered
    else:
        async with closing(source):
            yield source


class _Pipe(Generic[_T]):
    """Between the Trio task that reads and the host: neither holds the other."""

    def __init__(self, source: AsyncIterable[_T], ahead: int) -> None:
        self.entries: deque[_T] = deque()
        self.news = asyncio.Event()
        self._source = source
        self._ahead = ahead
        self._is_wanted = False
        self._demand: trio.Event | None = None

    def want(self) -> None:
        """Say that the host waits for an entry."""
        self._is_wanted = True
        self.took()

    def took(self) -> None:
        """Say that the host has taken one."""
        if self._demand is not None:
            self._demand.set()

    async def run(self) -> None:
        """Be the Trio task that reads."""
        async with opened(self._source) as source:
            entries = aiter(source)
            while True:
                while len(self.entries) >= self._ahead and not self._is_wanted:
                    self._demand = trio.Event()
                    await self._demand.wait()
                try:
                    entry = await anext(entries)
                except StopAsyncIteration:
                    return
                self.entries.append(entry)
                self._is_wanted = False
                self.news.set()


class GuestStream(Generic[_T]):
    """Reads a Trio stream from asyncio. Cancelling a read loses nothing: the next one goes on."""

    def __init__(self, block: Block[Any], source: AsyncIterable[_T], ahead: int) -> None:
        self._block = block
        self._pipe = _Pipe(source, ahead)
        self._crossing: Crossing[None] | None = None
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        pipe = self._pipe
        if not pipe.entries:
            await self._fill()
        entry = pipe.entries.popleft()
        pipe.took()
        return entry

    async def _fill(self) -> None:
        pipe = self._pipe
        if self._is_closed:
            raise StopAsyncIteration
        if self._crossing is None:
            self._crossing = self._block.start(pipe.run, name="stream to the host", on_end=pipe.news.set)
        while not pipe.entries:
            if self._crossing.ended.is_set():
                self._is_closed = True
                await self._block.wait(self._crossing)  # raises what the stream has raised
                raise StopAsyncIteration
            pipe.want()
            pipe.news.clear()
            await pipe.news.wait()

    async def aclose(self) -> None:
        """Let go of what is read, and wait for its cleanup. Twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        self._pipe.entries.clear()
        if self._crossing is not None:
            self._crossing.scope.cancel()
            await self._crossing.wait_cleanup()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # A loop that was left early and forgot us. The collector may call from any thread.
        if self._crossing is not None and not self._is_closed and not self._crossing.ended.is_set():
            self._block.guest.call_soon(self._crossing.scope.cancel)


class DirectStream(Generic[_T]):
    """Reads a Trio stream from Trio: the same face, with next to nothing behind it."""

    def __init__(self, source: AsyncIterable[_T]) -> None:
        self._source = source
        self._held = AsyncExitStack()
        self._entries: AsyncIterator[_T] | None = None
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        if self._is_closed:
            raise StopAsyncIteration
        if self._entries is None:
            self._entries = aiter(await self._held.enter_async_context(opened(self._source)))
        try:
            return await anext(self._entries)
        except StopAsyncIteration:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Let go of what is read. Twice is fine."""
        self._is_closed = True
        await self._held.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        await self.aclose()
