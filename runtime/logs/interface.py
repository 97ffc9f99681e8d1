"""What a log is, whoever keeps it: the one interface of the log in memory and the log in Redis."""

from collections.abc import Sequence
from typing import Protocol

from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.follow import Follower, RawFollower


class TurnLog(Protocol):
    """Log B of every turn (its outputs), and log A of every run (its raw events)."""

    counts: LogCounts

    async def claim(self, turn_id: str) -> int:
        """Become the owner of a turn, and give the epoch to write under. Whoever had it is refused from now on.

        Raises FencedError when another claim came first.
        """
        ...

    async def append(self, message: StreamMessage, /) -> None:
        """Write one output under the id that its event id names: `<turn_id>:<epoch>-<seq>`.

        Returns when the log has it, be it from an earlier try. Raises FencedError when the turn has another owner.
        """
        ...

    async def append_many(self, messages: Sequence[StreamMessage], /) -> int:
        """Write outputs of one turn, in this order, and give how many of them, the first ones, are in the log.

        At least one is; raises what `append` would when not even the first is. The rest is for another call.
        """
        ...

    async def read(self, turn_id: str, *, after: EntryId = START, limit: int | None = None) -> tuple[Entry, ...]:
        """Give a turn's entries after an id: all that are there, or the first `limit`."""
        ...

    def follow(self, turn_id: str, *, after: EntryId = START) -> Follower:
        """Give a turn's entries after an id and those to come, until its terminal: `async for` over it."""
        ...

    async def newest(self, turn_ids: Sequence[str]) -> tuple[Entry | None, ...]:
        """Give each turn's newest entry; None for one that has none. One round trip, however many are asked for."""
        ...

    async def outputs(self, turn_id: str) -> tuple[Output, ...]:
        """Give what a turn's entries say."""
        ...

    async def snapshot(self, turn_id: str) -> TurnSnapshot:
        """Give what a reader of all of a turn's outputs knows."""
        ...

    async def expire(self, turn_id: str) -> None:
        """Let a turn's outputs go after the time that is set for that. Done by itself after a terminal."""
        ...

    async def append_events(self, run_id: str, events: Sequence[StreamEvent | bytes]) -> tuple[EntryId, ...]:
        """Write raw events, in this order; give their ids."""
        ...

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        """Give a run's events after an id: all that are there, or the first `limit`."""
        ...

    def follow_events(self, run_id: str, *, after: EntryId = START) -> RawFollower:
        """Give a run's events after an id and those to come, until one ends the turn: `async for` over it."""
        ...

    @property
    def readers(self) -> int:
        """How many readers there are."""
        ...

    @property
    def lag(self) -> float:
        """Seconds that the oldest append has been waiting for its acknowledgement."""
        ...

    @property
    def connections(self) -> int:
        """How many connections are open."""
        ...

    async def ping(self) -> None:
        """Return if the log can be reached. Raises LogUnavailableError."""
        ...

    async def expire_events(self, run_id: str) -> None:
        """Let a run's events go after the time that is set for that. Done by itself after an event ends the turn."""
        ...
