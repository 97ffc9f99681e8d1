"""What can be set about a log in Redis, checked when it is opened."""

from math import isfinite
from typing import Any

import attrs

from turnwire.actors.core.restarts import RestartBudget
from turnwire.runtime.logs.hub import MAX_READERS, MAX_READERS_PER_LOG

MIB = 1024 * 1024


def _positive(_instance: Any, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError(f"{attribute.name} must be a number greater than 0, not {value!r}")


@attrs.frozen(kw_only=True)
class RedisLogOptions:
    """How a log uses its Redis server. Times are in seconds."""

    prefix: str = "codex"
    """What all keys begin with."""
    expire_after: float = attrs.field(default=86_400.0, validator=_positive)
    """How long a turn's logs stay after its terminal."""
    keep_seconds: float = attrs.field(default=30.0, validator=_positive)
    """How long an acknowledged entry is kept, to be appended again if the server loses it."""
    keep_bytes: int = attrs.field(default=64 * MIB, validator=_positive)
    """How much is kept for that at most, over all turns."""
    socket_timeout: float = attrs.field(default=5.0, validator=_positive)
    """A server that has not answered for so long counts as gone."""
    round_entries: int = attrs.field(default=512, validator=_positive)
    """Entries in one pipeline at most: some 600 kB, so that a round stays short beside others' reads."""
    round_bytes: int = attrs.field(default=4 * MIB, validator=_positive)
    """Bytes in one pipeline at most (a single entry may be larger)."""

    max_readers: int = attrs.field(default=MAX_READERS, validator=_positive)
    max_readers_per_log: int = attrs.field(default=MAX_READERS_PER_LOG, validator=_positive)
    """Whoever would be one more is refused with TooManyReadersError."""

    restart_limit: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    restart_window: float = attrs.field(default=60.0, validator=_positive)
    """So many restarts of a failed task of the log within so many seconds; then its failure goes up."""

    @property
    def restart_budget(self) -> RestartBudget:
        """A fresh budget for one of the log's tasks."""
        return RestartBudget(limit=self.restart_limit, window=self.restart_window)

    def __attrs_post_init__(self) -> None:
        if self.expire_after <= self.keep_seconds:
            # An entry that is kept is put back when it is missing; one that has expired must not be.
            raise ValueError(
                f"expire_after ({self.expire_after:g} s) must be longer than keep_seconds ({self.keep_seconds:g} s)"
            )
