"""Trio's own doors, tried on asyncio by mistake: each says what to do instead."""

from collections.abc import Awaitable, Callable

import pytest
import trio

from tests.kit.loops import Runner, on_asyncio
from tests.kit.turns import THREAD, TURN
from turnwire.actors.backend import require_trio
from turnwire.messages import StreamMessage
from turnwire.messages.errors import WrongLoopError
from turnwire.runtime import MemoryLog, open_bridge, open_conversation, open_hosted, open_runtime
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.logs.redis.log import open_redis_log


async def sink(_message: StreamMessage) -> None:
    """Never called."""


@on_asyncio
def test_open_runtime_names_open_hosted(run: Runner) -> None:
    """Not an AttributeError from deep inside."""

    async def main() -> None:
        with pytest.raises(WrongLoopError, match=r"^open_runtime needs Trio, and this is asyncio: .*open_hosted"):
            async with open_runtime(sink=sink):
                raise AssertionError("not entered")

    run(main)


@on_asyncio
def test_open_conversation_names_open_hosted(run: Runner) -> None:
    """As open_runtime."""

    async def main() -> None:
        with pytest.raises(WrongLoopError, match=r"^open_conversation needs Trio.*open_hosted"):
            async with open_conversation(THREAD):
                raise AssertionError("not entered")

    run(main)


@on_asyncio
def test_open_redis_log_names_enter(run: Runner) -> None:
    """It has a block of its own, beside the runtime's."""

    async def main() -> None:
        with pytest.raises(WrongLoopError, match=r"^open_redis_log needs Trio.*bridge\.enter"):
            async with open_redis_log("redis://127.0.0.1:1"):
                raise AssertionError("not entered")

    run(main)


@on_asyncio
def test_a_log_s_reader_names_iterate(run: Runner) -> None:
    """With a guest there or without."""

    async def main() -> None:
        log = MemoryLog()
        with pytest.raises(WrongLoopError, match=r"^a log's reader needs Trio.*hosted\.iterate"):
            async for _entry in log.follow(TURN):
                raise AssertionError("none")
        async with open_hosted(sink=log):
            with pytest.raises(WrongLoopError, match=r"hosted\.iterate"):
                async with log.follow(TURN):
                    raise AssertionError("not entered")

    run(main)


CALLS: dict[str, Callable[[TurnLog], Awaitable[object]]] = {
    "append": lambda log: log.append(StreamMessage(event_id="1-1", timestamp=0, turn_id=TURN, payload="{}")),
    "append_events": lambda log: log.append_events(TURN, []),
    "claim": lambda log: log.claim(TURN),
    "expire": lambda log: log.expire(TURN),
    "expire_events": lambda log: log.expire_events(TURN),
    "newest": lambda log: log.newest([TURN]),
    "ping": lambda log: log.ping(),
    "read": lambda log: log.read(TURN),
    "read_events": lambda log: log.read_events(TURN),
}


@on_asyncio
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_a_log_names_call(run: Runner, name: str) -> None:
    """Whichever log, with a guest there or without; the log is as it was."""

    async def main() -> None:
        log = MemoryLog()
        with pytest.raises(WrongLoopError, match=rf"^log\.{name} needs Trio, and this is asyncio: .*hosted\.call"):
            await CALLS[name](log)
        async with open_hosted(sink=log) as hosted, open_bridge() as bridge:
            async with bridge.enter(open_redis_log("redis://127.0.0.1:1")) as in_redis:
                for each in (log, in_redis):
                    with pytest.raises(WrongLoopError, match=rf"^log\.{name} needs Trio.*hosted\.call"):
                        await CALLS[name](each)
            assert await hosted.call(log.read, TURN) == ()

    run(main)


@on_asyncio
def test_a_turn_of_the_runtime_itself_names_open_hosted(run: Runner) -> None:
    """`hosted.runtime.open_turn` gives a turn for Trio's side; its block cannot be the host's."""

    async def main() -> None:
        async with open_hosted(sink=sink) as hosted:
            with pytest.raises(WrongLoopError, match="a turn needs Trio"):
                async with hosted.runtime.open_turn(turn_id=TURN, thread_id=THREAD):
                    raise AssertionError("not entered")

    run(main)


def test_outside_of_any_loop_it_says_so() -> None:
    """The one who asks may not even have an asyncio."""
    with pytest.raises(WrongLoopError, match="thing needs Trio, and no Trio task is running here: do that"):
        require_trio("thing", instead="do that")


async def test_on_trio_nothing_is_said() -> None:
    """The doors are open."""
    await trio.lowlevel.checkpoint()
    require_trio("thing", instead="do that")
