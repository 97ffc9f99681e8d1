"""What a host may set for one turn, checked when the turn is opened. No clock, no await."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, TypeAlias

import attrs

from turnwire.actors.core.gradient import DEFAULT_GRADIENT, Gradient, check_gradient, is_number, shared_gradient
from turnwire.actors.core.retry import RetryPolicy

MIB = 1024 * 1024


Check: TypeAlias = Callable[[Any, Any, Any], None]
"""What attrs calls with (instance, attribute, value)."""


def _check_gradient(instance: "TurnOptions", _attribute: Any, _value: Any) -> None:
    check_gradient(instance.batch_gradient, instance.growth)


def _seconds(*, zero: bool = False, none: bool = False) -> Check:
    def check(_instance: Any, attribute: Any, value: Any) -> None:
        if none and value is None:
            return
        if not (value == inf or is_number(value)) or value < 0 or (value == 0 and not zero):
            lowest = "from 0 on" if zero else "greater than 0"
            raise ValueError(f"{attribute.name} must be a number of seconds {lowest}, not {value!r}")

    return check


def _whole(lowest: int, *, none: bool = False) -> Check:
    def check(_instance: Any, attribute: Any, value: Any) -> None:
        if none and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
            raise ValueError(f"{attribute.name} must be a whole number from {lowest} on, not {value!r}")

    return check


def _share(_instance: Any, attribute: Any, value: Any) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{attribute.name} must be a share from 0 to 1, not {value!r}")


def _as_tuple(steps: Sequence[float]) -> Sequence[float]:
    return tuple(steps) if isinstance(steps, list) else steps


@attrs.frozen(kw_only=True)
class TurnOptions:
    """How a turn batches, retries and protects itself. Times are in seconds."""

    batch_gradient: Sequence[float] = attrs.field(default=DEFAULT_GRADIENT, converter=_as_tuple)
    """Steps in tokens between emissions; the last one repeats."""
    growth: float = attrs.field(default=0.0, validator=_check_gradient)
    """Each step is at least this share of what is there. 0.1 caps what a long text costs; see docs/why.md."""
    batch_timeout: float = attrs.field(default=1.0, validator=_seconds())
    """Text that no delta has followed for this long is emitted."""
    max_latency: float | None = attrs.field(default=None, validator=_seconds(none=True))
    """When set: text that has waited this long is emitted even while deltas keep coming."""
    retry_attempts: int | None = attrs.field(default=3, validator=_whole(0, none=True))
    """Tries after the first one; None: until the turn's deadline."""
    retry_base: float = attrs.field(default=1.0, validator=_seconds(zero=True))
    retry_max: float = attrs.field(default=10.0, validator=_seconds(zero=True))
    retry_jitter: float = attrs.field(default=0.0, validator=_share)
    emit_cancelled: bool = False
    """Tell readers with an error ITEM_CANCELLED about a cancelled item that they have already seen."""
    deadline: float = attrs.field(default=3600.0, validator=_seconds())
    """A turn that is open longer than this ends with turn_error TURN_TIMEOUT."""
    outbox_limit: int = attrs.field(default=64, validator=_whole(1))
    """So many emissions may wait before the turn waits for its sink."""
    patience: float = attrs.field(default=0.25, validator=_seconds(zero=True))
    """When the turn has to wait and the oldest emission is older than this, only newest states wait. inf: never."""
    max_waiting: int = attrs.field(default=10_000, validator=_whole(1))
    max_waiting_bytes: int = attrs.field(default=64 * MIB, validator=_whole(1))
    """Past these two, `send` waits whatever the patience."""
    max_item_bytes: int = attrs.field(default=4 * MIB, validator=_whole(1))
    """An item with more text ends with error ITEM_TOO_LARGE."""
    max_items: int = attrs.field(default=1000, validator=_whole(1))
    """An item_start past so many live items gives an error item TOO_MANY_ITEMS."""
    max_event_bytes: int = attrs.field(default=16 * MIB, validator=_whole(1))
    """A larger event is an InvalidEventError."""
    channel_size: int = attrs.field(default=256, validator=_whole(1))
    """So many events may wait in the turn's channel before `send` waits."""
    repeat_window: int | None = attrs.field(default=64, validator=_whole(0, none=True))
    """So many of the last event ids are remembered, to tell a repeated event; None: all of the turn's, for turns that
    are read from a log, whose writer appends its tail again after a lost connection."""

    @property
    def gradient(self) -> Gradient:
        """The gradient these options describe; one object for all turns that share the numbers."""
        return shared_gradient(tuple(self.batch_gradient), self.growth)

    @property
    def latency(self) -> float:
        """`max_latency` as a number: inf when there is none."""
        return inf if self.max_latency is None else self.max_latency

    @property
    def retry(self) -> RetryPolicy:
        """How the writer retries."""
        return RetryPolicy(
            attempts=self.retry_attempts, base=self.retry_base, longest=self.retry_max, jitter=self.retry_jitter
        )
