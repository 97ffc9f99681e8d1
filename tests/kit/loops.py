"""The loops that a host may run, each with a bound on time: what hangs fails instead."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
import pytest
import trio
import uvloop

_T = TypeVar("_T")
Main: TypeAlias = Callable[[], Awaitable[_T]]
Runner: TypeAlias = Callable[[Main[Any]], Any]

LIMIT = 30  # seconds: none of these takes one


async def _bounded(main: Main[_T]) -> _T:
    async with asyncio.timeout(LIMIT):
        return await main()


async def _bounded_anyio(main: Main[_T]) -> _T:
    with anyio.fail_after(LIMIT):
        return await main()


def _asyncio(main: Main[_T]) -> _T:
    return asyncio.run(_bounded(main))


def _uvloop(main: Main[_T]) -> _T:
    return uvloop.run(_bounded(main))


def _trio(main: Main[_T]) -> _T:
    return trio.run(_bounded_anyio, main)


def _anyio(main: Main[_T], *, backend: str, **options: bool) -> _T:
    return anyio.run(_bounded_anyio, main, backend=backend, backend_options=options)


async def wait_cancelled(task: "asyncio.Task[Any]") -> None:
    """Wait for a task that has to end as cancelled. A limit that cancels us is not taken for that."""
    await asyncio.wait([task])
    assert task.cancelled()


ASYNCIO: dict[str, Runner] = {"asyncio": _asyncio, "uvloop": _uvloop}
ALL: dict[str, Runner] = {
    "trio": _trio,
    "anyio-trio": partial(_anyio, backend="trio"),
    "anyio-asyncio": partial(_anyio, backend="asyncio"),
    "anyio-uvloop": partial(_anyio, backend="asyncio", use_uvloop=True),
    **ASYNCIO,
}

on_asyncio = pytest.mark.parametrize("run", list(ASYNCIO.values()), ids=list(ASYNCIO))
on_every_loop = pytest.mark.parametrize("run", list(ALL.values()), ids=list(ALL))
