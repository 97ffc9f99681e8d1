"""Which event loop is running here, and a plain word where it is the wrong one. Costs 0.1 µs where it is right."""

import asyncio

import trio

from turnwire.messages.errors import WrongLoopError

HOSTED_INSTEAD = "open it with `async with turnwire.runtime.open_hosted(...)`, which runs Trio beside the host's loop"
ENTERED_INSTEAD = "enter it with `async with bridge.enter(...)`, where `bridge` is of `turnwire.runtime.open_bridge()`"
CALLED_INSTEAD = "call it with `await hosted.call(...)`, where `hosted` is of `open_hosted(...)`"
ITERATED_INSTEAD = "read it with `async for ... in hosted.iterate(...)`, where `hosted` is of `open_hosted(...)`"


def is_trio() -> bool:
    """Is this a Trio task? Also true in the tasks of a Trio that is a guest of another loop."""
    return trio.lowlevel.in_trio_task()


def require_trio(what: str, *, instead: str) -> None:
    """Raise WrongLoopError, saying what to do instead, unless this is a Trio task."""
    if not trio.lowlevel.in_trio_task():
        raise WrongLoopError(f"{what} needs Trio, and {_what_runs()}: {instead}")


def _what_runs() -> str:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return "no Trio task is running here"
    return "this is asyncio"
