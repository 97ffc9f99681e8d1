"""Trio context managers beside a block of an asyncio host: how they are entered, left, cancelled and crashed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import pytest
import trio

from tests.kit.loops import Runner, on_asyncio, on_every_loop, wait_cancelled
from turnwire.messages.errors import ClosedError, CrashedError
from turnwire.runtime import Bridge, open_bridge


class Place:
    """A Trio context manager that tells what happens to it, and can be made to crash from within."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.crash = trio.Event()
        self.cleaning = trio.Event()
        self.let_go = trio.Event()
        self.let_go.set()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[str, None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._crash_when_told)
            try:
                yield "value"
            except BaseException as exc:
                self.told.append(type(exc).__name__)
                raise
            finally:
                self.cleaning.set()
                with trio.CancelScope(shield=True):
                    await self.let_go.wait()
                self.told.append("left")
                nursery.cancel_scope.cancel()

    async def _crash_when_told(self) -> None:
        await self.crash.wait()
        raise LookupError("crashed")


@on_every_loop
def test_a_manager_is_held_for_the_length_of_the_block(run: Runner) -> None:
    """Entered before its body begins, left when that has ended."""

    async def main() -> list[str]:
        place = Place()
        async with open_bridge() as bridge, bridge.enter(place.open()) as value:
            place.told.append(value)
        return place.told

    assert run(main) == ["value", "left"]


@on_every_loop
def test_the_manager_sees_what_the_body_raises(run: Runner) -> None:
    """And may let it pass, as the object it is; swallow it; or raise something else."""
    seen: list[BaseException] = []

    @asynccontextmanager
    async def catching(instead: Exception | None) -> AsyncGenerator[None, None]:
        try:
            yield
        except ValueError as exc:
            seen.append(exc)
            if instead is not None:
                raise instead from exc

    @asynccontextmanager
    async def passing() -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await trio.lowlevel.checkpoint()

    async def main() -> None:
        error = ValueError("of the body")
        async with open_bridge() as bridge:
            with pytest.raises(ValueError, match="of the body") as caught:
                async with bridge.enter(passing()):
                    raise error
            assert caught.value is error
            async with bridge.enter(catching(None)):
                raise error
            with pytest.raises(OSError, match="instead"):
                async with bridge.enter(catching(OSError("instead"))):
                    raise error
        assert seen == [error, error]

    run(main)


@on_every_loop
def test_a_manager_that_cannot_be_entered_raises_in_the_host(run: Runner) -> None:
    """As it is; the bridge goes on."""

    @asynccontextmanager
    async def closed_door() -> AsyncGenerator[None, None]:
        await trio.lowlevel.checkpoint()
        if trio.lowlevel.in_trio_task():
            raise OSError("no entry")
        yield

    async def main() -> None:
        async with open_bridge() as bridge:
            with pytest.raises(OSError, match="no entry"):
                async with bridge.enter(closed_door()):
                    raise AssertionError("not entered")
            await bridge.call(trio.lowlevel.checkpoint)

    run(main)


@on_asyncio
def test_a_crash_reaches_the_block_and_every_call_that_waits(run: Runner) -> None:
    """The block's task is interrupted and raises what the direct `async with` would; callers are told of it."""

    async def main() -> None:
        place, body_told = Place(), list[str]()
        async with open_bridge() as outer:
            with pytest.raises(ExceptionGroup) as caught:
                async with outer.enter(place.open()):
                    place.crash.set()
                    try:
                        await asyncio.Event().wait()
                    finally:
                        body_told.append("interrupted")
            assert caught.group_contains(LookupError, match="crashed")
            assert body_told == ["interrupted"]
            assert place.told == ["Cancelled", "left"]
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await asyncio.sleep(0)  # a cancellation that is still on its way would come here

    run(main)


@on_asyncio
def test_a_body_that_fails_by_itself_while_the_system_crashes_raises_the_crash(run: Runner) -> None:
    """What it fails with is most likely a consequence."""

    async def main() -> None:
        place = Place()
        async with open_bridge() as bridge:
            with pytest.raises(ExceptionGroup) as caught:
                async with bridge.enter(place.open()):
                    place.crash.set()
                    with suppress(asyncio.CancelledError):
                        await asyncio.Event().wait()
                    raise ValueError("consequence")
            assert caught.group_contains(LookupError)

    run(main)


