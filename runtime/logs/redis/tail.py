"""The shared reader: one connection follows all turns that anybody reads, however many.

It blocks in XREAD over all of them. When the set of turns changes meanwhile it is woken by CLIENT UNBLOCK from another
connection, and asks anew. After a reconnect it looks whether the server still has what was read: if not, the log is
read again from its beginning, and its readers are told so.
"""

from collections.abc import Callable
from functools import partial

import trio

from turnwire.actors.core.retry import retry_delay
from turnwire.messages.entries import START, EntryId, RawEntry
from turnwire.messages.errors import ClosedError, LogUnavailableError
from turnwire.runtime.logs.feeds import Failure, Feed, RawFeed
from turnwire.runtime.logs.hub import Headcount, Readership
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.control import Control
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.wire import (
    is_wrong_type,
    last_id,
    look_up,
    parse_streams,
    refusal,
    to_entry,
    to_raw_entry,
)
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.log")

PAGE = 64  # entries of one log in one reply
LOAD_AT_ONCE = 8  # logs read from their beginning at the same time: a reply is held in memory as a whole
UNBLOCK_AGAIN = 0.002  # seconds: how long an XREAD may be on its way to the server when it is to be woken


class Tail:
    """Fills the feeds of all logs that have readers."""

    def __init__(self, make_lane: Callable[[], Lane], control: Control, options: RedisLogOptions) -> None:
        self._make_lane = make_lane
        self._lane = make_lane()
        self._control = control
        self._keys = Keys(options.prefix)
        # Well below the timeout of the socket: a server that is silent for longer than this is not just quiet.
        self._block = max(0.01, min(2.0, options.socket_timeout / 2))
        self._thread = trio.CapacityLimiter(1)
        self.heads = Headcount(most=options.max_readers, most_each=options.max_readers_per_log)
        self.turns: Readership[Feed] = Readership(self.heads)
        self.runs: Readership[RawFeed] = Readership(self.heads)
        self._by_key: dict[str, Feed | RawFeed] = {}
        self._client_id = 0
        self._call = 0  # numbers the blocking reads
        self._is_blocked = False
        self._changed = trio.Event()
        self._is_closed = False
        self.connects = 0

    # For readers

    def join(self, turn_id: str) -> Feed:
        """Count one reader more of a turn."""
        key = self._keys.processed(turn_id)
        feed = self.turns.join(turn_id, Feed())
        self._follow(key, feed)
        return feed

    def leave(self, turn_id: str) -> None:
        """Count one reader less of a turn."""
        self.turns.leave(turn_id)
        if turn_id not in self.turns.feeds:
            self._by_key.pop(self._keys.processed(turn_id), None)

    def join_raw(self, run_id: str, position: EntryId) -> RawFeed:
        """Count one reader more of a run's events."""
        key = self._keys.raw(run_id)
        feed = self.runs.join(run_id, RawFeed(position))
        self._follow(key, feed)
        return feed

    def leave_raw(self, run_id: str) -> None:
        """Count one reader less of a run's events."""
        self.runs.leave(run_id)
        if run_id not in self.runs.feeds:
            self._by_key.pop(self._keys.raw(run_id), None)

    def close(self) -> None:
        """Tell all readers that nothing more will come."""
        self._is_closed = True
        for key in tuple(self._by_key):
            self._give_up(key, (ClosedError, "the log is closed"))
        self._lane.close()

    def _give_up(self, key: str, failure: Failure) -> None:
        feed = self._by_key.pop(key)
        feed.failure = failure
        feed.news.tell()

    def _follow(self, key: str, feed: Feed | RawFeed) -> None:
        if self._is_closed:
            feed.failure = (ClosedError, "the log is closed")
        elif feed.failure is None and self._by_key.get(key) is not feed:
            self._by_key[key] = feed
            self._changed.set()

    @property
    def is_open(self) -> bool:
        """Is there a connection, as far as is known?"""
        return self._lane.is_open

    # Tasks

    async def run(self) -> None:
        """Be the task that reads."""
        self._lane = self._make_lane()  # one that was aborted stays so
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._abort_when_cancelled, name="end of the shared reader")
            failed = 0
            while True:
                try:
                    await self._connect()
                    failed = 0
                    await self._read_on()
                except LogUnavailableError as exc:
                    await trio.lowlevel.checkpoint_if_cancelled()  # then it was us who broke the connection
                    if not failed:  # once per outage, not for each try to connect again
                        log.warning("shared reader disconnected", error=str(exc))
                    await trio.sleep(retry_delay(failed, base=0.05, longest=1.0))
                    failed += 1

    async def run_waker(self) -> None:
        """Be the task that has a blocked read ask anew when there are more turns to follow."""
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            call = self._call
            while self._is_blocked and self._call == call:
                try:
                    if await self._control.ask(("CLIENT", "UNBLOCK", self._client_id)) == 1:
                        break
                except LogUnavailableError as exc:
                    log.info("shared reader was not woken", error=str(exc))  # it wakes by itself soon
                    break
                await trio.sleep(UNBLOCK_AGAIN)

    async def _abort_when_cancelled(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._lane.abort()  # the thread that waits for a reply gives up at once

    async def _connect(self) -> None:
        while not self._by_key:
            await self._changed.wait()
            await trio.lowlevel.checkpoint()
        read = {key: feed.position for key, feed in self._by_key.items() if feed.position > START}
        self._client_id, lost = await trio.to_thread.run_sync(
            partial(_open_and_check, self._lane, read), limiter=self._thread
        )
        self.connects += 1
        for key, last in lost.items():
            if (feed := self._by_key.get(key)) is None:
                continue
            log.warning("log has lost what was read of it", key=key, read=str(read[key]), last=str(last))
            if isinstance(feed, Feed):
                feed.reset()
            else:
                feed.reset(min(last, feed.position))
                feed.news.tell()

    async def _read_on(self) -> None:
        while True:
            while not self._by_key:
                await self._changed.wait()
                await trio.lowlevel.checkpoint()
            loading = [key for key, feed in self._by_key.items() if isinstance(feed, Feed) and not feed.is_loaded]
            later = set(loading[LOAD_AT_ONCE:])
            asked = {key: feed for key, feed in self._by_key.items() if key not in later}
            must_wait = not loading
            block = ("BLOCK", round(self._block * 1000)) if must_wait else ()
            positions = [str(feed.position) for feed in asked.values()]
            command = ("XREAD", "COUNT", PAGE, *block, "STREAMS", *asked, *positions)
            self._call += 1
            self._is_blocked = must_wait
            try:
                reply, wrong = await trio.to_thread.run_sync(
                    _read, self._lane, command, tuple(asked), limiter=self._thread
                )
            finally:
                self._is_blocked = False
            for key in wrong:  # one key of another kind would have Redis refuse the reads of all
                if self._by_key.get(key) is asked[key]:
                    self._give_up(key, (LogUnavailableError, f"{key} holds something else than a log"))
            if not wrong:
                self._take_in(asked, reply)

    def _take_in(self, asked: dict[str, Feed | RawFeed], reply: Reply) -> None:
        full: set[str] = set()
        for key, entries in parse_streams(reply):
            feed = asked[key]
            if len(entries) >= PAGE:
                full.add(key)
            for entry_id, fields in entries:
                if isinstance(feed, Feed):
                    if (entry := to_entry(entry_id, fields)) is not None:
                        feed.push(entry)
                    feed.position = entry_id
                else:
                    # What is no event of ours is passed on as nothing: the place counts.
                    feed.push(to_raw_entry(entry_id, fields) or RawEntry(id=entry_id, event=b""))
            feed.news.tell()
        for key, feed in asked.items():
            if isinstance(feed, Feed) and not feed.is_loaded and key not in full:
                feed.is_loaded = True
                feed.news.tell()


def _read(lane: Lane, command: Command, keys: tuple[str, ...]) -> tuple[Reply, list[str]]:
    """Give the reply to a read, or the keys for which Redis refuses it."""
    reply = lane.ask([command])[0]
    if is_wrong_type(reply):
        kinds = lane.ask([("TYPE", key) for key in keys])
        return None, [key for key, kind in zip(keys, kinds, strict=True) if kind not in {b"stream", b"none"}]
    if (error := refusal(reply)) is not None:
        raise LogUnavailableError(f"Redis refused to read: {error}")
    return reply, []


def _open_and_check(lane: Lane, read: dict[str, EntryId]) -> tuple[int, dict[str, EntryId]]:
    """Connect; give the connection's number, and of the logs that no longer have what was read the last id."""
    lane.open()
    client_id, *found = lane.ask([("CLIENT", "ID"), *(look_up(key, position) for key, position in read.items())])
    lost = [key for key, reply in zip(read, found, strict=True) if not reply]
    ends = lane.ask([("XINFO", "STREAM", key) for key in lost]) if lost else []
    return client_id, {key: last_id(reply) or START for key, reply in zip(lost, ends, strict=True)}
