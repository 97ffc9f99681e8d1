"""Stores of threads as tests want them: one fixture for the one in memory and for those in Redis."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest

from tests.kit.agents import user
from tests.kit.servers import RedisServer
from turnwire.actors.engine_ports import ThreadStore
from turnwire.messages.runs import PendingCall, PendingKind
from turnwire.messages.ui import SavedConversation
from turnwire.runtime.threads import MemoryThreads, open_redis_threads

OpenThreads: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]
SAVED = SavedConversation(messages=(user("Hello"),), state={"n": 1})


@pytest.fixture
def open_threads(log_server: RedisServer | None, key_prefix: str) -> OpenThreads:
    """Open one of the stores; opened twice, both see the same threads, as two processes would."""
    if log_server is None:
        memory = MemoryThreads()

        @asynccontextmanager
        async def open_memory() -> AsyncGenerator[ThreadStore, None]:
            yield memory

        return open_memory
    url = log_server.url
    return lambda: open_redis_threads(url, prefix=key_prefix)


def asked(call_id: str = "c1", approval_id: str | None = "a1", *, thread: str = "th", run: str = "r1") -> PendingCall:
    kind: PendingKind = "client_tool" if approval_id is None else "approval"
    return PendingCall(
        kind=kind,
        thread_id=thread,
        run_id=run,
        tool_call_id=call_id,
        tool_name="t",
        input={"x": 1},
        approval_id=approval_id,
    )
