"""Expiry, and how many readers there may be."""

import pytest
import trio
from trio.testing import MockClock

from tests.kit.logs import EXPIRE_AFTER, OpenLog, end, envelope, redis_log_options, start, text
from tests.kit.servers import plain_client
from tests.kit.turns import finished, started
from turnwire.messages.entries import START
from turnwire.messages.errors import TooManyReadersError
from turnwire.runtime.logs.feeds import Feed, RawFeed
from turnwire.runtime.logs.hub import Headcount, Readership
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.logs.redis import open_redis_log


async def test_the_logs_of_an_ended_turn_go_after_their_time_in_redis(redis_url: str, key_prefix: str) -> None:
    """Both logs, by their terminal or when told to; a turn that goes on keeps its own."""
    options = redis_log_options(key_prefix)
    async with open_redis_log(redis_url, options=options) as log:
        await log.append(envelope(start("on"), 1))
        await log.append(envelope(text("x", turn="on"), 2))
        await log.append_events("on", [started()])
        await log.append(envelope(end("off"), 1))
        await log.append_events("off", [started(), finished()])
        await log.append(envelope(start("told"), 1))
        await log.expire("told")
        await log.append_events("told", [started()])
        await log.expire_events("told")
        with plain_client(redis_url) as client:
            lives = {
                name: (client.pttl(log.keys.processed(name)), client.pttl(log.keys.raw(name)))
                for name in ("on", "off", "told")
            }
    assert lives["on"] == (-1, -1)
    for name in ("off", "told"):
        for milliseconds in lives[name]:
            assert isinstance(milliseconds, int)
            assert EXPIRE_AFTER * 900 < milliseconds <= EXPIRE_AFTER * 1000


async def test_the_logs_of_an_ended_turn_go_after_their_time_in_memory(autojump_clock: MockClock) -> None:
    """Not a moment earlier; without a time they stay."""
    log, lasting = MemoryLog(expire_after=10), MemoryLog()
    for each in (log, lasting):
        await each.append(envelope(start("on"), 1))
        await each.append(envelope(end("off"), 1))
        await each.append_events("off", [started(), finished()])
    await trio.sleep(9.9)
    assert log.turn_ids() == ("on", "off")
    assert len(await log.read_events("off")) == 2
    await trio.sleep(0.2)
    assert log.turn_ids() == ("on",)
    assert await log.read_events("off") == ()
    assert lasting.turn_ids() == ("on", "off")


async def test_a_reader_too_many_of_one_turn_is_refused(open_log: OpenLog) -> None:
    """A thousand read it; the next is told, and when one leaves there is room again."""
    async with open_log() as log:
        await log.append(envelope(start(), 1))
        with trio.fail_after(20):
            readers = [log.follow("t") for _ in range(1000)]
            for reader in readers:
                await anext(reader)
            with pytest.raises(TooManyReadersError, match="1000 of one log"):
                await anext(log.follow("t"))
            readers[0].close()
            await anext(log.follow("t"))
            for reader in readers:
                reader.close()


def test_there_is_a_limit_over_all_logs_too() -> None:
    """Of outputs and raw events together; a reader that was refused is not counted."""
    heads = Headcount(most=3, most_each=2)
    readers: Readership[Feed] = Readership(heads)
    raw_readers: Readership[RawFeed] = Readership(heads)
    for name in ("a", "a"):
        readers.join(name, Feed())
    raw_readers.join("b", RawFeed(START))
    for name in ("a", "b", "c"):
        with pytest.raises(TooManyReadersError, match="3 in all"):
            readers.join(name, Feed())
    readers.leave("a")
    readers.join("c", Feed())
    assert sorted(readers.feeds) == ["a", "c"]
    assert heads.readers == 3


async def test_the_limits_of_readers_are_options(redis_url: str, key_prefix: str) -> None:
    """Of both logs; a limit that leaves nobody in is refused."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix, max_readers=1)) as log:
        await log.append(envelope(start(), 1))
        async with log.follow("t") as reader:
            await anext(reader)
            with pytest.raises(TooManyReadersError, match="1 in all"):
                await anext(log.follow("t"))
    memory = MemoryLog(max_readers_per_log=1)
    await memory.append(envelope(start(), 1))
    async with memory.follow("t") as reader:
        await anext(reader)
        with pytest.raises(TooManyReadersError, match="1 of one log"):
            await anext(memory.follow("t"))
    with pytest.raises(ValueError, match="room for a reader"):
        MemoryLog(max_readers=0)
