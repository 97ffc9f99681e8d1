"""How often a long-lived task may be started again before its failure goes up. No clock, no await."""

from collections import deque

from turnwire.actors.core.retry import retry_delay


class RestartBudget:
    """At most `limit` restarts within any `window` seconds, each after a wait that doubles."""

    __slots__ = ("_base", "_limit", "_longest", "_restarts", "_window")

    def __init__(self, *, limit: int = 5, window: float = 60.0, base: float = 0.1, longest: float = 5.0) -> None:
        if limit < 0 or window <= 0 or base < 0 or longest < 0:
            raise ValueError("a restart budget needs limit >= 0, window > 0, base >= 0 and longest >= 0")
        self._limit = limit
        self._window = window
        self._base = base
        self._longest = longest
        self._restarts: deque[float] = deque()

    def spend(self, *, now: float) -> float | None:
        """Ask for a restart at `now`: seconds to wait before it, or None when the budget is spent."""
        while self._restarts and self._restarts[0] <= now - self._window:
            self._restarts.popleft()
        if len(self._restarts) >= self._limit:
            return None
        delay = retry_delay(len(self._restarts), base=self._base, longest=self._longest)
        self._restarts.append(now)
        return delay
