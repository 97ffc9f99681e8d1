"""What a host can tell a turn beside its events. Commands stand in the turn's channel, behind what was sent before."""

from typing import TypeAlias

import attrs
import trio


@attrs.define(eq=False)
class FlushTurn:
    """Emit what is there; `done` is set when the sink has taken it."""

    done: trio.Event = attrs.field(factory=trio.Event)
    mark: int = 0
    """Serial of the last emission that this flush waits for."""


@attrs.frozen
class CloseTurn:
    """End the turn: the host has no more to say."""


@attrs.frozen
class FailTurn:
    """End the turn with turn_error, for a reason of the host's own."""

    code: str
    message: str


Command: TypeAlias = FlushTurn | CloseTurn | FailTurn
