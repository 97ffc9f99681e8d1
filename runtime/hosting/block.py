"""A Trio block that stands beside a block of an asyncio host: entered, held, left and crashed together.

```
host task                        Trio task
async with open_block(manager)   async with manager as value:
    ...                              calls of the host run in a nursery in here
    leaves or raises          →      the same is raised in here; the manager sees it
    is cancelled              →      the scope around the manager is cancelled; its shielded cleanup is waited for
    is cancelled, then raises ←      the manager crashes: what it raises is what the host's block raises
```
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypeVar, cast

import trio

from turnwire.messages.errors import ClosedError, CrashedError
from turnwire.runtime.hosting.crossing import Crossing, InterruptedCallError
from turnwire.runtime.hosting.guest import Guest, join_guest
from turnwire.runtime.hosting.waiting import wait_through

_T = TypeVar("_T")
_V = TypeVar("_V")


@asynccontextmanager
async def open_guest_block(manager: AbstractAsyncContextManager[_V]) -> "AsyncGenerator[Block[_V], None]":
    """Enter a Trio context manager from a task of an asyncio host, with the Trio of this thread."""
    guest = await join_guest()
    try:
        block = Block(guest, manager)
        async with _hold(block, guest.start_crossing):
            yield block
    finally:
        await guest.leave()


@asynccontextmanager
async def _hold(block: "Block[_V]", start: Callable[[Crossing[Any], str], object]) -> AsyncGenerator[None, None]:
    """Keep the block for the length of the host's."""
    await block.enter(start)
    failure: BaseException | None = None
    try:
        yield
    except BaseException as exc:  # noqa: BLE001  # raised again by `leave`, unless the manager swallows it
        failure = exc
    try:
        await block.leave(failure)
    finally:
        del failure  # an exception that is held by a frame of its own traceback is freed late


