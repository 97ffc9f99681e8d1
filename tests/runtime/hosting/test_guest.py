"""The Trio of a thread: shared, ended with the last who leaves, and what becomes of it when a host dies."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import outcome
import pytest
import trio

from tests.kit.loops import Runner, on_asyncio
from turnwire.messages.errors import CrashedError, WrongLoopError
from turnwire.runtime import Bridge, open_bridge


async def token() -> trio.lowlevel.TrioToken:
    await trio.lowlevel.checkpoint()
    return trio.lowlevel.current_trio_token()


@on_asyncio
def test_all_who_open_something_in_a_thread_share_its_trio(run: Runner) -> None:
    """It begins with the first, also when several come at once, and ends with the last."""

    async def main() -> None:
        assert not trio.lowlevel.in_trio_run()
        both_in = asyncio.Barrier(2)

        async def use() -> trio.lowlevel.TrioToken:
            async with open_bridge() as bridge:
                await both_in.wait()
                return await bridge.call(token)

        async with asyncio.TaskGroup() as tasks:
            users = [tasks.create_task(use()) for _ in range(2)]
        assert users[0].result() is users[1].result()
        assert not trio.lowlevel.in_trio_run()

    run(main)


@on_asyncio
def test_whoever_opens_while_the_last_one_leaves_gets_a_new_trio(run: Runner) -> None:
    """It waits for the old one to end."""

    async def main() -> None:
        tokens = set[trio.lowlevel.TrioToken]()

        async def use() -> None:
            async with open_bridge() as bridge:
                tokens.add(await bridge.call(token))

        for _ in range(3):
            await use()
        assert len(tokens) == 3
        first = asyncio.create_task(use())
        await asyncio.sleep(0)
        assert trio.lowlevel.in_trio_run()
        async with asyncio.TaskGroup() as tasks:  # some find the Trio of the first, some its end
            tasks.create_task(_later(0, use))
            tasks.create_task(_later(50, use))
        await first
        assert not trio.lowlevel.in_trio_run()

    async def _later(rounds: int, use: Any) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        await use()

    run(main)


@on_asyncio
def test_each_thread_has_its_own(run: Runner) -> None:
    """Two hosts at once, in two threads."""
    met = threading.Barrier(2, timeout=20)
    tokens: list[trio.lowlevel.TrioToken] = []

    async def main() -> None:
        async with open_bridge() as bridge:
            tokens.append(await bridge.call(token))
            await asyncio.to_thread(met.wait)

    threads = [threading.Thread(target=run, args=(main,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(tokens)) == 2


@on_asyncio
def test_a_block_that_was_never_left_is_left_when_asyncio_run_ends(run: Runner) -> None:
    """Its asyncio closes generators that were forgotten, and our block is one."""
    told: list[str] = []
    forgotten: list[object] = []

    @asynccontextmanager
    async def place() -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            told.append("left")

    async def main() -> None:
        manager = open_bridge()
        bridge = await manager.__aenter__()
        inner = bridge.enter(place())
        await inner.__aenter__()
        forgotten.extend((manager, inner))

    run(main)
    assert told == ["left"]
    assert not trio.lowlevel.in_trio_run()


def test_no_loop_at_all_is_named() -> None:
    """A coroutine that is driven by hand, say."""
    opening = open_bridge().__aenter__()
    with pytest.raises(WrongLoopError, match="no event loop is running here"):
        opening.send(None)


@on_asyncio
def test_a_trio_that_somebody_else_has_started_is_named(run: Runner) -> None:
    """A thread can hold one; ours would not be the only one to be told so, but the first to say it plainly."""

    async def main() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        stop = trio.Event()

        def done(_result: "outcome.Outcome[None]") -> None:
            ended.set()

        trio.lowlevel.start_guest_run(
            stop.wait,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=done,
            host_uses_signal_set_wakeup_fd=True,
        )
        with pytest.raises(WrongLoopError, match="turnwire did not start"):
            async with open_bridge():
                raise AssertionError("not entered")
        stop.set()
        await ended.wait()

    run(main)


@on_asyncio
def test_a_crash_of_trio_itself_reaches_everybody(run: Runner, caplog: pytest.LogCaptureFixture) -> None:
    """Callers are told, blocks are interrupted, and the thread can run another."""

    async def break_trio() -> None:
        async def broken() -> None:
            await trio.lowlevel.checkpoint()
            raise LookupError("in a system task")

        trio.lowlevel.spawn_system_task(broken)
        await trio.sleep_forever()

    async def main() -> None:
        async def call(bridge: Bridge) -> None:
            with pytest.raises(CrashedError) as caught:
                await bridge.call(break_trio)
            assert isinstance(caught.value.__cause__, trio.TrioInternalError)

        with pytest.raises(CrashedError) as caught:
            async with open_bridge() as bridge, asyncio.TaskGroup() as tasks:
                tasks.create_task(call(bridge))
                await asyncio.Event().wait()
        assert isinstance(caught.value.__cause__, trio.TrioInternalError)
        assert not trio.lowlevel.in_trio_run()
        async with open_bridge() as bridge:
            await bridge.call(trio.lowlevel.checkpoint)

    run(main)
    assert "has crashed" in caplog.text


DEAD_HOST = """
import asyncio, trio, warnings
from turnwire.runtime import Bridge, open_bridge
warnings.simplefilter("ignore")
loop = asyncio.new_event_loop()
manager = open_bridge()
loop.run_until_complete(manager.__aenter__())
loop.close()

async def again():
    async with open_bridge():
        print("entered")

try:
    asyncio.run(again())
except Exception as exc:
    print(type(exc).__name__, exc)
"""


def test_a_host_whose_loop_was_closed_inside_the_block_is_told_what_it_did() -> None:
    """Nothing can end its Trio any more; the thread's next attempt says so, and the process can end."""
    command = [sys.executable, "-c", DEAD_HOST]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603  # ours
    assert ran.returncode == 0
    assert ran.stdout.startswith("WrongLoopError an earlier event loop of this thread was closed inside")
