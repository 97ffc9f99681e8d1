"""The producer for async programs: on Trio, and on AnyIO with either backend. Calls run in a thread, one at a time."""

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread

from turnwire.messages.events import StreamEvent
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.queue.announcement import Kind
from turnwire.runtime.queue.producer import PATIENCE, Producer


class AsyncProducer:
    """A Producer whose calls are awaited; see there. Use it as `async with AsyncProducer(url) as producer`.

    A call that is cancelled after it has begun is seen through first: at most `patience` seconds.
    """

    def __init__(self, url: str, *, options: RedisLogOptions | None = None, patience: float = PATIENCE) -> None:
        self._producer = Producer(url, options=options, patience=patience)
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def counts(self) -> LogCounts:
        """What was written, and what had to be put back."""
        return self._producer.counts

    async def announce(self, run_id: str, turn_id: str, thread_id: str, *, kind: Kind = "events") -> None:
        """Tell the workers that there is a turn, before its first event. Twice is fine."""
        await self._run(partial(self._producer.announce, run_id, turn_id, thread_id, kind=kind))

    async def publish(
        self, run_id: str, events: StreamEvent | bytes | str | Sequence[StreamEvent | bytes | str]
    ) -> None:
        """Write events to the run's log, in this order. Returns when Redis has them all."""
        await self._run(partial(self._producer.publish, run_id, events))

    async def stop(
        self, run_id: str | None = None, *, turn_id: str | None = None, reason: str = "stopped by user"
    ) -> None:
        """Stop a turn for good, whoever works on it, named by its run or by itself."""
        await self._run(partial(self._producer.stop, run_id, turn_id=turn_id, reason=reason))

    async def close(self, run_id: str, reason: str = "the producer ended without an end of the turn") -> None:
        """Say that no more events will come: without a terminal the turn ends as turn_error TURN_CLOSED."""
        await self._run(partial(self._producer.close, run_id, reason))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):  # it is bounded by itself
            await self._run(self._producer.disconnect)

    async def _run(self, call: Callable[[], None]) -> None:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)  # in order, and one thread whatever the number of tasks
        await anyio.to_thread.run_sync(call, limiter=self._limiter)
