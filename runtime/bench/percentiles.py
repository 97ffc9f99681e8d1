"""What most had to wait, and what nearly all had to wait."""

from collections.abc import Iterable


def percentiles(waits: Iterable[float]) -> tuple[float, float]:
    """Give the median and the 99th percentile; of nothing, zero.

    >>> percentiles(range(1, 201))
    (101, 199)
    """
    ordered = sorted(waits) or [0.0]
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
