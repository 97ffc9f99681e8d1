"""Servers that lose what they had acknowledged and make it hard to put back; other owners, long outages, silence."""

import pytest
import trio

from tests.kit.logs import end, envelope, redis_log_options, start, text
from tests.kit.servers import RedisServer, find_server, plain_client
from tests.kit.turns import finished, started
from turnwire.messages.errors import FencedError, LogUnavailableError
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.redis import RedisLog, open_redis_log

pytestmark = pytest.mark.parametrize("name", ["redis", "valkey"])


async def restart(server: RedisServer) -> None:
    """Kill a server that keeps nothing, and start it empty."""
    server.kill()
    await trio.to_thread.run_sync(server.start)


async def append(log: RedisLog, message: StreamMessage) -> None:
    with trio.fail_after(10):
        while True:
            try:
                return await log.append(message)
            except LogUnavailableError:
                await trio.sleep(0.01)


async def ids(log: RedisLog, turn_id: str = "t") -> list[str]:
    return [str(entry.id) for entry in await log.read(turn_id)]


async def test_a_turn_that_another_has_claimed_and_written_under_the_same_epoch_is_theirs(name: str) -> None:
    """Their entries stand under the ids of ours, event ids included: only the fence tells whose they are."""
    options = redis_log_options("codex", socket_timeout=2)
    with RedisServer(find_server(name)) as server:
        async with open_redis_log(server.url, options=options) as mine:
            assert await mine.claim("t") == 1
            await mine.append(envelope(start(), 1))
            await restart(server)
            async with open_redis_log(server.url, options=options) as theirs:
                assert await theirs.claim("t") == 1
                for seq in (1, 2):
                    await theirs.append(envelope(text(f"theirs {seq}"), seq))
                for seq in (2, 3):
                    with pytest.raises(FencedError):
                        await append(mine, envelope(text("mine"), seq))
                await theirs.append(envelope(text("theirs 3"), 3))
                assert await theirs.outputs("t") == tuple(text(f"theirs {seq}") for seq in (1, 2, 3))


async def test_a_server_that_refuses_to_write_is_healed_when_it_no_longer_does(name: str) -> None:
    """Out of memory, out of disk, a replica: nothing new goes in before what was acknowledged is back."""
    with RedisServer(find_server(name)) as server:
        async with open_redis_log(server.url, options=redis_log_options("codex", socket_timeout=2)) as log:
            for seq in (1, 2, 3):
                await log.append(envelope(text(str(seq)), seq))
            await log.append_events("r", [started()])
            server.configure({"maxmemory": 1, "maxmemory-policy": "noeviction"})
            await restart(server)
            for _ in range(3):
                with pytest.raises(LogUnavailableError):
                    await log.append(envelope(text("4"), 4))
            with plain_client(server.url) as client:
                client.config_set("maxmemory", 0)
            await append(log, envelope(text("4"), 4))
            assert await ids(log) == ["1-1", "1-2", "1-3", "1-4"]
            assert len(await log.read_events("r")) == 1


async def test_an_outage_longer_than_what_is_kept_loses_nothing(name: str) -> None:
    """The seconds count while the server is there: it had no time to write anything down while it was not."""
    options = redis_log_options("codex", socket_timeout=1, keep_seconds=0.2)
    with RedisServer(find_server(name)) as server:
        async with open_redis_log(server.url, options=options) as log:
            for seq in (1, 2, 3):
                await log.append(envelope(text(str(seq)), seq))
            server.kill()
            await trio.sleep(0.4)
            await trio.to_thread.run_sync(server.start)
            await append(log, envelope(text("4"), 4))
            assert await ids(log) == ["1-1", "1-2", "1-3", "1-4"]


async def test_a_writer_that_has_nothing_more_to_write_heals_all_the_same(name: str) -> None:
    """The last word of the last turn is as safe as any other; both logs get their time to live again."""
    with RedisServer(find_server(name)) as server:
        async with open_redis_log(server.url, options=redis_log_options("codex", socket_timeout=1)) as log:
            await log.append_events("t", [started(), finished()])
            await log.append(envelope(start(), 1))
            await log.append(envelope(end(), 2))
            await restart(server)
            with trio.fail_after(10), plain_client(server.url) as client:
                while client.ttl(log.keys.processed("t")) < 0 or client.ttl(log.keys.raw("t")) < 0:  # noqa: ASYNC110  # of another process
                    await trio.sleep(0.05)
            assert await ids(log) == ["1-1", "1-2"]
            assert len(await log.read_events("t")) == 2


async def test_a_reader_of_a_key_that_is_no_log_is_refused_and_others_read_on(name: str) -> None:
    """Redis refuses the whole read for one such key."""
    with RedisServer(find_server(name)) as server:
        async with open_redis_log(server.url, options=redis_log_options("codex", socket_timeout=1)) as log:
            with plain_client(server.url) as client:
                client.set(log.keys.processed("bad"), "x")
            async with log.follow("good") as good, log.follow("bad") as bad:
                await log.append(envelope(start("good"), 1))
                with trio.fail_after(5):
                    await anext(good)
                    with pytest.raises(LogUnavailableError, match="something else"):
                        await anext(bad)
                    await log.append(envelope(end("good"), 2))
                    await anext(good)
            assert log.readers == 0
