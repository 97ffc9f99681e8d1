"""A place for one task to wait in until somebody calls it: an Event for one, at half the memory."""

from collections.abc import Awaitable, Generator

import trio


class ParkingSpace:
    """Holds at most one waiting task. A call that comes while nobody waits is remembered for the next who does."""

    __slots__ = ("_called", "_parked")

    def __init__(self) -> None:
        self._called = False
        self._parked: trio.lowlevel.Task | None = None

    def call(self) -> None:
        """Have the waiting task go on, or the next one not wait at all. Calling twice is calling once."""
        if self._parked is not None:
            trio.lowlevel.reschedule(self._parked)
            self._parked = None
        else:
            self._called = True

    def wait(self) -> Awaitable[object]:
        """Wait for a call, without a checkpoint if one has come already. To be awaited at once."""
        if self._called:
            self._called = False
            return _NOTHING
        self._parked = trio.lowlevel.current_task()
        return trio.lowlevel.wait_task_rescheduled(self._leave)  # noqa: ASYNC105  # our caller awaits it at once

    def _leave(self, _raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        self._parked = None  # at once: between the cancellation and the task's next step a call may come
        return trio.lowlevel.Abort.SUCCEEDED


class _Nothing:
    """Something to await that is there already."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_NOTHING = _Nothing()
