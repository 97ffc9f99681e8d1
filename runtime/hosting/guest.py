"""Trio as a guest of an asyncio loop: one run to a thread, shared by all who open something in that thread.

The guest takes its turns as callbacks of the host's loop, in the host's thread; while Trio has nothing to do, a thread
of Trio's own waits for its sockets and timers. It starts with the first who joins and ends with the last who leaves.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import outcome
import trio

from turnwire.messages.errors import CrashedError, WrongLoopError
from turnwire.runtime.hosting.crossing import Crossing
from turnwire.runtime.hosting.waiting import wait_through

log = logging.getLogger("turnwire.hosting")

_here = threading.local()


class Guest:
    """The Trio run of this thread. Made by `join_guest`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._users = 0
        self._crossings: set[Crossing[Any]] = set()
        self._nursery: trio.Nursery | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._up = asyncio.Event()
        self._last_left = trio.Event()
        self._ended = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def is_ending(self) -> bool:
        """Has the last user left?"""
        return self._last_left.is_set()

    @property
    def failure(self) -> BaseException | None:
        """What the whole run has crashed with, if it has."""
        return self._failure

    # The host's side

    def start(self) -> None:
        """Begin the run."""
        trio.lowlevel.start_guest_run(
            self._main,
            run_sync_soon_threadsafe=self._call_soon_threadsafe,
            run_sync_soon_not_threadsafe=self.loop.call_soon,
            done_callback=self._done,
            host_uses_signal_set_wakeup_fd=True,
        )
        _here.guest = self

    async def join(self) -> None:
        """Count one user more, and wait until the run is up."""
        self._users += 1
        if (cancelled := await wait_through(self._up)) is not None:
            await self.leave()
            raise cancelled

    async def leave(self) -> None:
        """Count one user less; the last one waits for the run to end."""
        self._users -= 1
        if not self._users:
            self._last_left.set()
            if (cancelled := await self.wait_ended()) is not None:
                raise cancelled

    async def wait_ended(self) -> asyncio.CancelledError | None:
        """Wait until the run has ended, however often cancelled meanwhile; gives the cancellation."""
        return await wait_through(self._ended)

    def start_crossing(self, crossing: Crossing[Any], name: str, nursery: trio.Nursery | None = None) -> None:
        """Start a Trio task, in the guest itself or in a nursery of its own.

        The task gets a copy of the host's context variables, since it is started from the host's task.
        """
        nursery = nursery or self._nursery
        if self._ended.is_set() or nursery is None:
            raise CrashedError("the Trio beside this event loop has ended") from self._failure
        nursery.start_soon(self._run_crossing, crossing, name=name)
        self._crossings.add(crossing)

    def call_soon(self, fn: Callable[[], object]) -> None:
        """Have Trio call something soon; from any thread, and also when there is no Trio any more."""
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(fn)

    # Trio's side

    async def _main(self) -> None:
        async with trio.open_nursery() as self._nursery:
            self._token = trio.lowlevel.current_trio_token()
            self._up.set()
            await self._last_left.wait()

    async def _run_crossing(self, crossing: Crossing[Any]) -> None:
        try:
            await crossing.run()
        finally:
            self._crossings.discard(crossing)

    def _call_soon_threadsafe(self, fn: Callable[[], object]) -> None:
        try:
            self.loop.call_soon_threadsafe(fn)
        except RuntimeError:  # the loop is closed
            log.critical(
                "the host's event loop was closed inside an open_hosted or open_bridge block: the Trio system stands "
                "still, its cleanup was not run, and this thread cannot run Trio again"
            )

    def _done(self, result: "outcome.Outcome[None]") -> None:
        _here.guest = None
        if isinstance(result, outcome.Error):
            self._failure = result.error
            log.critical("the Trio beside the host's event loop has crashed", exc_info=result.error)
        self._up.set()
        self._ended.set()
        for crossing in tuple(self._crossings):  # only after a crash of Trio itself: nobody else will wake their hosts
            crossing.abandon()
        self._crossings.clear()


async def join_guest() -> Guest:
    """Join the Trio of this thread, or start it. To be left by `leave`."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise WrongLoopError("no event loop is running here: neither Trio nor asyncio") from None
    while (guest := cast("Guest | None", getattr(_here, "guest", None))) is not None:
        if guest.loop is not loop:
            raise WrongLoopError(_stranded(guest))
        if not guest.is_ending:
            break
        if (cancelled := await guest.wait_ended()) is not None:
            raise cancelled
    if guest is None:
        if trio.lowlevel.in_trio_run():
            raise WrongLoopError(
                "a Trio run that turnwire did not start is in this thread, and a thread can hold only one: "
                "call turnwire from its Trio tasks, or from another thread"
            )
        guest = Guest(loop)
        guest.start()
    await guest.join()
    return guest


def _stranded(guest: Guest) -> str:
    if guest.loop.is_closed():
        return (
            "an earlier event loop of this thread was closed inside an open_hosted or open_bridge block, so that its "
            "Trio could not end; this thread cannot run another. Leave the block before the loop is closed"
        )
    return "another event loop of this thread has a Trio already, and a thread can hold only one: use another thread"
