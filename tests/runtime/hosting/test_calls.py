"""Calls from an asyncio host into Trio: results, errors, cancellation, context."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NoReturn

import anyio
import pytest
import sniffio
import trio

from tests.kit.loops import Runner, on_asyncio, on_every_loop, wait_cancelled
from turnwire.messages.errors import ClosedError
from turnwire.runtime import Bridge, open_bridge

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


async def echo(*things: object) -> tuple[object, ...]:
    await trio.lowlevel.checkpoint()
    return things


@on_every_loop
def test_a_call_gives_what_the_function_gives(run: Runner) -> None:
    """On Trio's side, with its arguments."""

    async def tell(thing: int) -> tuple[int, str]:
        await trio.lowlevel.checkpoint()
        return thing, sniffio.current_async_library()

    async def main() -> object:
        async with open_bridge() as bridge:
            return await bridge.call(tell, 7)

    assert run(main) == (7, "trio")


@on_every_loop
def test_an_error_comes_as_it_was_raised(run: Runner) -> None:
    """The very object, not a group, with the place it came from in its traceback."""
    error = ValueError("no")

    async def fail() -> NoReturn:
        await trio.lowlevel.checkpoint()
        raise error

    async def main() -> None:
        async with open_bridge() as bridge:
            with pytest.raises(ValueError, match="no") as caught:
                await bridge.call(fail)
            assert caught.value is error
            assert caught.traceback[-1].name == "fail"
            assert await bridge.call(echo, 1) == (1,)

    run(main)


@on_every_loop
def test_a_group_stays_a_group(run: Runner) -> None:
    """What the direct call would raise as one comes as one."""

    async def fail() -> NoReturn:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.lowlevel.checkpoint)
            raise ValueError("one of several")

    async def main() -> None:
        async with open_bridge() as bridge:
            with pytest.raises(ExceptionGroup) as caught:
                await bridge.call(fail)
            assert [type(exc) for exc in caught.value.exceptions] == [ValueError]

    run(main)


