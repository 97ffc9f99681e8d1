"""Work that can be broken off, beside a teller that cannot: how a run reads a model or runs tools, and tells of it.

The work runs in a task of its own, under a scope that a stop or the run's deadline cancels. What it has to tell is told
by whoever waits for it, outside that scope: a stop never tears a message to the log in two.
"""

from collections.abc import Awaitable, Callable
from math import inf

import trio

from turnwire.actors.parking import ParkingSpace


class SideWork:
    """One run's place for such work: one piece at a time."""

    def __init__(
        self, tell: Callable[[], Awaitable[object]], has_room: Callable[[], bool], beat: Callable[[], object]
    ) -> None:
        """`tell` tells what there is; `has_room` says whether more may be made before that is told.

        `beat` makes a sign of life, which is told like the rest.
        """
        self.deadline = inf
        self.is_stopped = False
        self._tell = tell
        self._has_room = has_room
        self._beat = beat
        self._news = ParkingSpace()
        self._room = ParkingSpace()
        self._scope: trio.CancelScope | None = None
        self._is_over = True

    @property
    def is_interrupted(self) -> bool:
        """Has the run been stopped, or is it past its deadline?"""
        return self.is_stopped or trio.current_time() >= self.deadline

    def stop(self) -> None:
        """Break off what runs now, and whatever would run later."""
        self.is_stopped = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, body: Callable[[], Awaitable[object]], name: str, *, every: float = inf) -> None:
        """Run a piece of work until it ends or is broken off, and tell what it brings meanwhile.

        Give a sign of life when it has brought nothing for `every` seconds.
        Raises what the work raised, as it was; or what telling raised, and then the work has been cancelled.
        """
        failures: list[Exception] = []
        self._is_over = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._work, body, failures, name=name)
            try:
                await self._tell_on(every)
            except Exception as exc:  # noqa: BLE001  # raised below, where no nursery puts it into a group
                failures.insert(0, exc)
                nursery.cancel_scope.cancel()
        if failures:
            raise failures[0]

    def report(self) -> None:
        """There is something to tell. For the work."""
        self._news.call()

    async def wait_for_room(self) -> None:
        """There is something to tell; goes on when not too much waits. For the work."""
        self._news.call()
        await trio.lowlevel.checkpoint()  # a source that never waits would keep the teller, and a stop, waiting
        while not self._has_room():
            await self._room.wait()

    async def _work(self, body: Callable[[], Awaitable[object]], failures: list[Exception]) -> None:
        try:
            with trio.CancelScope(deadline=self.deadline) as self._scope:
                if self.is_stopped:
                    self._scope.cancel()
                await trio.lowlevel.checkpoint_if_cancelled()  # so that nothing begins after a stop
                await body()
        except Exception as exc:  # noqa: BLE001  # for whoever waits for this work
            failures.append(exc)
        finally:
            self._scope = None
            self._is_over = True
            self._news.call()

    async def _tell_on(self, every: float) -> None:
        while not self._is_over:
            with trio.move_on_after(every) as quiet:
                await self._news.wait()
            if quiet.cancelled_caught:
                self._beat()
            await self._tell()
            self._room.call()
        await self._tell()
