"""The queue of turns as a worker uses it: take, keep, take over, finish, hand over. Two connections, two threads.

One blocks in XREADGROUP; the other does everything else, so a claim is kept alive while the first one waits. What a
worker has taken stays in its list of pending entries on the server until it is acknowledged. The server counts how long
nobody spoke of an entry; whoever finds one that was silent for `claim_idle` may take it (XAUTOCLAIM). That is a guess,
and may be wrong: who owns a turn is decided by the fence in its log alone.
"""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import trio
from redis.exceptions import ResponseError

from turnwire.messages.entries import EntryId
from turnwire.messages.errors import LogUnavailableError, QueueError
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.control import Control
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.logs.redis.wire import parse_id, refusal
from turnwire.runtime.observe import get_logger
from turnwire.runtime.queue.announcement import GROUP, Announcement, Ticket, dismiss, parse_tickets, remember
from turnwire.runtime.settings import RedisSettings, WorkerSettings

log = get_logger("turnwire.queue")

PAGE = 1000  # ids in one command
NO_CURSOR = "0-0"
GONE_FOR = 3600.0  # seconds: a worker speaks at every heartbeat; one that has not for so long is no more
_PASSING = ("LOADING", "READONLY", "OOM", "MISCONF", "BUSY", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN")
"""How refusals begin that go away by themselves."""


_NOTHING_THERE = ("NOGROUP", "no such key", "ERR no such key", "The XGROUP subcommand requires the key")
"""How Redis says that there is no queue, or no group of workers, yet."""


class TurnQueue:
    """The queue, under the name of one worker. Every method raises LogUnavailableError while Redis is away."""

    def __init__(self, url: str, redis: RedisSettings, worker: WorkerSettings) -> None:
        make_lane = partial(Lane, url, socket_timeout=redis.socket_timeout)
        # Never the name of another, also where many workers share their settings: what is pending is kept under it, and
        # goes with it.
        self.name = f"{worker.full_name}-{os.urandom(3).hex()}"
        self.keys = Keys(redis.prefix)
        self.malformed = 0
        self._make_lane = partial(make_lane, name="turnwire-queue")
        self._reading = self._make_lane()
        self._control = Control(make_lane(name="turnwire-claims"))
        self._thread = trio.CapacityLimiter(1)
        self._block_ms = round(1000 * max(0.01, min(2.0, redis.socket_timeout / 2)))
        self._idle_ms = round(worker.claim_idle * 1000)
        self._fresh_ms = round(worker.heartbeat * 500)
        self._expire_ms = round(redis.expire_after * 1000)

    @asynccontextmanager
    async def open_reading(self) -> AsyncGenerator[None, None]:
        """Be ready to take, for the length of a block; whoever is cancelled in it is let go at once."""
        self._reading = self._make_lane()  # one that was aborted stays so
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._abort_when_cancelled, name="end of taking turns")
            yield
            nursery.cancel_scope.cancel()

    async def take(self, most: int) -> list[Ticket]:
        """Take turns that nobody has had; waits a while for one, then gives none."""
        try:
            reply = await trio.to_thread.run_sync(self._read_group, most, limiter=self._thread)
        finally:
            # Cancelled, it was us who broke the connection. What was taken then is still ours, and is handed over.
            await trio.lowlevel.checkpoint_if_cancelled()
        streams = cast("list[tuple[bytes, Any]]", reply or ())
        return await self._tickets(streams[0][1] if streams else ())

    async def keep(self, ids: Sequence[EntryId]) -> None:
        """Say that we still work on these. Those that another worker has taken by now are left to it."""
        if not ids:
            await self._ask([("PING",)])
            return
        ours = await self._pending(min(ids), max(ids))
        kept = [str(entry_id) for entry_id in ids if entry_id in ours]
        # Not what was spoken of just now: between the two commands another may have taken it.
        claim = ("XCLAIM", self.keys.queue, GROUP, self.name, self._fresh_ms)
        await self._ask([(*claim, *kept[at : at + PAGE], "JUSTID") for at in range(0, len(kept), PAGE)])

    async def take_over(self, most: int) -> list[Ticket]:
        """Take turns whose worker was not heard of for too long."""
        tickets: list[Ticket] = []
        cursor = NO_CURSOR
        while most > len(tickets):
            count = min(100, most - len(tickets))
            command = ("XAUTOCLAIM", self.keys.queue, GROUP, self.name, self._idle_ms, cursor, "COUNT", count)
            try:
                (reply,) = await self._ask([command])
                if reply is None:
                    break
                tickets += await self._tickets(reply[1])
            except LogUnavailableError:
                if not tickets:
                    raise
                break  # what we have is ours by now, and nobody else's for another idle time
            cursor = reply[0].decode()
            if cursor == NO_CURSOR:
                break
        return tickets

    async def finish(self, turn: Announcement, ids: Sequence[EntryId]) -> None:
        """Take a turn whose terminal is in its log out of the queue; what leads to it stays as long as its logs."""
        commands = [command for entry_id in ids for command in dismiss(self.keys, entry_id)]
        thread = ("PEXPIRE", self.keys.thread(turn.thread_id), self._expire_ms)
        await self._ask([*remember(self.keys, turn, expire_ms=self._expire_ms), thread, *commands])

    async def hand_over(self) -> int:
        """Let others take all that we have, at once; give how many those are.

        Our name stays for a while: what the server gives to a read that we have broken off is pending under it, and
        would go with it.
        """
        ids = [str(entry_id) for entry_id in await self._pending()]
        claim = ("XCLAIM", self.keys.queue, GROUP, self.name, 0)
        words = ("IDLE", self._idle_ms, "JUSTID")
        await self._ask([(*claim, *ids[at : at + PAGE], *words) for at in range(0, len(ids), PAGE)])
        return len(ids)

    async def forget_gone_workers(self) -> None:
        """Clear away the names of workers that have nothing pending and were not heard of for very long."""
        (reply,) = await self._ask([("XINFO", "CONSUMERS", self.keys.queue, GROUP)])
        for facts in cast("list[list[Any]]", reply or ()):
            known = dict(zip(facts[::2], facts[1::2], strict=True))
            if known[b"pending"] == 0 and known[b"idle"] > GONE_FOR * 1000:
                await self._forget(known[b"name"])

    async def _forget(self, name: bytes) -> None:
        """Clear a name away. Should its worker have woken up and taken turns just now, we take those."""
        pending = ("XPENDING", self.keys.queue, GROUP, "-", "+", PAGE, name)
        delete = ("XGROUP", "DELCONSUMER", self.keys.queue, GROUP, name)
        *_, replies = await self._ask([("MULTI",), pending, delete, ("EXEC",)])
        if taken := [entry[0] for entry in _checked(replies[0]) or ()]:
            log.warning("a worker that was believed gone had taken turns; they are taken over", turns=len(taken))
            claim = ("XCLAIM", self.keys.queue, GROUP, self.name, 0)
            await self._ask([(*claim, *taken, "IDLE", self._idle_ms, "FORCE", "JUSTID")])

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return self._reading.is_open + self._control.is_open

    def abort(self) -> None:
        """Have whoever waits for an answer give up, for good."""
        self._reading.abort()
        self._control.abort()

    def close(self) -> None:
        """Let the connections go."""
        self._reading.close()
        self._control.close()

    async def _tickets(self, entries: Reply) -> list[Ticket]:
        tickets, malformed = parse_tickets(entries)
        for entry_id in malformed:
            self.malformed += 1
            log.error("queue entry is no announcement; it is taken out", entry=str(entry_id))
            await self._ask(dismiss(self.keys, entry_id))
        return tickets

    async def _pending(self, first: EntryId | None = None, last: EntryId | None = None) -> set[EntryId]:
        """Give the entries that the server says are ours."""
        ids: set[EntryId] = set()
        start, end = str(first or "-"), str(last or "+")
        while True:
            (reply,) = await self._ask([("XPENDING", self.keys.queue, GROUP, start, end, PAGE, self.name)])
            page = [parse_id(entry[0]) for entry in cast("list[list[Any]]", reply or ())]
            ids.update(page)
            if len(page) < PAGE:
                return ids
            start = f"({page[-1]}"

    async def _ask(self, commands: Sequence[Command]) -> list[Reply]:
        """Give the replies; None where there is no group, and so nothing of ours in it."""
        if not commands:
            return []
        return [_checked(reply) for reply in await self._control.ask_all(commands)]

    def _read_group(self, most: int) -> Reply:
        lane = self._reading
        if not lane.is_open:
            lane.open()
            self._make_group(lane)
        block = ("COUNT", most, "BLOCK", self._block_ms)
        (reply,) = lane.ask([("XREADGROUP", "GROUP", GROUP, self.name, *block, "STREAMS", self.keys.queue, ">")])
        if refusal(reply) is not None and str(reply).startswith("NOGROUP"):
            self._make_group(lane)  # a server that came back without it, or a queue that was deleted
            return None
        return _checked(reply)

    def _make_group(self, lane: Lane) -> None:
        (reply,) = lane.ask([("XGROUP", "CREATE", self.keys.queue, GROUP, "0", "MKSTREAM")])
        if refusal(reply) is None or not str(reply).startswith("BUSYGROUP"):
            _checked(reply)

    async def _abort_when_cancelled(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._reading.abort()


def _checked(reply: Reply) -> Reply:
    if not isinstance(reply, ResponseError):
        return reply
    if str(reply).startswith(_NOTHING_THERE):
        return None
    if str(reply).startswith(_PASSING):
        raise LogUnavailableError(f"Redis refuses for now: {reply}")
    raise QueueError(f"Redis refused a command of the queue (it must be 6.2 or newer): {reply}")