class Slow:
    """Trio work that never ends by itself, and whose cleanup ends when it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cleaning = asyncio.Event()
        self.let_go = trio.Event()
        self.told: list[str] = []

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            self.told.append("cancelled")
            raise
        finally:
            self.cleaning.set()
            with trio.CancelScope(shield=True):
                await self.let_go.wait()
            self.told.append("cleaned")


@on_asyncio
def test_a_timeout_cancels_the_trio_side_and_waits_for_its_cleanup(run: Runner) -> None:
    """The host hears of its timeout when the shielded cleanup is done, and not before."""

    async def main() -> list[str]:
        slow = Slow()

        async def call(bridge: Bridge) -> None:
            timeout = asyncio.timeout(None)
            expiring = asyncio.create_task(expire(timeout))
            with pytest.raises(TimeoutError):
                async with timeout:
                    await bridge.call(slow)
            await expiring
            slow.told.append("timeout")

        async def expire(timeout: asyncio.Timeout) -> None:
            await slow.begun.wait()
            timeout.reschedule(asyncio.get_running_loop().time())

        async with open_bridge() as bridge:
            caller = asyncio.create_task(call(bridge))
            await slow.cleaning.wait()
            assert await bridge.call(echo, 1) == (1,)  # the others go on meanwhile
            assert not caller.done()
            slow.let_go.set()
            await caller
        return slow.told

    assert run(main) == ["cancelled", "cleaned", "timeout"]


@on_asyncio
def test_an_anyio_scope_cancels_the_trio_side_without_spinning(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """AnyIO cancels again in every round of its loop; whoever waits for the cleanup is not to be woken by that."""
    waits = 0
    wait = asyncio.Event.wait

    async def counted_wait(event: asyncio.Event) -> bool:
        nonlocal waits
        waits += 1
        return await wait(event)

    async def main() -> None:
        slow = Slow()
        async with open_bridge() as bridge, anyio.create_task_group() as tasks:

            async def cancel(scope: anyio.CancelScope) -> None:
                await slow.begun.wait()
                scope.cancel()
                await slow.cleaning.wait()
                monkeypatch.setattr(asyncio.Event, "wait", counted_wait)
                for _ in range(5):  # some rounds of the loop
                    await bridge.call(echo, 1)
                monkeypatch.undo()
                slow.let_go.set()

            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel, scope)
                await bridge.call(slow)
            assert scope.cancelled_caught
            assert slow.told == ["cancelled", "cleaned"]
            assert waits <= 5 + 1  # those of the five calls, and at most one of the cancelled one

    run(main)


@on_asyncio
def test_an_error_in_the_cleanup_is_not_hidden_by_the_cancellation(run: Runner) -> None:
    """It is what the host's task ends with."""

    async def fail_to_clean(begun: asyncio.Event) -> None:
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            raise OSError("disk full")

    async def main() -> None:
        begun = asyncio.Event()
        async with open_bridge() as bridge:
            task = asyncio.create_task(bridge.call(fail_to_clean, begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(OSError, match="disk full"):
                await task

    run(main)


@on_asyncio
def test_cancelling_again_changes_nothing(run: Runner) -> None:
    """The cleanup is waited for all the same, and the task ends as cancelled."""

    async def main() -> None:
        slow = Slow()
        async with open_bridge() as bridge:
            task = asyncio.create_task(bridge.call(slow))
            await slow.begun.wait()
            task.cancel("first")
            await slow.cleaning.wait()
            for _ in range(3):
                task.cancel("again")
                await asyncio.sleep(0)
            assert not task.done()
            slow.let_go.set()
            await wait_cancelled(task)
            assert task.cancelled()
            assert slow.told == ["cancelled", "cleaned"]

    run(main)


@on_asyncio
@pytest.mark.parametrize("is_too_late", [True, False])
def test_a_cancellation_stays_one_also_when_the_work_is_done_in_that_moment(run: Runner, is_too_late: bool) -> None:
    """A host is told of it once: a timeout that was swallowed here would be a timeout lost."""

    async def cancel_me(task: "asyncio.Task[object]") -> str:
        await trio.lowlevel.checkpoint()
        if is_too_late:
            asyncio.get_running_loop().call_soon(task.cancel)
        else:
            task.cancel()
        return "done"

    async def main() -> None:
        async with open_bridge() as bridge:

            async def call() -> object:
                return await bridge.call(cancel_me, task)

            task: asyncio.Task[object] = asyncio.create_task(call())
            await wait_cancelled(task)

    run(main)


@on_asyncio
def test_a_call_that_is_cancelled_before_it_begins_is_not_left_behind(run: Runner) -> None:
    """Its first checkpoint is its last."""

    async def main() -> None:
        slow = Slow()
        slow.let_go.set()
        async with open_bridge() as bridge:
            task = asyncio.create_task(bridge.call(slow))
            await asyncio.sleep(0)
            task.cancel()
            await wait_cancelled(task)
            assert slow.told in ([], ["cancelled", "cleaned"])
            assert await bridge.call(tasks_of_calls) == 0

    async def tasks_of_calls() -> int:
        """Count the other tasks of the nursery that calls run in."""
        task = trio.lowlevel.current_task()
        assert task.parent_nursery is not None
        return len(task.parent_nursery.child_tasks) - 1

    run(main)


@on_every_loop
def test_context_variables_go_along(run: Runner) -> None:
    """The Trio side has a copy of what the calling task has."""

    async def look() -> str:
        await trio.lowlevel.checkpoint()
        return WHO.get()

    async def main() -> None:
        async with open_bridge() as bridge:
            WHO.set("ada")
            assert await bridge.call(look) == "ada"
            WHO.set("bob")
            assert await bridge.call(look) == "bob"

    contextvars.copy_context().run(run, main)


@on_asyncio
def test_context_variables_set_by_the_trio_side_stay_there(run: Runner) -> None:
    """As with any other task."""

    async def change() -> None:
        await trio.lowlevel.checkpoint()
        WHO.set("eve")

    async def main() -> str:
        async with open_bridge() as bridge:
            await bridge.call(change)
            return WHO.get()

    assert contextvars.copy_context().run(run, main) == "nobody"


@on_asyncio
def test_the_host_can_be_called_from_trio(run: Runner) -> None:
    """On its own loop, in a task; results, errors and context variables come and go."""

    async def of_host(thing: int) -> tuple[int, str, str]:
        assert asyncio.current_task() is not None
        await asyncio.sleep(0)
        if thing < 0:
            raise ValueError(f"{thing} is negative")
        return thing, WHO.get(), sniffio.current_async_library()

    async def of_trio(call_host: Callable[[int], Awaitable[tuple[int, str, str]]]) -> object:
        with pytest.raises(ValueError, match="-1 is negative"):
            await call_host(-1)
        return await call_host(3)

    async def main() -> object:
        WHO.set("ada")
        async with open_bridge() as bridge:
            return await bridge.call(of_trio, bridge.on_host(of_host))

    assert contextvars.copy_context().run(run, main) == (3, "ada", "asyncio")


@on_asyncio
def test_cancelling_trio_cancels_the_host_s_coroutine_and_waits_for_it(run: Runner) -> None:
    """The other direction, with the same promise."""
    told: list[str] = []

    async def main() -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        async def of_host() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await let_go.wait()
                told.append("host cleaned")

        async def of_trio(call_host: Callable[[], Awaitable[None]]) -> None:
            try:
                await call_host()
            finally:
                told.append("trio cancelled")

        async with open_bridge() as bridge:
            task = asyncio.create_task(bridge.call(of_trio, bridge.on_host(of_host)))
            await begun.wait()
            task.cancel()
            await asyncio.sleep(0)
            let_go.set()
            await wait_cancelled(task)

    run(main)
    assert told == ["host cleaned", "trio cancelled"]


@on_asyncio
def test_calls_that_still_run_when_the_bridge_is_left_are_cancelled(run: Runner) -> None:
    """Their cleanup is waited for; whoever waits for them is told that it is over; new ones are refused."""

    async def main() -> None:
        slow = Slow()
        slow.let_go.set()
        async with open_bridge() as bridge:
            task = asyncio.create_task(bridge.call(slow))
            await slow.begun.wait()
        assert slow.told == ["cancelled", "cleaned"]
        with pytest.raises(ClosedError, match="closed while this call was waiting"):
            await task
        with pytest.raises(ClosedError, match="closed"):
            await bridge.call(echo, 1)

    run(main)


@on_asyncio
def test_keyword_arguments_go_by_partial(run: Runner) -> None:
    """The name of the Trio task is then that of the partial: nothing depends on it."""

    async def named(*, thing: int) -> int:
        await trio.lowlevel.checkpoint()
        return thing

    async def main() -> int:
        async with open_bridge() as bridge:
            return await bridge.call(partial(named, thing=5))

    assert run(main) == 5
