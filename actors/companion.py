"""Something that runs as long as something else does: a keeper beside its work."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

_T = TypeVar("_T")


async def run_with_companion(
    companion: Callable[[], Awaitable[object]], work: Callable[[], Awaitable[_T]], *, name: str
) -> _T:
    """Do some work to its end beside a companion of this name, which is cancelled then.

    What the work raises comes out as it was, in no group. A companion raises nothing.
    """
    results: list[_T] = []
    failures: list[Exception] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(companion, name=name)
        try:
            results.append(await work())
        except Exception as exc:  # noqa: BLE001  # raised below, where no nursery puts it into a group
            failures.append(exc)
        nursery.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return results[0]
