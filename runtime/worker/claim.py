"""One turn in the hands of a worker: what is known of it between its tasks."""

from math import inf

import attrs

from turnwire.messages.entries import EntryId
from turnwire.runtime.logs.follow import RawFollower
from turnwire.runtime.queue.announcement import Announcement, Ticket


@attrs.define(eq=False)
class Claim:
    """A turn that this worker has taken from the queue. Announced twice, it has several queue entries."""

    turn: Announcement
    ids: list[EntryId]
    taken_at: float
    heard_at: float = inf
    """When its producer was last heard of; inf while an event waits for room, since that is not silence."""
    reader: RawFollower | None = None
    """Reads log A, once the turn is live."""
    is_stalled: bool = False

    @classmethod
    def of(cls, ticket: Ticket, *, now: float) -> "Claim":
        """Begin with one queue entry."""
        return cls(ticket.announcement, [ticket.id], now)

    @property
    def announced_ms(self) -> int:
        """When it was announced first: the ids of the queue are times."""
        return min(self.ids).major

    def stall(self) -> None:
        """Stop waiting for the producer."""
        self.is_stalled = True
        if self.reader is not None:
            self.reader.close()