class Block(Generic[_V]):
    """One Trio context manager, and the calls that the host makes while it is open."""

    value: _V
    """What the manager gave."""

    def __init__(
        self, guest: Guest, manager: AbstractAsyncContextManager[_V], parent: "Block[Any] | None" = None
    ) -> None:
        self.guest = guest
        self._parent = parent
        self._manager = manager
        self._crossing: Crossing[None] = Crossing(self._run, on_end=self._ended)
        self._calls: trio.Nursery | None = None
        self._settled = asyncio.Event()  # it is entered, or will not be
        self._leave = trio.Event()
        self._thrown: Exception | None = None
        self._crash: BaseException | None = None
        self._host_task: asyncio.Task[Any] | None = None
        self._is_held = False  # is the host inside its block?
        self._is_interrupted = False

    # Calls of the host

    async def call(self, work: Callable[[], Awaitable[_T]], *, name: str) -> _T:
        """Do some Trio work inside the block, and wait for it."""
        return await self.wait(self.start(work, name=name))

    async def clean_up(self, work: Callable[[], Awaitable[object]], *, name: str) -> None:
        """Do some Trio work for a host that is cancelled: under a cancelled scope, as it would be on Trio."""
        crossing = self.start(work, name=name)
        crossing.scope.cancel()
        await crossing.wait_cleanup()

    async def wait(self, crossing: Crossing[_T]) -> _T:
        """Wait for work that was started."""
        try:
            return await crossing.wait()
        except InterruptedCallError:
            pass
        if self._is_held and (cancelled := await self._learn_crash()) is not None:
            raise cancelled
        raise self.refusal() from self._crash

    def start(
        self, work: Callable[[], Awaitable[_T]], *, name: str, on_end: Callable[[], object] | None = None
    ) -> Crossing[_T]:
        """Start some Trio work inside the block. Raises ClosedError, or CrashedError, when it is over."""
        crossing = Crossing(work, on_end=on_end)
        self._start(crossing, name)
        return crossing

    @asynccontextmanager
    async def nest(self, manager: AbstractAsyncContextManager[_T]) -> AsyncGenerator[_T, None]:
        """Enter another Trio context manager inside this block."""
        inner = Block(self.guest, manager, self)
        async with _hold(inner, self._start):
            yield inner.value

    def refusal(self) -> ClosedError:
        """Say why the block takes no calls."""
        if self._crash is not None:
            return CrashedError(f"the Trio side has crashed: {self._crash!r}")
        return ClosedError("the Trio side is closed, or was closed while this call was waiting for it")

    def raise_if_over(self) -> None:
        """Raise ClosedError, or CrashedError, when the block takes no calls."""
        if self._calls is None or self._leave.is_set() or self._crossing.ended.is_set():
            raise self.refusal() from self._crash

    def _start(self, crossing: Crossing[Any], name: str) -> None:
        self.raise_if_over()
        try:
            self.guest.start_crossing(crossing, name, self._calls)
        except RuntimeError:  # the nursery takes no more: the block is on its way out
            raise self.refusal() from self._crash

    # The host's block

    async def enter(self, start: Callable[[Crossing[Any], str], object]) -> None:
        """Start the Trio side, and wait until its manager is entered. Raises what that raises."""
        self._host_task = asyncio.current_task()
        start(self._crossing, "block of the host")
        cancelled = await wait_through(self._settled, self._crossing.scope.cancel)
        if cancelled is None and not self._crossing.ended.is_set():
            self._is_held = True
            return
        await wait_through(self._crossing.ended)
        self._unwrap_error()
        raise cancelled or self.refusal()

    async def leave(self, failure: BaseException | None) -> None:
        """Have the manager left the way the host's block was left, wait for it, and raise what comes of it."""
        self._is_held = False
        if self._is_interrupted and self._host_task is not None:
            self._host_task.uncancel()  # it has served: what comes now is the crash itself
        is_cancelled = failure is not None and not isinstance(failure, Exception)
        if is_cancelled:
            self._crossing.scope.cancel()
        self._thrown = None if is_cancelled else cast("Exception | None", failure)
        self._leave.set()
        cancelled = await wait_through(self._crossing.ended, self._crossing.scope.cancel)
        try:
            is_left = self._unwrap_error()
            if cancelled is not None:
                raise cancelled
            if self._is_interrupted and isinstance(failure, asyncio.CancelledError):
                await self._learn_crash()
                if isinstance(self._crash, KeyboardInterrupt):
                    raise self._crash
                raise self.refusal() from self._crash
            if failure is not None and not (is_left and self._thrown is failure):  # else the manager has swallowed it
                raise failure
        finally:
            self._thrown = None
            del failure, cancelled

    async def _learn_crash(self) -> asyncio.CancelledError | None:
        """Wait until it is known why the block has ended while it was held: its own crash, or one around it."""
        cancelled = await wait_through(self._crossing.ended)
        if cancelled is None and self._crash is None:
            around = self.guest if self._parent is None else self._parent
            cancelled = await around.wait_ended()
            self._crash = around.failure
        return cancelled

    async def wait_ended(self) -> asyncio.CancelledError | None:
        """Wait for the end of the Trio side, however often cancelled meanwhile; gives the cancellation."""
        return await wait_through(self._crossing.ended)

    @property
    def failure(self) -> BaseException | None:
        """What it has crashed with, if it has."""
        return self._crash

    def _unwrap_error(self) -> bool:
        """Raise what the Trio side has raised. Else say whether it has come to its end, rather than be cancelled."""
        result = self._crossing.take_result()
        if result is not None:
            result.unwrap()
        return result is not None

    # Trio's side

    async def _run(self) -> None:
        async with self._manager as self.value:
            thrown: BaseException | None = None
            async with trio.open_nursery() as self._calls:
                self._settled.set()
                try:
                    await self._leave.wait()
                    thrown = self._thrown
                except trio.Cancelled as exc:
                    thrown = exc
                self._calls.cancel_scope.cancel()
            if thrown is not None:  # out here: a nursery would put it into a group, and the manager knows of none
                try:
                    raise thrown
                finally:
                    del thrown  # an exception that is held by a frame of its own traceback is freed late

    def _ended(self) -> None:
        self._settled.set()
        if not self._leave.is_set():
            self._crash = self._crossing.error or self.guest.failure
        if self._is_held and self._host_task is not None:
            self._is_interrupted = True
            self._host_task.cancel("the Trio side of this block has ended")
