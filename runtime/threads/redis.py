"""Threads in Redis: they outlive every process, and any engine goes on with them.

| key | what |
|---|---|
| `<prefix>:run:<run_id>:input` | what a run begins with, until it expires |
| `<prefix>:thread:<thread_id>:conversation` | the messages and the state, as last saved |
| `<prefix>:thread:<thread_id>:pending` | the calls that it waits for, in order; not there if there are none |
| `<prefix>:thread:<thread_id>:answers` | a hash: each question's name and its one answer |
| `<prefix>:thread:<thread_id>:saved-by` | the run that has saved it last |
| `<prefix>:thread:<thread_id>:claim` | the run that has it now; expires unless it is claimed again |
| `<prefix>:waiting` | a sorted set: the threads that wait, since when |

One answer, one save: what they depend on is watched (WATCH) between looking and writing, so of many at once exactly one
gets through. Answers stay when they have been applied, so that whoever comes later is still told the first one; they
go with their thread.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from redis.exceptions import ResponseError

from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.runs import Answer, PendingCall, RunInput
from turnwire.messages.runs_codec import (
    decode_answer,
    decode_pending,
    decode_run_input,
    encode_answer,
    encode_pending,
    encode_run_input,
)
from turnwire.messages.ui import SavedConversation
from turnwire.messages.ui_codec import decode_saved, encode_saved
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis.control import Control
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.threads.answers import answered_before, check_saver, name_of, nobody_asked

EXPIRE_AFTER = 30 * 86_400.0
"""Seconds that a thread stays after it was last saved: a month, since a user may answer after the holidays."""
PAGE = 100  # threads looked at in one round trip when all that wait are listed


@asynccontextmanager
async def open_redis_threads(
    url: str, *, prefix: str = "codex", expire_after: float = EXPIRE_AFTER, socket_timeout: float = 5.0
) -> AsyncGenerator["RedisThreads", None]:
    """Open threads in Redis, over one connection. Raises ValueError for a URL that is none; connects when used."""
    threads = RedisThreads(
        Control(Lane(url, socket_timeout=socket_timeout, name="turnwire-threads")), Keys(prefix), expire_after
    )
    try:
        yield threads
    finally:
        threads.close()


class RedisThreads:
    """A ThreadStore in Redis. Every method raises LogUnavailableError while Redis is away; trying again is right."""

    def __init__(self, control: Control, keys: Keys, expire_after: float = EXPIRE_AFTER) -> None:
        if not expire_after > 0:
            raise ValueError(f"expire_after must be more than 0 seconds, not {expire_after!r}")
        self._control = control
        self._keys = keys
        self._expire_ms = round(expire_after * 1000)

    async def put_input(self, run: RunInput) -> None:
        """Keep what a run begins with, before it is announced."""
        await self._ask([put_input(self._keys, run, expire_ms=self._expire_ms)])

    async def get_input(self, run_id: str) -> RunInput | None:
        """Give what a run begins with."""
        (data,) = await self._ask([("GET", self._keys.run_input(run_id))])
        return None if data is None else decode_run_input(data)

    async def load(self, thread_id: str) -> SavedConversation | None:
        """Give a thread's conversation as it was last saved."""
        (data,) = await self._ask([("GET", self._keys.conversation(thread_id))])
        return None if data is None else decode_saved(data)

    async def claim(self, thread_id: str, run_id: str, *, seconds: float) -> str | None:
        """Take a thread for a run; None while another run has it."""
        key, ms = self._keys.claim(thread_id), round(seconds * 1000)
        taken, holder, saved_by = await self._ask(
            [("SET", key, run_id, "NX", "PX", ms), ("GET", key), ("GET", self._keys.saved_by(thread_id))]
        )
        if not taken:
            if holder != run_id.encode():
                return None
            await self._ask([("PEXPIRE", key, ms)])  # if it has lapsed by now, that of the next one: which does no harm
        return _text(saved_by)

    async def release(self, thread_id: str, run_id: str) -> None:
        """Let a thread go that a run has claimed."""
        key = self._keys.claim(thread_id)

        def decide(found: list[Reply]) -> list[Command]:
            return [("DEL", key)] if _text(found[0]) == run_id else []

        await self._look_and_write([("GET", key)], decide)

    async def save(
        self,
        thread_id: str,
        conversation: SavedConversation,
        *,
        run_id: str,
        pending: Sequence[PendingCall] = (),
        after: str | None = None,
    ) -> None:
        """Keep a thread's conversation, and what it waits for now: all of it, or nothing."""
        keys, ms, now = self._keys, self._expire_ms, time.time()
        asked, answers, saved_by = keys.pending(thread_id), keys.answers(thread_id), keys.saved_by(thread_id)
        commands: list[Command] = [
            ("SET", keys.conversation(thread_id), encode_saved(conversation), "PX", ms),
            ("SET", saved_by, run_id, "PX", ms),
            ("PEXPIRE", answers, ms),
            ("PEXPIRE", keys.run_input(run_id), ms),
        ]
        if pending:
            commands += [
                ("SET", asked, encode_pending(pending), "PX", ms),
                ("ZADD", keys.waiting, now, thread_id),
                ("ZREMRANGEBYSCORE", keys.waiting, "-inf", now - ms / 1000),  # those have expired by now
                ("PEXPIRE", keys.waiting, ms),
            ]
        else:
            commands += [("DEL", asked), ("ZREM", keys.waiting, thread_id)]

        def decide(found: list[Reply]) -> list[Command]:
            check_saver(thread_id, _text(found[0]), run_id=run_id, after=after)
            waited = {name_of(call) for call in _pending(found[1])}
            anew = [name_of(call) for call in pending if name_of(call) not in waited]
            return [*commands, ("HDEL", answers, *anew)] if anew else commands  # ids used before, and asked for anew

        await self._look_and_write([("GET", saved_by), ("GET", asked)], decide)

    async def pending(self, thread_id: str | None = None) -> tuple[PendingCall, ...]:
        """List what waits for an answer and has none: of one thread, or of all, oldest first."""
        if thread_id is not None:
            return await self._unanswered((thread_id,))
        (waiting,) = await self._ask([("ZRANGE", self._keys.waiting, 0, -1)])
        threads = [cast("bytes", name).decode() for name in waiting]
        calls: list[PendingCall] = []
        for at in range(0, len(threads), PAGE):
            calls += await self._unanswered(threads[at : at + PAGE])
        return tuple(calls)

    async def answer(self, thread_id: str, answer: Answer) -> None:
        """Take the one answer to a pending call: of many at once exactly one gets through."""
        name, key = name_of(answer), self._keys.answers(thread_id)

        def decide(found: list[Reply]) -> list[Command]:
            asked, first = found
            if first is not None:
                raise answered_before(decode_answer(first))
            if name not in map(name_of, _pending(asked)):
                raise nobody_asked(thread_id, answer)
            return [("HSET", key, name, encode_answer(answer)), ("PEXPIRE", key, self._expire_ms)]

        await self._look_and_write([("GET", self._keys.pending(thread_id)), ("HGET", key, name)], decide)

    async def answers(self, thread_id: str) -> tuple[Answer, ...]:
        """Give the answers that were taken and that no run has saved as applied yet."""
        asked = await self._pending_of(thread_id)
        if not asked:
            return ()
        (found,) = await self._ask([("HMGET", self._keys.answers(thread_id), *map(name_of, asked))])
        return tuple(decode_answer(data) for data in found if data is not None)

    async def forget(self, thread_id: str) -> None:
        """Let all of a thread go."""
        keys = self._keys
        names = (keys.conversation, keys.pending, keys.answers, keys.saved_by)
        await self._ask([("DEL", *(name(thread_id) for name in names)), ("ZREM", keys.waiting, thread_id)])

    def close(self) -> None:
        """Let the connection go."""
        self._control.close()

    async def _pending_of(self, thread_id: str) -> tuple[PendingCall, ...]:
        (data,) = await self._ask([("GET", self._keys.pending(thread_id))])
        return _pending(data)

    async def _unanswered(self, thread_ids: Sequence[str]) -> tuple[PendingCall, ...]:
        keys = self._keys
        asked = await self._ask([("GET", keys.pending(name)) for name in thread_ids])
        said = await self._ask([("HKEYS", keys.answers(name)) for name in thread_ids])
        calls: list[PendingCall] = []
        for data, names in zip(asked, said, strict=True):
            taken = {cast("bytes", name).decode() for name in names}
            calls += () if data is None else (call for call in decode_pending(data) if name_of(call) not in taken)
        return tuple(calls)

    async def _look_and_write(self, look: Sequence[Command], decide: Callable[[list[Reply]], list[Command]]) -> None:
        """Do what `decide` makes of what was found, all at once; look again if that has changed meanwhile."""
        keys = [str(command[1]) for command in look]
        while not await self._control.ask_around(partial(_look_and_write, keys=keys, look=look, decide=decide)):
            pass  # somebody else has written, so the threads as a whole have gone on

    async def _ask(self, commands: Sequence[Command]) -> list[Reply]:
        return _checked(await self._control.ask_all(commands))


def _look_and_write(
    lane: Lane, *, keys: Sequence[str], look: Sequence[Command], decide: Callable[[list[Reply]], list[Command]]
) -> bool:
    """Watch, look, write. False if something that was looked at has changed before it could be written."""
    _, *found = _checked(lane.ask([("WATCH", *keys), *look]))
    try:
        commands = decide(found)
    except BaseException:
        lane.ask([("UNWATCH",)])
        raise
    *_, done = _checked(lane.ask([("MULTI",), *commands, ("EXEC",)]))
    return done is not None and _checked(done) is done


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode()


def _pending(data: bytes | None) -> tuple[PendingCall, ...]:
    return () if data is None else decode_pending(data)


def _checked(replies: list[Reply]) -> list[Reply]:
    for reply in replies:
        if isinstance(reply, ResponseError):
            raise LogUnavailableError(f"Redis refused a command about threads: {reply}") from reply
    return replies


def put_input(keys: Keys, run: RunInput, *, expire_ms: int = round(EXPIRE_AFTER * 1000)) -> Command:
    """Word the command that keeps what a run begins with."""
    return ("SET", keys.run_input(run.run_id), encode_run_input(run), "PX", expire_ms)
