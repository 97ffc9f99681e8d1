"""A thread for one connection: one after the other, and nobody waits behind a server that has stopped answering."""

import threading
from collections.abc import Callable

import pytest
import trio

from turnwire.messages.errors import LogUnavailableError
from turnwire.runtime.logs.redis.one_thread import OneThread

TIMEOUT = 0.2  # seconds


def failing_after(seconds: float) -> Callable[[], str]:
    def ask() -> str:
        threading.Event().wait(seconds)
        raise LogUnavailableError("timed out")

    return ask


async def test_who_waits_behind_a_question_that_times_out_fails_with_it() -> None:
    """Not one timeout later each; whoever comes after that is tried again."""
    thread, ran = OneThread(timeout=TIMEOUT), list[int]()
    failed: list[str] = []

    async def ask(function: Callable[[], object]) -> None:
        with pytest.raises(LogUnavailableError) as raised:
            await thread.run(function)
        failed.append(str(raised.value))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, failing_after(TIMEOUT))
        await trio.testing.wait_all_tasks_blocked()
        for number in range(20):
            nursery.start_soon(ask, lambda it=number: ran.append(it))
    assert sorted(failed) == ["Redis has not answered for 0.2 s"] * 20 + ["timed out"]
    assert ran == []
    assert await thread.run(lambda: "answered") == "answered"


async def test_who_waits_behind_a_question_that_is_refused_asks_for_himself() -> None:
    """In the order they came."""
    thread, ran = OneThread(timeout=TIMEOUT), list[int]()

    async def fail() -> None:
        with pytest.raises(LogUnavailableError, match="timed out"):
            await thread.run(failing_after(0.0))

    async def ask(number: int) -> None:
        await thread.run(lambda: ran.append(number))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(10):
            nursery.start_soon(ask, number)
            await trio.testing.wait_all_tasks_blocked()
    assert ran == list(range(10))


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    """Cancelled before its turn, it is never run; the next one is."""
    thread, ran = OneThread(timeout=TIMEOUT), list[str]()
    go_on = threading.Event()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(thread.run, go_on.wait)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0.01):
            await thread.run(lambda: ran.append("given up"))
        go_on.set()
    await thread.run(lambda: ran.append("next"))
    assert ran == ["next"]
