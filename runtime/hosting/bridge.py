"""From the host's loop into Trio and back, with one face on every loop: on Trio itself it is a plain call.

```
async with open_bridge() as bridge:
    await bridge.call(fn, *args)                     a Trio async function
    async with bridge.enter(manager) as value:       a Trio async context manager
    async for entry in bridge.iterate(stream):       a Trio async iterator
    bridge.on_host(fn)                               an async function of the host, for Trio to await
```
"""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar, TypeVarTuple

from turnwire.actors.backend import is_trio
from turnwire.runtime.hosting.block import Block, open_guest_block
from turnwire.runtime.hosting.host_calls import make_trio_function
from turnwire.runtime.hosting.streams import AHEAD, DirectStream, GuestStream, Stream

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Ts = TypeVarTuple("_Ts")

AsgiApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[Any]]
"""An ASGI application: `app(scope, receive, send)`."""


class Bridge(Protocol):
    """The ways over. Made by `open_bridge`, or as part of `open_hosted`."""

    async def call(self, fn: Callable[[*_Ts], Awaitable[_T]], *args: *_Ts) -> _T:
        """Await a Trio async function. Cancelling the host's task cancels it and waits for its cleanup."""
        ...

    def enter(self, manager: AbstractAsyncContextManager[_T]) -> AbstractAsyncContextManager[_T]:
        """Enter a Trio async context manager for the length of the host's block; a crash of it ends that block."""
        ...

    def iterate(self, stream: AsyncIterable[_T], *, ahead: int = AHEAD) -> Stream[_T]:
        """Read a Trio stream, with at most `ahead` entries taken before they are asked for."""
        ...

    def on_host(self, fn: Callable[_P, Awaitable[_T]]) -> Callable[_P, Awaitable[_T]]:
        """Give a function for Trio that awaits `fn`, an async function of the host, on the host's loop."""
        ...

    def asgi(self, app: AsgiApp) -> AsgiApp:
        """Give an ASGI application for the host's server that runs `app`, one that is written for Trio."""
        ...


@asynccontextmanager
async def open_bridge() -> AsyncGenerator[Bridge, None]:
    """Open the ways between this loop and Trio; where this loop is Trio, there is nothing to open.

    On asyncio, Trio is a guest in this thread for as long as any such block is open in it. What is called through the
    bridge and still runs when the block is left is cancelled, and its shielded cleanup waited for.
    """
    if is_trio():
        yield DirectBridge()
    else:
        async with open_guest_block(nullcontext()) as block:
            yield GuestBridge(block)


class GuestBridge:
    """Crosses from asyncio into the Trio that is its guest."""

    def __init__(self, block: Block[Any]) -> None:
        self._block = block

    async def call(self, fn: Callable[[*_Ts], Awaitable[_T]], *args: *_Ts) -> _T:
        """Await a Trio async function; it runs in a task of its own with a copy of this task's context variables."""
        return await self._block.call(partial(fn, *args), name=f"call of {getattr(fn, '__qualname__', fn)}")

    def enter(self, manager: AbstractAsyncContextManager[_T]) -> AbstractAsyncContextManager[_T]:
        """Enter a Trio async context manager, in a Trio task that is its own."""
        return self._block.nest(manager)

    def iterate(self, stream: AsyncIterable[_T], *, ahead: int = AHEAD) -> Stream[_T]:
        """Read a Trio stream."""
        return GuestStream(self._block, stream, ahead)

    def on_host(self, fn: Callable[_P, Awaitable[_T]]) -> Callable[_P, Awaitable[_T]]:
        """Give a function for Trio that runs `fn` in a task on the host's loop."""
        return make_trio_function(fn, self._block.guest.loop)

    def asgi(self, app: AsgiApp) -> AsgiApp:
        """Give an ASGI application that crosses over for each request, and back for each `receive` and `send`."""

        async def crossing_app(scope: Any, receive: Any, send: Any) -> None:
            await self.call(app, scope, self.on_host(receive), self.on_host(send))

        return crossing_app


class DirectBridge:
    """Crosses nothing: the host's loop is Trio."""

    async def call(self, fn: Callable[[*_Ts], Awaitable[_T]], *args: *_Ts) -> _T:
        """Await a Trio async function."""
        return await fn(*args)

    def enter(self, manager: AbstractAsyncContextManager[_T]) -> AbstractAsyncContextManager[_T]:
        """Give the context manager itself."""
        return manager

    def iterate(self, stream: AsyncIterable[_T], *, ahead: int = AHEAD) -> Stream[_T]:  # noqa: ARG002  # none is
        """Read a stream; nothing is taken ahead."""
        return DirectStream(stream)

    def on_host(self, fn: Callable[_P, Awaitable[_T]]) -> Callable[_P, Awaitable[_T]]:
        """Give the function itself."""
        return fn

    def asgi(self, app: AsgiApp) -> AsgiApp:
        """Give the application itself."""
        return app
