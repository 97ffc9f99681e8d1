"""Calls the other way: a coroutine function of an asyncio host, made into one that Trio can await."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import trio

from turnwire.messages.errors import HostCancelledError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def make_trio_function(fn: Callable[_P, Awaitable[_T]], loop: asyncio.AbstractEventLoop) -> Callable[_P, Awaitable[_T]]:
    """Give a function for Trio that runs `fn` in a task on the host's loop, and waits for it.

    Each call has a copy of the context variables that are set now. Cancelling the Trio side cancels the host's task
    and waits for it. A host's task that somebody else cancelled raises HostCancelledError.
    """
    context = contextvars.copy_context()

    async def in_trio(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        async def in_host() -> _T:
            return await fn(*args, **kwargs)

        return await _run_on_host(loop.create_task(in_host(), context=context.copy()))

    return in_trio


async def _run_on_host(host_task: asyncio.Task[_T]) -> _T:
    trio_task = trio.lowlevel.current_task()
    raise_cancel: trio.lowlevel.RaiseCancelT | None = None

    def go_on(_task: asyncio.Task[_T]) -> None:
        trio.lowlevel.reschedule(trio_task)  # same thread: the guest takes notice by itself

    def abort(raise_it: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        nonlocal raise_cancel
        raise_cancel = raise_it
        host_task.cancel("cancelled by Trio")
        return trio.lowlevel.Abort.FAILED  # we are called when it has ended

    host_task.add_done_callback(go_on)
    await trio.lowlevel.wait_task_rescheduled(abort)
    if not host_task.cancelled():
        return host_task.result()
    if raise_cancel is not None:
        raise_cancel()
    raise HostCancelledError("the host cancelled the coroutine that Trio was waiting for")
