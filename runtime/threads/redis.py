"""Threads in Redis: they outlive every process, and any engine goes on with them.

| key | what |
|---|---|
| `<prefix>:run:<run_id>:input` | what a run begins with, until it expires |
| `<prefix>:thread:<thread_id>:conversation` | the messages and the state, as last saved |
| `<prefix>:thread:<thread_id>:pending` | the calls that it waits for, in order; not there if there are none |
| `<prefix>:thread:<thread_id>:answers` | a hash: each question's name and its one answer |
| `<prefix>:waiting` | a sorted set: the threads that wait, since when |

One answer: HSETNX lets exactly one of many through. Answers stay when they have been applied, so that whoever comes
later is still told the first one; they go with their thread.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

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
from turnwire.runtime.threads.answers import answered_before, name_of, nobody_asked

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
        key = self._keys.run_input(run.run_id)
        await self._ask([("SET", key, encode_run_input(run), "PX", self._expire_ms)])

    async def get_input(self, run_id: str) -> RunInput | None:
        """Give what a run begins with."""
        (data,) = await self._ask([("GET", self._keys.run_input(run_id))])
        return None if data is None else decode_run_input(data)

    async def load(self, thread_id: str) -> SavedConversation | None:
        """Give a thread's conversation as it was last saved."""
        (data,) = await self._ask([("GET", self._keys.conversation(thread_id))])
        return None if data is None else decode_saved(data)

    async def save(
        self, thread_id: str, conversation: SavedConversation, *, run_id: str, pending: Sequence[PendingCall] = ()
    ) -> None:
        """Keep a thread's conversation, and what it waits for now: all of it, or nothing."""
        keys, ms, now = self._keys, self._expire_ms, time.time()
        waited = {name_of(call) for call in await self._pending_of(thread_id)}
        anew = [name_of(call) for call in pending if name_of(call) not in waited]
        asked, answers = keys.pending(thread_id), keys.answers(thread_id)
        commands: list[Command] = [
            ("MULTI",),
            ("SET", keys.conversation(thread_id), encode_saved(conversation), "PX", ms),
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
        if anew:
            commands.append(("HDEL", answers, *anew))  # an id that was used before, and is asked for anew
        *_, done = await self._ask([*commands, ("EXEC",)])
        for reply in cast("list[Any]", done):
            _checked(reply)

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
        asked, first = await self._ask([("GET", self._keys.pending(thread_id)), ("HGET", key, name)])
        if first is None:
            if name not in map(name_of, () if asked is None else decode_pending(asked)):
                raise nobody_asked(thread_id, answer)
            is_first, first, _ = await self._ask(
                [("HSETNX", key, name, encode_answer(answer)), ("HGET", key, name), ("PEXPIRE", key, self._expire_ms)]
            )
            if is_first:
                return
        raise answered_before(decode_answer(first))

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
        names = (keys.conversation(thread_id), keys.pending(thread_id), keys.answers(thread_id))
        await self._ask([("DEL", *names), ("ZREM", keys.waiting, thread_id)])

    def close(self) -> None:
        """Let the connection go."""
        self._control.close()

    async def _pending_of(self, thread_id: str) -> tuple[PendingCall, ...]:
        (data,) = await self._ask([("GET", self._keys.pending(thread_id))])
        return () if data is None else decode_pending(data)

    async def _unanswered(self, thread_ids: Sequence[str]) -> tuple[PendingCall, ...]:
        keys = self._keys
        asked = await self._ask([("GET", keys.pending(name)) for name in thread_ids])
        said = await self._ask([("HKEYS", keys.answers(name)) for name in thread_ids])
        calls: list[PendingCall] = []
        for data, names in zip(asked, said, strict=True):
            taken = {cast("bytes", name).decode() for name in names}
            calls += () if data is None else (call for call in decode_pending(data) if name_of(call) not in taken)
        return tuple(calls)

    async def _ask(self, commands: Sequence[Command]) -> list[Reply]:
        return [_checked(reply) for reply in await self._control.ask_all(commands)]


def _checked(reply: Reply) -> Reply:
    if isinstance(reply, ResponseError):
        raise LogUnavailableError(f"Redis refused a command about threads: {reply}") from reply
    return reply
