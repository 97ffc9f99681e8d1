"""What reading a turn comes to: an output, a refusal, or trouble that passes. Needs no extra, over HTTP or not."""

from collections.abc import Callable
from typing import TypeAlias

import attrs

from turnwire.actors.core.retry import RetryPolicy
from turnwire.messages.errors import TurnwireError
from turnwire.messages.outputs import Output


class RefusedError(TurnwireError):
    """The service will not let this turn be read. For whoever asked: another token, or another turn."""

    def __init__(self, problem: str, *, status: int) -> None:
        self.status = status
        super().__init__(problem)


@attrs.frozen(kw_only=True)
class ReadOutput:
    """One output as it was read. `rewound`: forget what came before it, the log tells the turn anew from here."""

    id: str
    output: Output
    rewound: bool = False


RETRY = RetryPolicy(attempts=None, base=0.5, longest=10.0, jitter=0.5)
"""How a connection that was lost is made again: for ever, ever later."""

Trouble: TypeAlias = Callable[[str, float], object]
"""Told why a connection was lost, and after how many seconds the next one is tried."""
