"""Opens what a service stands on, as the settings say: in memory, or in the Redis at `redis.url`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs

from turnwire.actors.engine_ports import ThreadStore
from turnwire.runtime.backend.directory import TurnDirectory
from turnwire.runtime.backend.memory_directory import MemoryDirectory
from turnwire.runtime.backend.redis_directory import open_redis_directory
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log
from turnwire.runtime.queue.interface import WorkQueue
from turnwire.runtime.queue.memory import MemoryQueue
from turnwire.runtime.queue.turn_queue import TurnQueue
from turnwire.runtime.settings import Settings
from turnwire.runtime.threads import MemoryThreads, open_redis_threads


@attrs.frozen(kw_only=True)
class Backend:
    """Everything that outlives a request. `is_shared`: may other processes stand on the same?"""

    log: TurnLog
    queue: WorkQueue
    directory: TurnDirectory
    threads: ThreadStore
    is_shared: bool


@asynccontextmanager
async def open_backend(settings: Settings) -> AsyncGenerator[Backend, None]:
    """Open it for the length of a block. A Redis server need not be up: whoever needs it waits, or is told."""
    if settings.redis.url is None:
        yield _in_memory(settings)
        return
    options = log_options(settings)
    queue = TurnQueue(settings.redis.url, settings.redis, settings.worker)
    try:
        async with (
            open_redis_log(settings.redis.url, options=options) as log,
            open_redis_directory(settings.redis.url, options) as directory,
            open_redis_threads(
                settings.redis.url, prefix=settings.redis.prefix, socket_timeout=settings.redis.socket_timeout
            ) as threads,
        ):
            yield Backend(log=log, queue=queue, directory=directory, threads=threads, is_shared=True)
    finally:
        queue.close()


def log_options(settings: Settings) -> RedisLogOptions:
    """Give the options of the log in Redis."""
    redis, limits = settings.redis, settings.limits
    return RedisLogOptions(
        prefix=redis.prefix,
        expire_after=redis.expire_after,
        keep_seconds=redis.keep_seconds,
        keep_bytes=redis.keep_bytes,
        socket_timeout=redis.socket_timeout,
        max_readers=_most_readers(settings),
        max_readers_per_log=limits.readers_per_turn + 1,
        restart_limit=settings.worker.restart_limit,
        restart_window=settings.worker.restart_window,
    )


def _in_memory(settings: Settings) -> Backend:
    log = MemoryLog(
        expire_after=settings.redis.expire_after,
        max_readers=_most_readers(settings),
        max_readers_per_log=settings.limits.readers_per_turn + 1,
    )
    worker = settings.worker
    queue = MemoryQueue(name=worker.full_name, claim_idle=worker.claim_idle, max_turns=settings.limits.turns)
    threads = MemoryThreads()
    expire_after = settings.redis.expire_after + settings.turn_options.deadline
    directory = MemoryDirectory(queue, threads=threads, expire_after=expire_after)
    return Backend(log=log, queue=queue, directory=directory, threads=threads, is_shared=False)


def _most_readers(settings: Settings) -> int:
    """Readers as they are limited, and one of each turn's events that is ours: the worker's."""
    return settings.limits.readers + settings.limits.turns
