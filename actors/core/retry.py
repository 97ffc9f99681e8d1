"""How long to wait before trying a sink or a store again, and when to give up. No clock, no await."""

import random
from collections.abc import Callable

import attrs


def retry_delay(attempt: int, *, base: float = 1.0, longest: float = 10.0) -> float:
    """Seconds to wait after failed attempt `attempt`, counted from 0: base · 2^attempt, at most `longest`.

    >>> [retry_delay(attempt) for attempt in range(5)]
    [1.0, 2.0, 4.0, 8.0, 10.0]
    """
    # 2.0**1024 overflows; whoever has waited that often waits the longest anyway.
    return min(base * 2.0 ** min(attempt, 60), longest)


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How often and how fast an emission is tried again."""

    attempts: int | None = 3
    """Retries after the first try; None: for ever."""
    base: float = 1.0
    longest: float = 10.0
    jitter: float = 0.0
    """Up to this share of each wait is taken off at random, so that many writers do not knock in step."""

    def delay_after(self, attempt: int, *, chance: Callable[[], float] = random.random) -> float | None:
        """Seconds to wait after failed attempt `attempt` (from 0); None when there is to be no other."""
        if self.attempts is not None and attempt >= self.attempts:
            return None
        delay = retry_delay(attempt, base=self.base, longest=self.longest)
        return delay * (1 - self.jitter * chance()) if self.jitter else delay


class Patience:
    """Patience with a store that is away: waits that grow after each failure, until the seconds are over."""

    def __init__(self, seconds: float, *, now: float, base: float = 0.05, longest: float = 1.0) -> None:
        self.failed = 0
        """How often the store could not be reached."""
        self._give_up_at = now + seconds
        self._base = base
        self._longest = longest

    def delay(self, *, now: float) -> float | None:
        """Take note of a failure; give the seconds to wait before the next try, None when patience is over."""
        delay = retry_delay(self.failed, base=self._base, longest=self._longest)
        self.failed += 1
        return delay if now + delay <= self._give_up_at else None
