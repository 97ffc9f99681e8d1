"""What a queue of turns is to a worker, whoever keeps it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from turnwire.messages.entries import EntryId
from turnwire.runtime.queue.announcement import Announcement, Ticket


class WorkQueue(Protocol):
    """A queue, under the name of one worker. Every method raises LogUnavailableError while it cannot be reached."""

    name: str

    def open_reading(self) -> AbstractAsyncContextManager[None]:
        """Be ready to take, for the length of a block; whoever is cancelled in it is let go at once."""
        ...

    async def take(self, most: int) -> list[Ticket]:
        """Take turns that nobody has had; waits a while for one, then gives none."""
        ...

    async def keep(self, ids: Sequence[EntryId]) -> None:
        """Say that we still work on these."""
        ...

    async def take_over(self, most: int) -> list[Ticket]:
        """Take turns whose worker was not heard of for too long."""
        ...

    async def finish(self, turn: Announcement, ids: Sequence[EntryId]) -> None:
        """Take a turn whose terminal is in its log out of the queue."""
        ...

    async def hand_over(self) -> int:
        """Let others take all that we have, at once; give how many those are."""
        ...

    async def forget_gone_workers(self) -> None:
        """Clear away the names of workers that are no more."""
        ...

    def abort(self) -> None:
        """Have whoever waits for an answer give up, for good."""
        ...
