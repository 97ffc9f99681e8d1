"""A clock that stands where it is set: virtual time for replaying what was recorded."""

import trio

NEVER = 1e9  # seconds of real time: whoever waits for a moment that is only reached by setting the clock


class SetClock(trio.abc.Clock):
    """Time is what the driver sets it to. It is set, not moved by a difference, so that no rounding creeps in.

    Whoever runs Trio with it drives it: a task that sleeps is woken when the clock is set past its deadline, and by
    nothing else.
    """

    def __init__(self) -> None:
        self._now = 0.0

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Give the time it was set to."""
        return self._now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Do not wait for what is due; for the rest wait until somebody sets the clock."""
        return 0.0 if deadline <= self._now else NEVER

    def set(self, now: float) -> None:
        """Set the time. It never runs backwards."""
        if now < self._now:
            raise ValueError(f"the clock stands at {self._now}; it cannot be set back to {now}")
        self._now = now
