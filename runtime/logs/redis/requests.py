"""What can be asked of the writer of a Redis log, each settled on its own."""

from collections.abc import Sequence
from typing import TypeAlias

import attrs
import trio

from turnwire.messages.entries import EntryId


@attrs.define(eq=False, kw_only=True)
class Request:
    """Waits in line, is sent, is settled. Cancelled while it waits, it was never sent; later it is seen through."""

    key: str
    asked_at: float
    size: int = 0
    error: Exception | None = None
    is_settled: bool = False
    is_sent: bool = False
    is_withdrawn: bool = False
    task: trio.lowlevel.Task | None = None

    @property
    def count(self) -> int:
        """How many entries it is about."""
        return 1

    def refuse(self, error: Exception) -> None:
        """Settle it: it was not done, and this is why."""
        self.error = error
        self.is_settled = True

    def accept(self) -> None:
        """Settle it: it is done."""
        self.is_settled = True

    def abort(self, _raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        """Answer Trio, which would like to cancel whoever waits for this."""
        if self.is_sent:
            return trio.lowlevel.Abort.FAILED  # it may be in the log by now: its caller shall know
        self.is_withdrawn = True
        return trio.lowlevel.Abort.SUCCEEDED


@attrs.define(eq=False, kw_only=True)
class Append(Request):
    """Write outputs of one turn, under consecutive ids of its owner's."""

    turn_id: str
    first: EntryId
    event_ids: Sequence[str]
    commands: Sequence[bytes]
    is_terminal: bool = False
    """Does the last of them end the turn?"""
    done: int = 0
    """How many are in the log; the first ones, always."""

    @property
    def count(self) -> int:
        """How many entries it is about."""
        return len(self.commands)

    def id_at(self, index: int) -> EntryId:
        """Give the id of one of its entries."""
        return EntryId(self.first.major, self.first.minor + index)


@attrs.define(eq=False, kw_only=True)
class AppendRaw(Request):
    """Write raw events, in order, under ids that Redis gives."""

    events: tuple[bytes, ...]
    has_terminal: bool = False

    @property
    def count(self) -> int:
        """How many entries it is about."""
        return len(self.events)

    ids: list[EntryId] = attrs.field(factory=list[EntryId])


@attrs.define(eq=False, kw_only=True)
class Claim(Request):
    """Become the owner of a turn."""

    turn_id: str
    epoch: int = 0


@attrs.define(eq=False, kw_only=True)
class Expire(Request):
    """Let a log go after some time."""


AnyRequest: TypeAlias = Append | AppendRaw | Claim | Expire
