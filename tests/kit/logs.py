"""Logs of every kind for the tests, and entries to put into them."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, TypeAlias, TypeVar

import pytest
import trio

from tests.kit.servers import NAMES, RedisServer, find_server
from turnwire.messages.entries import Entry, EntryId, RawEntry
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import ContentStatus, Message, Output, StreamMessage, TurnComplete, TurnStarted
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log

_E = TypeVar("_E", Entry, RawEntry)

OpenLog: TypeAlias = Callable[[], AbstractAsyncContextManager[TurnLog]]
"""Opens a log; opened twice, both see the same entries, as two processes would."""

EXPIRE_AFTER = 100.0


def envelope(output: Output, seq: int, *, epoch: int = 1, timestamp: int = 0) -> StreamMessage:
    """Put an output into its envelope, as the owner of an epoch does."""
    return StreamMessage(
        event_id=f"{output.turn_id}:{epoch}-{seq}",
        timestamp=timestamp,
        turn_id=output.turn_id,
        payload=encode_output(output),
    )


def start(turn: str = "t") -> TurnStarted:
    return TurnStarted(turn_id=turn, thread_id="th")


def text(content: str, *, item: str = "m", status: ContentStatus = "update", turn: str = "t") -> Message:
    return Message(turn_id=turn, thread_id="th", item_id=item, status=status, content=content, origin="agent")


def end(turn: str = "t") -> TurnComplete:
    return TurnComplete(turn_id=turn, thread_id="th", status="complete")


def at(text_id: str) -> EntryId:
    return EntryId.parse(text_id)


def redis_log_options(prefix: str, **more: float) -> RedisLogOptions:
    return RedisLogOptions(prefix=prefix, **({"expire_after": EXPIRE_AFTER} | more))  # type: ignore[arg-type]  # numbers


@pytest.fixture(scope="session", params=["memory", *NAMES])
def log_server(request: pytest.FixtureRequest) -> Iterator[RedisServer | None]:
    """A server for a log to be kept in; None for the log in memory."""
    if request.param == "memory":
        yield None
    else:
        with RedisServer(find_server(request.param)) as server:
            yield server


@pytest.fixture
def open_log(log_server: RedisServer | None, key_prefix: str) -> OpenLog:
    """Open one of the logs: in memory, or on a real server."""
    if log_server is None:
        memory = MemoryLog(expire_after=EXPIRE_AFTER)

        @asynccontextmanager
        async def open_memory() -> AsyncGenerator[TurnLog, None]:
            yield memory

        return open_memory
    url = log_server.url
    return lambda: open_redis_log(url, options=redis_log_options(key_prefix))


class Gathered(Generic[_E]):
    """Collects what a reader is given, and lets a test wait for it."""

    def __init__(self) -> None:
        self.entries: list[_E] = []
        self._news = trio.Event()

    async def read(self, reader: AsyncIterable[_E]) -> None:
        """Be the task that reads."""
        async for entry in reader:
            self.entries.append(entry)
            self._news.set()
            self._news = trio.Event()

    async def wait(self, count: int) -> None:
        """Wait until so many have come."""
        with trio.fail_after(20):
            while len(self.entries) < count:
                await self._news.wait()
