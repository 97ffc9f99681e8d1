"""A log in Redis Streams: durable, shared between processes, safe against two owners and against a killed server.

Three connections and three threads, whatever the number of turns and readers:

```
open_redis_log
├─ writer        group commit of all appends; heals after every reconnect
├─ shared reader blocks on all followed turns at once
└─ waker         has the shared reader ask anew when another turn is to be followed
```
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import TypeVar

import trio

from turnwire.actors.backend import CALLED_INSTEAD, ENTERED_INSTEAD, require_trio
from turnwire.actors.supervisor import run_supervised
from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.folds import TurnSnapshot, fold_outputs
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.messages.peek import peek_event
from turnwire.runtime.beside import run_beside
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.feeds import Feed, RawFeed
from turnwire.runtime.logs.follow import Follower, RawFollower
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.appending import append_of
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.commit import Committer
from turnwire.runtime.logs.redis.control import Control
from turnwire.runtime.logs.redis.lane import Lane, Reply
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.requests import AppendRaw, Claim, Expire
from turnwire.runtime.logs.redis.tail import Tail
from turnwire.runtime.logs.redis.wire import (
    parse_entries,
    read_range,
    refusal,
    to_entry,
    to_raw_entry,
)

_E = TypeVar("_E", Entry, RawEntry)

PAGE = 512  # entries read in one round trip
PASSED = 8  # fences that may stand behind the newest entry: a turn announced again is claimed again, though it ended


@asynccontextmanager
async def open_redis_log(url: str, *, options: RedisLogOptions | None = None) -> AsyncGenerator["RedisLog", None]:
    """Open a log in the Redis server at `url` (redis://, rediss:// or unix://, with user and password if need be).

    The server need not be up: appends fail until it is, and whoever writes tries again. Raises ValueError for a URL
    or options that cannot be right. Leave the block after everything that writes to the log has ended.
    """
    require_trio("open_redis_log", instead=ENTERED_INSTEAD)
    redis_log = RedisLog(url, options or RedisLogOptions())
    async with run_beside(redis_log.run, redis_log.shut_down):
        yield redis_log


class RedisLog:
    """Both logs of all turns, in one Redis. Made by `open_redis_log`."""

    def __init__(self, url: str, options: RedisLogOptions) -> None:
        make_lane = partial(Lane, url, socket_timeout=options.socket_timeout)
        self.counts = LogCounts()
        self.keys = Keys(options.prefix)
        self._options = options
        self._writer_lane = make_lane(name="turnwire-writer")
        self._committer = Committer(self._writer_lane, Book(options, self.counts))
        self._control = Control(make_lane(name="turnwire-control"))
        self._tail = Tail(partial(make_lane, name="turnwire-reader"), self._control, options)
        self._ended = trio.Event()
        self._scope = trio.CancelScope(shield=True)  # what writes to us may outlive the host's cancellation for a while

    # Log B: outputs

    async def claim(self, turn_id: str) -> int:
        """Become the owner of a turn, and give the epoch to write under. Whoever had it is refused from now on.

        Raises FencedError when another claim came first.
        """
        require_trio("log.claim", instead=CALLED_INSTEAD)
        claim = Claim(key=self.keys.processed(turn_id), turn_id=turn_id, asked_at=trio.current_time())
        await self._committer.settle(claim)
        return claim.epoch

    async def append(self, message: StreamMessage) -> None:
        """Write one output under the id that its event id names.

        Returns when Redis has it, be it from an earlier try. Raises FencedError when the turn has another owner,
        LogUnavailableError when that could not be found out: then try again with the same message.
        """
        await self.append_many((message,))

    async def append_many(self, messages: Sequence[StreamMessage]) -> int:
        """Write outputs of one turn, in this order, and give how many of them, the first ones, are in the log.

        At least one is; raises what `append` would when not even the first is. What is written in one go has
        consecutive ids, so of others only the first ones are taken; the rest is for another call.
        """
        require_trio("log.append", instead=CALLED_INSTEAD)
        if not messages:
            return 0
        key = self.keys.processed(messages[0].turn_id)
        append = append_of(key, messages, now=trio.current_time())
        await self._committer.settle(append)
        return append.done

    async def read(self, turn_id: str, *, after: EntryId = START, limit: int | None = None) -> tuple[Entry, ...]:
        """Give a turn's entries after an id: all that are there, or the first `limit`."""
        require_trio("log.read", instead=CALLED_INSTEAD)
        return await self._read(self.keys.processed(turn_id), after, limit, to_entry)

    def follow(self, turn_id: str, *, after: EntryId = START) -> Follower:
        """Give a turn's entries after an id and those to come, until its terminal: `async for` over it."""
        return Follower(self, turn_id, after)

    async def snapshot(self, turn_id: str) -> TurnSnapshot:
        """Give what a reader of all of a turn's outputs knows."""
        return fold_outputs(await self.outputs(turn_id))

    async def outputs(self, turn_id: str) -> tuple[Output, ...]:
        """Give what a turn's entries say."""
        return tuple(decode_output(entry.message.payload) for entry in await self.read(turn_id))

    async def newest(self, turn_ids: Sequence[str]) -> tuple[Entry | None, ...]:
        """Give each turn's newest entry; None for one that has none. One round trip, however many are asked for."""
        require_trio("log.newest", instead=CALLED_INSTEAD)
        keys = [self.keys.processed(turn_id) for turn_id in turn_ids]
        pages = await self._control.ask_all([("XREVRANGE", key, "+", "-", "COUNT", PASSED) for key in keys])
        return tuple(map(_newest_of, pages))

    async def expire(self, turn_id: str) -> None:
        """Let a turn's outputs go after the time that is set for that. Done by itself after a terminal."""
        require_trio("log.expire", instead=CALLED_INSTEAD)
        await self._committer.settle(Expire(key=self.keys.processed(turn_id), asked_at=trio.current_time()))

    # Log A: raw events

    async def append_events(self, run_id: str, events: Sequence[StreamEvent | bytes]) -> tuple[EntryId, ...]:
        """Write raw events, all in one go and in this order; give their ids. Raises LogUnavailableError.

        After an error some of them may be in the log. Writing them again is right: who folds the log drops repeats.
        """
        require_trio("log.append_events", instead=CALLED_INSTEAD)
        texts = tuple(event if isinstance(event, bytes) else encode_event(event) for event in events)
        raw = AppendRaw(
            key=self.keys.raw(run_id),
            asked_at=trio.current_time(),
            size=sum(map(len, texts)),
            events=texts,
            has_terminal=any(peek_event(text).is_terminal for text in texts),
        )
        if texts:
            await self._committer.settle(raw)
        return tuple(raw.ids)

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        """Give a run's events after an id: all that are there, or the first `limit`."""
        require_trio("log.read_events", instead=CALLED_INSTEAD)
        return await self._read(self.keys.raw(run_id), after, limit, to_raw_entry)

    def follow_events(self, run_id: str, *, after: EntryId = START) -> RawFollower:
        """Give a run's events after an id and those to come, until one ends the turn: `async for` over it."""
        return RawFollower(self, run_id, after)

    async def expire_events(self, run_id: str) -> None:
        """Let a run's events go after the time that is set for that."""
        require_trio("log.expire_events", instead=CALLED_INSTEAD)
        await self._committer.settle(Expire(key=self.keys.raw(run_id), asked_at=trio.current_time()))

    # For readers, operators and the host

    def join(self, turn_id: str) -> Feed:
        """Count one reader more of a turn."""
        return self._tail.join(turn_id)

    def leave(self, turn_id: str) -> None:
        """Count one reader less of a turn."""
        self._tail.leave(turn_id)

    def join_raw(self, run_id: str, position: EntryId) -> RawFeed:
        """Count one reader more of a run's events."""
        return self._tail.join_raw(run_id, position)

    def leave_raw(self, run_id: str) -> None:
        """Count one reader less of a run's events."""
        self._tail.leave_raw(run_id)

    async def ping(self) -> None:
        """Return if the server answers. Raises LogUnavailableError."""
        require_trio("log.ping", instead=CALLED_INSTEAD)
        await self._control.ask(("PING",))

    @property
    def lag(self) -> float:
        """Seconds that the oldest append has been waiting for its acknowledgement."""
        oldest = self._committer.oldest
        return 0.0 if oldest == inf else trio.current_time() - oldest

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return self._writer_lane.is_open + self._control.is_open + self._tail.is_open

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return self._tail.heads.readers

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be the tasks of the log. `open_redis_log` starts it."""
        try:
            with self._scope:
                async with trio.open_nursery() as tasks:
                    for body, name in (
                        (self._committer.run, "log writer"),
                        (self._tail.run, "shared log reader"),
                        (self._tail.run_waker, "waker of the shared log reader"),
                    ):
                        budget = self._options.restart_budget
                        tasks.start_soon(partial(run_supervised, body, name=name, budget=budget), name=name)
                    task_status.started()
        finally:
            self._committer.close()
            self._control.close()
            self._tail.close()
            self._ended.set()

    async def shut_down(self) -> None:
        """End the tasks, whatever the server does; what still waits is refused."""
        self._scope.cancel()
        self._control.abort()
        self._committer.abort()
        with trio.CancelScope(shield=True):  # the threads that are made to give up do so at once
            await self._ended.wait()

    async def _read(
        self, key: str, after: EntryId, limit: int | None, make: Callable[[EntryId, dict[bytes, bytes]], _E | None]
    ) -> tuple[_E, ...]:
        entries: list[_E] = []
        while limit is None or len(entries) < limit:
            want = PAGE if limit is None else min(PAGE, limit - len(entries))
            page = parse_entries(await self._control.ask(read_range(key, after, want)))
            entries.extend(entry for entry_id, fields in page if (entry := make(entry_id, fields)) is not None)
            if len(page) < want:
                break
            after = page[-1][0]
        return tuple(entries)


def _newest_of(page: Reply) -> Entry | None:
    if (error := refusal(page)) is not None:
        raise LogUnavailableError(f"Redis refused to read a log: {error}")
    entries = (to_entry(entry_id, fields) for entry_id, fields in parse_entries(page))
    return next((entry for entry in entries if entry is not None), None)
