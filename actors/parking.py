"""A place for one task to wait in until somebody calls it. Lighter than an Event, of which a turn would need several."""

import trio


class ParkingSpace:
    """Holds at most one waiting task. A call that comes while nobody waits is remembered for the next who does."""

    __slots__ = ("_called", "_task")

    def __init__(self) -> None:
        self._called = False
        self._task: trio.lowlevel.Task | None = None

    def call(self) -> None:
        """Have the waiting task go on, or the next one not wait at all. Calling twice is calling once."""
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None
        else:
            self._called = True

    async def wait(self) -> None:
        """Wait for a call. A checkpoint only if it has to wait."""
        if not self._called:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        self._called = False

    def _abort(self, _raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED
