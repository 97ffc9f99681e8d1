"""The directory of turns in Redis: shared by all processes, and as durable as their logs.

One connection, used in a thread. What was announced here is kept for `keep_seconds`, and made again if the server turns
out to have lost it: after every reconnect, which a task notices within a second as long as anything is kept.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar, cast

import trio

from turnwire.actors.core.restarts import RestartBudget
from turnwire.actors.supervisor import run_supervised
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.runs import RunInput
from turnwire.runtime.backend.directory import (
    ListedTurn,
    RecentTurns,
    TakenError,
    check_free,
    cursor_of,
    parse_cursor,
    place_of,
)
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.logs.redis.one_thread import OneThread
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.wire import refusal
from turnwire.runtime.queue.announced import Announced, AnnouncedTurns
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.threads.redis import put_input

LOOK_EVERY = 1.0  # seconds: as often as a log looks
MOST_UNANSWERED = 1000  # tries to announce that nobody repeats, before the oldest are forgotten
_T = TypeVar("_T")


@asynccontextmanager
async def open_redis_directory(url: str, options: RedisLogOptions) -> AsyncGenerator["RedisDirectory", None]:
    """Open the directory in the server at `url`, for the length of a block. The server need not be up."""
    directory = RedisDirectory(url, options)
    async with trio.open_nursery() as nursery:
        minder = partial(run_supervised, directory.run, name="announcements", budget=RestartBudget())
        nursery.start_soon(minder, name="announcements")
        try:
            yield directory
        finally:
            nursery.cancel_scope.cancel()
            directory.close()


class RedisDirectory:
    """Knows the turns of all processes. Made by `open_redis_directory`."""

    def __init__(self, url: str, options: RedisLogOptions) -> None:
        self._keys = Keys(options.prefix)
        self._lane = Lane(url, socket_timeout=options.socket_timeout, name="turnwire-directory")
        self._thread = OneThread(timeout=options.socket_timeout)
        self._announced = AnnouncedTurns(options)
        self._unanswered: dict[str, None] = {}  # runs whose announcement may have landed; oldest first

    async def announce(self, turn: Announcement, run: RunInput | None = None) -> None:
        """Remember a turn, list it, and tell the workers; with it goes the input of its run. Twice is fine."""
        await self._do(partial(self._announce, turn, run))

    async def turn_of(self, run_id: str) -> str | None:
        """Say which turn a run belongs to."""
        return await self._get(self._keys.turn_of(run_id))

    async def run_of(self, turn_id: str) -> str | None:
        """Say under which run a turn's events are kept."""
        return await self._get(self._keys.run_of(turn_id))

    async def has_input(self, run_id: str) -> bool:
        """Say whether a run was announced with an input. That stays for longer than the rest."""
        return bool(await self._ask(("EXISTS", self._keys.run_input(run_id))))

    async def thread_of(self, turn_id: str) -> str | None:
        """Say which thread a turn belongs to."""
        return await self._get(self._keys.thread_of(turn_id))

    async def threads_of(self, turn_ids: Sequence[str]) -> tuple[str | None, ...]:
        """Say it of many turns at once: one round trip."""
        if not turn_ids:
            return ()
        reply = await self._ask(("MGET", *map(self._keys.thread_of, turn_ids)))
        return tuple(None if it is None else it.decode() for it in cast("list[bytes | None]", reply))

    async def turns_of(self, thread_id: str) -> tuple[ListedTurn, ...]:
        """List a thread's turns, oldest first."""
        reply = await self._ask(("ZRANGE", self._keys.thread(thread_id), 0, -1, "WITHSCORES"))
        return tuple(_listed(reply))

    async def recent(self, *, before: str | None = None, limit: int = 50) -> RecentTurns:
        """List turns of all threads, newest first, from a cursor on."""
        end = None if before is None else parse_cursor(before)
        highest = "+inf" if end is None else end.announced_ms
        found: list[ListedTurn] = []
        skipped = 0
        while len(found) <= limit:  # one more than the page, to know whether there is another
            window = ("-inf", "WITHSCORES", "LIMIT", skipped, limit + 1)
            page = _listed(await self._ask(("ZREVRANGEBYSCORE", self._keys.recent, highest, *window)))
            found.extend(it for it in page if end is None or place_of(it) < place_of(end))
            if len(page) <= limit:
                break
            skipped += len(page)
        shown = tuple(found[:limit])
        return RecentTurns(shown, cursor_of(shown[-1]) if len(found) > limit else None)

    @property
    def kept(self) -> int:
        """How many announcements are kept, to be made again."""
        return len(self._announced)

    async def run(self) -> None:
        """Be the task that notices a server that forgets."""
        while True:
            await trio.sleep(LOOK_EVERY)
            if len(self._announced):
                with suppress(LogUnavailableError):
                    await self._do(self._look_after)

    def close(self) -> None:
        """Let the connection go; whoever waits for an answer gives up."""
        self._lane.abort()
        self._lane.close()

    # In the thread

    def _announce(self, turn: Announcement, run: RunInput | None) -> None:
        known = self._announced.get(turn.run_id)
        if known is not None and known.turn == turn and known.entry_id is not None:
            return
        before = None if run is None else put_input(self._keys, run)
        announced = self._announce_new(turn, before)
        if announced is None and turn.run_id in self._unanswered:  # that was us: it is looked after like the others
            announced = self._announced.add(turn, before=before)
        self._unanswered.pop(turn.run_id, None)
        if announced is not None:
            # What is older than the server may lose need not be kept: a log's entries are not either.
            announced.done_at = time.monotonic()

    def _announce_new(self, turn: Announcement, before: Command | None) -> Announced | None:
        """Announce a turn; None if that was done before."""
        while not self._is_listed(turn):
            announced = self._announced.add(turn, before=before)
            is_done = False
            try:
                is_done = self._announced.announce(self._lane, announced)
            except LogUnavailableError:
                self._unanswered[turn.run_id] = None
                if len(self._unanswered) > MOST_UNANSWERED:
                    del self._unanswered[next(iter(self._unanswered))]
                raise
            finally:
                if not is_done:
                    self._announced.discard(announced)
            if is_done:
                return announced
            # Else another process was quicker: what has it announced?
        return None

    def _is_listed(self, turn: Announcement) -> bool:
        """Was it announced by another process? Then announcing it once more would only make a worker look twice.

        If not, what was looked at is watched: the announcement fails if it changes before. Raises TakenError.
        """
        keys = self._keys.turn_of(turn.run_id), self._keys.run_of(turn.turn_id), self._keys.thread_of(turn.turn_id)
        replies = self._lane.ask([("WATCH", *keys), *(("GET", key) for key in keys)])
        if (error := next(filter(None, map(refusal, replies)), None)) is not None:
            raise LogUnavailableError(f"Redis refused to look for a turn: {error}")
        turn_id, run_id, thread_id = (None if it is None else cast("bytes", it).decode() for it in replies[1:])
        try:
            is_listed = check_free(turn, turn_id=turn_id, run_id=run_id, thread_id=thread_id)
        except TakenError:
            self._lane.ask([("UNWATCH",)])
            raise
        if is_listed:
            self._lane.ask([("UNWATCH",)])
        return is_listed

    def _connect(self) -> None:
        if not self._lane.is_open:
            self._lane.open()
            try:
                # An outage is no time that has passed.
                self._announced.announce_again(self._lane, now=float("-inf"), may_have=self._may_have)
            except BaseException:
                self._lane.close()  # so that it is done before anything else
                raise

    def _may_have(self, turn: Announcement) -> bool:
        try:
            self._is_listed(turn)
        except TakenError:
            return False
        return True

    def _look_after(self) -> None:
        self._connect()
        self._lane.ask_one(("PING",))
        self._announced.forget(time.monotonic())

    async def _get(self, key: str) -> str | None:
        reply = await self._ask(("GET", key))
        return None if reply is None else cast("bytes", reply).decode()

    async def _ask(self, command: Command) -> Reply:
        (reply,) = await self._do(lambda: self._lane.ask([command]))
        if (error := refusal(reply)) is not None:
            raise LogUnavailableError(f"Redis refused {command[0]!r}: {error}")
        return reply

    async def _do(self, operation: Callable[[], _T]) -> _T:
        def run() -> _T:
            self._connect()
            return operation()

        return await self._thread.run(run)


def _listed(reply: Reply) -> list[ListedTurn]:
    flat = cast("list[bytes]", reply or [])
    return [
        ListedTurn(member.decode(), round(float(score))) for member, score in zip(flat[::2], flat[1::2], strict=True)
    ]
