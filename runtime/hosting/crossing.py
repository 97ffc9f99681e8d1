"""One piece of Trio work done for a task of an asyncio host: started, waited for, cancelled, answered.

Host and guest share one thread, so nothing here needs a lock: the host starts the Trio task and cancels its scope by
plain calls, and the Trio task sets the host's event by one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import outcome
import trio

from turnwire.runtime.hosting.waiting import wait_through

_T = TypeVar("_T")


class InterruptedCallError(Exception):
    """The Trio side was cancelled by something other than the host's waiting task: it is closing, or has crashed."""


class Crossing(Generic[_T]):
    """Runs `work` in a Trio task and hands what became of it to one task of the host."""

    __slots__ = ("_on_end", "_result", "_work", "ended", "scope")

    def __init__(self, work: Callable[[], Awaitable[_T]], *, on_end: Callable[[], object] | None = None) -> None:
        self._work = work
        self._on_end = on_end
        self._result: outcome.Outcome[_T] | None = None
        self.scope = trio.CancelScope()
        self.ended = asyncio.Event()

    # Trio's side

    async def run(self) -> None:
        """Be the Trio task."""
        try:
            with self.scope:
                self._result = outcome.Value(await self._work())
        except trio.Cancelled:
            raise  # what we run in is closing
        except BaseExceptionGroup as group:
            cancelled, errors = group.split(trio.Cancelled)
            if errors is not None:
                self._result = outcome.Error(errors)
            if cancelled is not None:
                raise cancelled from None
        except BaseException as exc:  # noqa: BLE001  # it is raised again, in the host
            self._result = outcome.Error(exc)
        finally:
            self.abandon()

    # The host's side

    async def wait(self) -> _T:
        """Wait for the end; when cancelled, cancel the Trio side and wait for that.

        Raises what the work has raised, be it in its cleanup after a cancellation. Else a cancellation of the host's
        task stays one, even if the work was done in that very moment.
        """
        cancelled = await wait_through(self.ended, self.scope.cancel)
        result = self.take_result()
        try:
            if isinstance(result, outcome.Error):
                result.unwrap()
            if cancelled is not None:
                raise cancelled
            if result is None:
                raise InterruptedCallError
            return result.unwrap()
        finally:
            del cancelled, result

    async def wait_cleanup(self) -> None:
        """Wait for work that was cancelled on purpose. Raises what its cleanup raises."""
        cancelled = await wait_through(self.ended)
        result = self.take_result()
        try:
            if isinstance(result, outcome.Error):
                result.unwrap()
            if cancelled is not None:
                raise cancelled
        finally:
            del cancelled, result

    @property
    def error(self) -> BaseException | None:
        """What the work has raised, until somebody takes the result."""
        return self._result.error if isinstance(self._result, outcome.Error) else None

    def take_result(self) -> outcome.Outcome[_T] | None:
        """Give what became of it, once; None if the work was cancelled."""
        # Not kept: an error's traceback leads back to us, and the circle would be freed late.
        result, self._result = self._result, None
        return result

    def abandon(self) -> None:
        """Let whoever waits go on: the work is over, or will never be done."""
        self.ended.set()
        if self._on_end is not None:
            self._on_end()