@on_asyncio
def test_a_cancelled_host_waits_for_shielded_cleanup_and_then_ends(run: Runner) -> None:
    """The manager is cancelled at once; the host's task ends when it has cleaned up."""

    async def main() -> None:
        place, inside = Place(), asyncio.Event()
        place.let_go = trio.Event()

        async def host() -> None:
            async with open_bridge() as bridge, bridge.enter(place.open()):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(host())
        await inside.wait()
        task.cancel()
        async with open_bridge() as bridge:
            await bridge.call(place.cleaning.wait)
            assert place.told == ["Cancelled"]
            assert not task.done()
            place.let_go.set()
            await wait_cancelled(task)
        assert place.told == ["Cancelled", "left"]

    run(main)


@on_asyncio
def test_a_host_that_is_cancelled_while_it_leaves_still_waits(run: Runner) -> None:
    """The first cancellation hurries the manager, none is lost."""

    async def main() -> None:
        place, leaving = Place(), asyncio.Event()
        place.let_go = trio.Event()

        async def host() -> None:
            async with open_bridge() as bridge, bridge.enter(place.open()):
                leaving.set()

        task = asyncio.create_task(host())
        await leaving.wait()
        async with open_bridge() as bridge:
            await bridge.call(place.cleaning.wait)
            task.cancel()
            await bridge.call(trio.lowlevel.checkpoint)
            assert not task.done()
            place.let_go.set()
            await wait_cancelled(task)
        assert place.told == ["left"]

    run(main)


@on_asyncio
def test_a_host_that_is_cancelled_while_it_enters_leaves_nothing_behind(run: Runner) -> None:
    """What the manager had begun is cancelled and waited for."""

    async def main() -> list[str]:
        told: list[str] = []
        begun = asyncio.Event()

        @asynccontextmanager
        async def slow_door() -> AsyncGenerator[None, None]:
            begun.set()
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.lowlevel.checkpoint()
                told.append("cleaned")
            yield

        async def host() -> NoReturn:
            async with open_bridge() as bridge, bridge.enter(slow_door()):
                raise AssertionError("not entered")
            raise AssertionError("not reached")

        task = asyncio.create_task(host())
        await begun.wait()
        task.cancel()
        await wait_cancelled(task)
        return told

    assert run(main) == ["cleaned"]


@on_asyncio
def test_calls_inside_a_crashed_system_are_told_what_it_crashed_with(run: Runner) -> None:
    """Those that wait and those that come later; the error is the cause."""

    async def main() -> None:
        caught: list[CrashedError] = []
        bridges: list[Bridge] = []
        waiting = asyncio.Event()

        async def wait_in_trio() -> None:
            waiting.set()
            await trio.sleep_forever()

        async def call(bridge: Bridge) -> None:
            with pytest.raises(CrashedError, match="LookupError") as error:
                await bridge.call(wait_in_trio)
            caught.append(error.value)

        place = Place()
        async with asyncio.TaskGroup() as tasks:
            with pytest.raises(ExceptionGroup):
                async with open_in(place) as bridge:
                    bridges.append(bridge)
                    tasks.create_task(call(bridge))
                    await waiting.wait()
                    place.crash.set()
                    await asyncio.Event().wait()
        assert isinstance(caught[0].__cause__, ExceptionGroup)
        with pytest.raises(CrashedError, match="LookupError"):
            await bridges[0].call(wait_in_trio)

    run(main)


@on_asyncio
def test_a_manager_inside_a_crashed_one_is_interrupted_too(run: Runner) -> None:
    """Its block ends, and the crash is what comes out of the outer one."""

    async def main() -> None:
        outer, inner = Place(), Place()
        with pytest.raises(ExceptionGroup) as caught:
            async with open_in(outer) as bridge, bridge.enter(inner.open()):
                outer.crash.set()
                await asyncio.Event().wait()
        assert caught.group_contains(LookupError)
        assert inner.told == ["Cancelled", "left"]
        assert outer.told == ["BaseExceptionGroup", "left"]  # of what was cancelled inside it, as out of any nursery

    run(main)


@on_asyncio
def test_nothing_is_entered_in_a_bridge_that_is_closed(run: Runner) -> None:
    """It says so."""

    async def main() -> None:
        async with open_bridge() as bridge:
            pass
        with pytest.raises(ClosedError):
            async with bridge.enter(Place().open()):
                raise AssertionError("not entered")

    run(main)


@asynccontextmanager
async def open_in(place: Place) -> AsyncGenerator[Bridge, None]:
    """Open a bridge whose calls run inside the place, as `open_hosted` has them run inside its runtime."""
    from turnwire.runtime.hosting.block import open_guest_block
    from turnwire.runtime.hosting.bridge import GuestBridge

    async with open_guest_block(place.open()) as block:
        yield GuestBridge(block)
