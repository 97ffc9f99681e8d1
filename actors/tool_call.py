"""Running a tool: one call, checked, timed, and turned into data whatever comes of it.

A tool that raises or takes too long gives an error result: the model is told the type and the message, the log gets the
trace. Only Cancelled passes through, because somebody has pressed stop, and KeyboardInterrupt.

Functions that are not async run in threads. A thread cannot be stopped: one that takes too long is left to itself, and
what it returns later is dropped. Such threads hold their place among at most MAX_THREADS, so tools that hang starve
each other and nobody else.
"""

import inspect
import logging
import math
from typing import Any, Final, cast

import trio

from turnwire.actors.core.misfits import MisfitError, say_misfit
from turnwire.actors.core.tool_results import MAX_RESULT_CHARS, ToolResult, failed, result_text
from turnwire.actors.core.toolset import Tool
from turnwire.actors.groups import leaves

MAX_THREADS: Final = 40
"""Threads for tools at one time, as many as trio gives to everything else together."""

_log = logging.getLogger("turnwire.tool")
_threads: "trio.lowlevel.RunVar[trio.CapacityLimiter]" = trio.lowlevel.RunVar("threads for tools")


async def run_tool(called: Tool, arguments: str, *, limit: int = MAX_RESULT_CHARS) -> ToolResult:
    """Run one call. Raises no Exception: what goes wrong is a result that says so. `limit` is in characters."""
    try:
        given = called.read(arguments)
    except MisfitError as misfit:
        await trio.lowlevel.checkpoint()
        return failed(say_misfit(called.name, misfit), limit=limit)
    if called.function is None or called.runs_at == "client":
        await trio.lowlevel.checkpoint()
        return failed(f"{called.name} runs at the client, not here")
    result: ToolResult | None = None
    try:
        with trio.move_on_after(math.inf if called.timeout is None else called.timeout):
            result = ToolResult(text=result_text(await _call(called, given), limit=limit))
    except* Exception as failures:  # noqa: BLE001 - a tool may raise anything; what stands beside a Cancelled is taken from it
        result = _raised(called, failures, limit)
    return _timed_out(called) if result is None else result


async def _call(called: Tool, given: dict[str, Any]) -> object:
    try:
        return await _enter(called, cast("Any", called.function), given)
    except (Exception, BaseExceptionGroup, trio.Cancelled, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as exc:  # sys.exit, or asyncio's CancelledError: it ends the tool, and nobody else
        raise RuntimeError(f"the tool raised {exc!r}") from exc


async def _enter(called: Tool, function: Any, given: dict[str, Any]) -> object:
    if called.is_async:
        return await function(**given)
    returned: tuple[object] = await trio.to_thread.run_sync(  # in a tuple: trio lets no coroutine out of a thread
        lambda: (function(**given),), abandon_on_cancel=True, limiter=_limiter(), thread_name=f"tool {called.name}"
    )
    return await returned[0] if inspect.isawaitable(returned[0]) else returned[0]  # a lambda around an async function


def _limiter() -> trio.CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        limiter = trio.CapacityLimiter(MAX_THREADS)
        _threads.set(limiter)
        return limiter


def _raised(called: Tool, failures: BaseExceptionGroup[Exception], limit: int) -> ToolResult:
    _log.warning("tool %s raised", called.name, exc_info=failures)
    return failed(f"{called.name} failed: {'; '.join(map(_say, leaves(failures)))}", limit=limit)


def _say(failure: BaseException) -> str:
    try:
        words = str(failure)
    except Exception:  # noqa: BLE001 - whoever cannot say what went wrong has gone wrong, and that is all
        words = ""
    name = type(failure).__name__
    return f"{name}: {words}" if words else name


def _timed_out(called: Tool) -> ToolResult:
    _log.warning("tool %s took longer than %s seconds", called.name, called.timeout)
    note = "" if called.is_async else "; it was left running, and what it does is not known"
    return failed(f"{called.name} did not end within {called.timeout:g} seconds{note}")
