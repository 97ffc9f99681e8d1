"""When enough text has piled up to be worth an emission. No clock, no await.

The gradient is a list of steps in tokens; its running sums are the thresholds: 10, 20, 30, 40, 60, ... Past the end
the last step repeats for ever. With `growth` a step is at least that share of the threshold before it, so that long
texts are not written over and over.

A text crosses a threshold when its tokens *exceed* it. Tokens are ceil(units / 4), so for a whole number n of tokens
`tokens > n` is the same as `units > 4 * n`: the limits below are kept in UTF-16 code units, and a delta costs one
comparison.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import floor, isfinite
from typing import TypeGuard, cast

DEFAULT_GRADIENT: tuple[float, ...] = (
    *(10, 10, 10, 10),
    *(20, 20, 20, 20),
    *(50, 50, 50, 50),
    *(100, 100, 200, 200),
    *(500, 500, 500, 500),
    *(1000, 1000, 2000),
)

UNITS_PER_TOKEN = 4


class Gradient:
    """The limits of one gradient. Shared by all items that use it; immutable but for a cache that only grows."""

    __slots__ = ("_growth", "_steps", "_sums")

    def __init__(self, steps: Sequence[float] = DEFAULT_GRADIENT, growth: float = 0.0) -> None:
        check_gradient(steps, growth)
        self._steps = tuple(steps)
        self._growth = growth
        self._sums = list(accumulate(self._steps)) if not growth else [float(self._steps[0])]

    def limit(self, index: int) -> int:
        """Give the most UTF-16 code units that do not cross threshold `index`."""
        return UNITS_PER_TOKEN * floor(self._threshold(index))

    def past(self, units: int, index: int) -> tuple[int, int]:
        """Give the first index whose threshold these units, having crossed that of `index`, have not; and its limit."""
        limit = self.limit(index + 1)
        if units <= limit:  # most often it is the next one
            return index + 1, limit
        index = self.index_past(units, index + 1)
        return index, self.limit(index)

    def index_past(self, units: int, index: int) -> int:
        """Give the first index, from `index` on, whose threshold these units have not crossed."""
        while units > self.limit(index):
            index += 1
            beyond = index - len(self._sums)
            if beyond >= 0 and not self._growth:  # jump, so that one huge delta is no long walk
                last = self._steps[-1]
                skipped = floor((units / UNITS_PER_TOKEN - self._sums[-1]) / last) - beyond - 2
                index += max(0, skipped)
        return index

    def _threshold(self, index: int) -> float:
        sums, steps = self._sums, self._steps
        if index < len(sums):
            return sums[index]
        if not self._growth:
            return sums[-1] + (index - len(sums) + 1) * steps[-1]
        while index >= len(sums):  # steps grow with the text, so this list stays short: logarithmic in it
            step = steps[min(len(sums), len(steps) - 1)]
            sums.append(sums[-1] + max(step, self._growth * sums[-1]))
        return sums[index]


def check_gradient(steps: object, growth: object) -> None:
    """Raise ValueError, saying what is wrong, unless this is a gradient. Takes anything: callers may be untyped."""
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise ValueError(f"batch_gradient must be a sequence of positive numbers, not {steps!r}")
    if not steps:
        raise ValueError("batch_gradient must not be empty")
    for step in cast("Sequence[object]", steps):
        if not is_number(step) or step <= 0:
            raise ValueError(f"batch_gradient must hold positive numbers, not {step!r}")
    if not is_number(growth) or growth < 0:
        raise ValueError(f"growth must be a number from 0 on, not {growth!r}")


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether this is a finite number; True and False are none."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


@lru_cache(maxsize=64)  # a process uses a handful; the bound is for hosts that make one up per turn
def shared_gradient(steps: tuple[float, ...], growth: float) -> Gradient:
    """Give the one Gradient of these numbers, so that ten thousand turns share its list."""
    return Gradient(steps, growth)
