"""What the checker reads, as plain data, and what it says."""

from typing import Literal, TypeAlias

import attrs

Rule: TypeAlias = Literal[
    "ids", "epochs", "envelope", "terminal", "started", "statuses", "lost", "wrong", "repeated", "order"
]


@attrs.frozen
class RawEvent:
    """An entry of log A."""

    entry: str
    """Its id, such as `1731912345678-0`."""
    event: str | bytes
    """JSON of one StreamEvent."""


@attrs.frozen
class OutputEntry:
    """An entry of log B. A fence has an id and nothing else."""

    entry: str
    """Its id, `<epoch>-<seq>`."""
    event_id: str | None = None
    timestamp: int | None = None
    turn_id: str | None = None
    payload: str | None = None

    @property
    def is_fence(self) -> bool:
        """Was it written to claim the turn, and to be skipped by readers?"""
        return self.event_id is None and self.payload is None


@attrs.frozen
class Violation:
    """One thing that must not be. `entry` is the place in log B; "" if something is missing there."""

    turn_id: str
    entry: str
    rule: Rule
    problem: str

    def __str__(self) -> str:
        where = f", entry {self.entry}" if self.entry else ""
        return f"turn {self.turn_id}{where}: {self.rule}: {self.problem}"
