"""A log in memory: what embedded use, demos and tests keep their messages in.

It follows the same rules as the log in Redis (ids, owners, readers), and one suite of tests runs against both. One log
holds many turns; it lasts as long as the process, or until a turn's time after its terminal is over.
"""

from collections.abc import Sequence
from math import inf

import attrs
import trio

from turnwire.actors.backend import CALLED_INSTEAD, require_trio
from turnwire.messages.entries import START, Entry, EntryId, RawEntry, id_of
from turnwire.messages.errors import FencedError
from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot, fold_outputs
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.messages.peek import peek_event, peek_output
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.feeds import Feed, RawFeed
from turnwire.runtime.logs.follow import Follower, RawFollower
from turnwire.runtime.logs.hub import MAX_READERS, MAX_READERS_PER_LOG, Headcount, Readership


@attrs.define(eq=False)
class _Turn:
    entries: list[Entry] = attrs.field(factory=list[Entry])
    last_id: EntryId = START


class MemoryLog:
    """Both logs of all turns, for as long as the process lives. A turn's go `expire_after` seconds after its end."""

    def __init__(
        self,
        *,
        expire_after: float = inf,
        max_readers: int = MAX_READERS,
        max_readers_per_log: int = MAX_READERS_PER_LOG,
    ) -> None:
        self.counts = LogCounts()
        self._expire_after = expire_after
        self._turns: dict[str, _Turn] = {}
        self._runs: dict[str, list[RawEntry]] = {}
        self._expiring: dict[tuple[str, bool], float] = {}  # (name, is it raw) → when; oldest first
        self._heads = Headcount(most=max_readers, most_each=max_readers_per_log)
        self._readers: Readership[Feed] = Readership(self._heads)
        self._raw_readers: Readership[RawFeed] = Readership(self._heads)

    # Log B: outputs

    async def claim(self, turn_id: str) -> int:
        """Become the owner of a turn, and give the epoch to write under. Whoever had it is refused from now on."""
        require_trio("log.claim", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        turn = self._turn(turn_id)
        turn.last_id = EntryId(turn.last_id.major + 1, 0)
        self.counts.claimed += 1
        return turn.last_id.major

    async def append(self, message: StreamMessage) -> None:
        """Write one output under the id that its event id names; one that is there already is left as it is.

        Raises FencedError when the turn has another owner.
        """
        require_trio("log.append", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint_if_cancelled()
        entry = Entry(id=id_of(message), message=message)
        turn = self._turn(message.turn_id)
        if entry.id <= turn.last_id:
            if all(it.message.event_id != message.event_id for it in reversed(turn.entries)):
                self.counts.fenced += 1
                raise FencedError(f"turn {message.turn_id}: {message.event_id} was refused; it has another owner now")
            self.counts.landed += 1
            return
        turn.entries.append(entry)
        turn.last_id = entry.id
        self.counts.appended += 1
        if (feed := self._readers.feeds.get(message.turn_id)) is not None:
            feed.push(entry)
            feed.news.tell()
        if peek_output(message.payload).is_terminal:
            self._expire(message.turn_id, is_raw=False)

    async def append_many(self, messages: Sequence[StreamMessage]) -> int:
        """Write outputs of one turn, in this order, and give how many of them, the first ones, are in the log.

        At least one is; raises what `append` would when not even the first is.
        """
        for index, message in enumerate(messages):
            try:
                await self.append(message)
            except Exception:
                if not index:
                    raise
                return index  # whoever hands the rest over again is told why
        return len(messages)

    async def read(self, turn_id: str, *, after: EntryId = START, limit: int | None = None) -> tuple[Entry, ...]:
        """Give a turn's entries after an id: all that are there, or the first `limit`."""
        require_trio("log.read", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        self._forget_expired()
        turn = self._turns.get(turn_id)
        return () if turn is None else tuple(entry for entry in turn.entries if entry.id > after)[:limit]

    def follow(self, turn_id: str, *, after: EntryId = START) -> Follower:
        """Give a turn's entries after an id and those to come, until its terminal: `async for` over it."""
        return Follower(self, turn_id, after)

    async def snapshot(self, turn_id: str) -> TurnSnapshot:
        """Give what a reader of all of a turn's outputs knows."""
        return fold_outputs(await self.outputs(turn_id))

    async def outputs(self, turn_id: str) -> tuple[Output, ...]:
        """Give what a turn's entries say."""
        return tuple(decode_output(entry.message.payload) for entry in await self.read(turn_id))

    async def expire(self, turn_id: str) -> None:
        """Let a turn's outputs go after the time that is set for that. Done by itself after a terminal."""
        require_trio("log.expire", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        self._expire(turn_id, is_raw=False)

    async def newest(self, turn_ids: Sequence[str]) -> tuple[Entry | None, ...]:
        """Give each turn's newest entry; None for one that has none."""
        require_trio("log.newest", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        self._forget_expired()
        turns = [self._turns.get(turn_id) for turn_id in turn_ids]
        return tuple(turn.entries[-1] if turn is not None and turn.entries else None for turn in turns)

    def turn_ids(self) -> tuple[str, ...]:
        """Say which turns there are, oldest first."""
        self._forget_expired()
        return tuple(self._turns)

    # Log A: raw events

    async def append_events(self, run_id: str, events: Sequence[StreamEvent | bytes]) -> tuple[EntryId, ...]:
        """Write raw events in this order; give their ids."""
        require_trio("log.append_events", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint_if_cancelled()
        self._forget_expired()
        log = self._runs.setdefault(run_id, [])
        added: list[RawEntry] = []
        for event in events:
            text = event if isinstance(event, bytes) else encode_event(event)
            added.append(RawEntry(id=EntryId(1, len(log) + 1), event=text))
            log.append(added[-1])
        self.counts.raw_appended += len(added)
        if (feed := self._raw_readers.feeds.get(run_id)) is not None:
            for entry in added:
                feed.push(entry)
            feed.news.tell()
        if any(peek_event(entry.event).is_terminal for entry in added):
            self._expire(run_id, is_raw=True)
        return tuple(entry.id for entry in added)

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        """Give a run's events after an id: all that are there, or the first `limit`."""
        require_trio("log.read_events", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        self._forget_expired()
        start = after.minor if after.major else 0  # the ids count the events
        return tuple(self._runs.get(run_id, ())[start : None if limit is None else start + limit])

    def follow_events(self, run_id: str, *, after: EntryId = START) -> RawFollower:
        """Give a run's events after an id and those to come, until one ends the turn: `async for` over it."""
        return RawFollower(self, run_id, after)

    async def expire_events(self, run_id: str) -> None:
        """Let a run's events go after the time that is set for that."""
        require_trio("log.expire_events", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()
        self._expire(run_id, is_raw=True)

    # For readers

    def join(self, turn_id: str) -> Feed:
        """Count one reader more of a turn."""
        feed = self._readers.join(turn_id, Feed())
        if not feed.is_loaded:
            for entry in self._turns[turn_id].entries if turn_id in self._turns else ():
                feed.push(entry)
            feed.is_loaded = True
        return feed

    def leave(self, turn_id: str) -> None:
        """Count one reader less of a turn."""
        self._readers.leave(turn_id)

    def join_raw(self, run_id: str, position: EntryId) -> RawFeed:
        """Count one reader more of a run's events."""
        return self._raw_readers.join(run_id, RawFeed(position))

    def leave_raw(self, run_id: str) -> None:
        """Count one reader less of a run's events."""
        self._raw_readers.leave(run_id)

    async def ping(self) -> None:
        """Return: memory can always be reached."""
        require_trio("log.ping", instead=CALLED_INSTEAD)
        await trio.lowlevel.checkpoint()

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return self._heads.readers

    @property
    def lag(self) -> float:
        """Seconds that an append waits here: none."""
        return 0.0

    @property
    def connections(self) -> int:
        """How many connections are open: none are needed."""
        return 0

    def _turn(self, turn_id: str) -> _Turn:
        self._forget_expired()
        turn = self._turns.get(turn_id)
        if turn is None:
            turn = self._turns[turn_id] = _Turn()
        return turn

    def _expire(self, name: str, *, is_raw: bool) -> None:
        if self._expire_after < inf:
            self._expiring.setdefault((name, is_raw), trio.current_time() + self._expire_after)

    def _forget_expired(self) -> None:
        while self._expiring:
            (name, is_raw), at = next(iter(self._expiring.items()))
            if at > trio.current_time():
                return
            del self._expiring[name, is_raw]
            (self._runs if is_raw else self._turns).pop(name, None)
