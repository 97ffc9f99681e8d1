"""A thread for one connection: what is asked over it is asked one after the other, and nobody waits for ever.

A server that has stopped answering, without its connections breaking, holds up each question for the socket's timeout.
Whoever stood behind ten of them would wait for all ten, and a service's clients are long gone by then. So whoever waits
while one question runs into its timeout shares its fate. A server that is merely busy answers: there everybody waits.
"""

from collections.abc import Callable
from typing import TypeVar

import trio

from turnwire.messages.errors import LogUnavailableError

_T = TypeVar("_T")


class OneThread:
    """Runs functions in a thread, one at a time, in the order they came."""

    def __init__(self, *, timeout: float) -> None:
        """`timeout`: seconds after which a question that has no answer fails by itself."""
        self._timeout = timeout
        self._turn = trio.Lock()
        self._thread = trio.CapacityLimiter(1)
        self._waiting: set[trio.CancelScope] = set()

    async def run(self, function: Callable[[], _T]) -> _T:
        """Give what it gives. Raises what it raises, and LogUnavailableError when one before it has timed out."""
        await self._wait_for_turn()
        began_at = trio.current_time()
        try:
            return await trio.to_thread.run_sync(function, limiter=self._thread)
        except LogUnavailableError:
            if trio.current_time() - began_at > self._timeout / 2:  # less: it was refused, or cut off
                for scope in self._waiting:
                    scope.cancel()
            raise
        finally:
            self._turn.release()

    async def _wait_for_turn(self) -> None:
        scope, has_turn = trio.CancelScope(), False
        self._waiting.add(scope)
        try:
            with scope:
                await self._turn.acquire()
                has_turn = True
        finally:
            self._waiting.discard(scope)
        if not has_turn:
            raise LogUnavailableError(f"Redis has not answered for {self._timeout:g} s")
