"""Trio gives up waiting for a coroutine of its host: by a scope of its own, while everything else goes on."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
import trio

from tests.kit.loops import Runner, on_asyncio
from turnwire.runtime import open_bridge


@on_asyncio
def test_a_scope_of_trio_s_cancels_the_host_s_coroutine_and_waits_for_it(run: Runner) -> None:
    """The coroutine has cleaned up when the scope is left; then the Trio side goes on, and so does the bridge."""

    async def main() -> list[str]:
        told: list[str] = []
        begun, cleaning, let_go = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def of_host() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as exc:
                told.append(f"host: {exc}")
                cleaning.set()
                await let_go.wait()
                told.append("host has cleaned up")
                raise

        async def of_trio(call_host: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> str:
            with scope:
                await call_host()
            told.append(f"trio: {scope.cancelled_caught}")
            await trio.lowlevel.checkpoint()
            return "went on"

        async with open_bridge() as bridge:
            scope = trio.CancelScope()
            task = asyncio.create_task(bridge.call(of_trio, bridge.on_host(of_host), scope))
            await begun.wait()
            scope.cancel()
            await cleaning.wait()
            for _ in range(5):
                await bridge.call(trio.lowlevel.checkpoint)  # others go on meanwhile, and it still waits
            assert told == ["host: cancelled by Trio"]
            let_go.set()
            told.append(await task)
        return told

    assert run(main) == ["host: cancelled by Trio", "host has cleaned up", "trio: True", "went on"]


@on_asyncio
def test_a_host_that_is_done_all_the_same_gives_its_result(run: Runner) -> None:
    """What it has done is done: the value is not thrown away for a cancellation that came too late."""

    async def main() -> None:
        begun = asyncio.Event()

        async def of_host() -> str:
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return "written"

        async def of_trio(call_host: Callable[[], Awaitable[str]], scope: trio.CancelScope) -> str:
            with scope:
                return await call_host()
            raise AssertionError("not reached")

        async with open_bridge() as bridge:
            scope = trio.CancelScope()
            task = asyncio.create_task(bridge.call(of_trio, bridge.on_host(of_host), scope))
            await begun.wait()
            scope.cancel()
            assert await task == "written"

    run(main)


@on_asyncio
def test_an_error_in_the_host_s_cleanup_reaches_trio(run: Runner) -> None:
    """In place of the cancellation, which would hide it."""

    async def main() -> None:
        begun = asyncio.Event()

        async def of_host() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise OSError("disk full")

        async def of_trio(call_host: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> None:
            with scope:
                await call_host()

        async with open_bridge() as bridge:
            scope = trio.CancelScope()
            task = asyncio.create_task(bridge.call(of_trio, bridge.on_host(of_host), scope))
            await begun.wait()
            scope.cancel()
            with pytest.raises(OSError, match="disk full"):
                await task

    run(main)


@on_asyncio
def test_a_host_is_not_called_from_a_scope_that_is_cancelled_already(run: Runner) -> None:
    """Its coroutine does not begin."""

    async def main() -> None:
        called: list[str] = []

        async def of_host() -> None:
            called.append("begun")

        async def of_trio(call_host: Callable[[], Awaitable[None]]) -> bool:
            with trio.CancelScope() as scope:
                scope.cancel()
                await call_host()
            return scope.cancelled_caught

        async with open_bridge() as bridge:
            assert await bridge.call(of_trio, bridge.on_host(of_host))
            assert called == []
            assert len(asyncio.all_tasks()) == 1

    run(main)
