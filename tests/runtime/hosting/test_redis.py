"""A runtime beside an asyncio loop, on a real Redis: the log's threads, its reader and its end cross over too."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio

from tests.kit.logs import redis_log_options
from tests.kit.loops import Runner, on_asyncio, on_every_loop
from tests.kit.servers import RedisServer, plain_client
from tests.kit.turns import THREAD, TURN, begin, delta, finished, said, started
from turnwire.messages import TurnComplete
from turnwire.runtime import Hosted, TurnOptions, open_bridge, open_hosted
from turnwire.runtime.logs.redis import RedisLog, open_redis_log

EVENTS = (started(), begin("m"), delta("m", "Hel"), said("m", "Hello"), finished())


@asynccontextmanager
async def open_all(url: str, prefix: str) -> AsyncGenerator[tuple[RedisLog, Hosted], None]:
    """Open the log around the runtime, as a host's lifespan would."""
    options = TurnOptions(batch_gradient=(1,))
    async with open_bridge() as bridge, bridge.enter(open_redis_log(url, options=redis_log_options(prefix))) as log:
        async with open_hosted(sink=log, raw=log, options=options) as hosted:
            yield log, hosted


def connections_of(url: str) -> list[str]:
    """Name those of our connections that the server still has, once it has had a moment to see them closed."""
    give_up_at = time.monotonic() + 2
    with plain_client(url, decode_responses=True) as client:
        while names := [it["name"] for it in client.client_list() if it["name"].startswith("turnwire-")]:
            if time.monotonic() > give_up_at:
                break
            time.sleep(0.005)
        return names


def busy_threads() -> list[str]:
    """Name the threads that Trio has given work; those that wait for some are not bound to any run."""
    return [it.name for it in threading.enumerate() if " from " in it.name]


@on_every_loop
def test_a_turn_is_written_to_redis_and_followed_there_while_it_runs(
    run: Runner, redis_url: str, key_prefix: str
) -> None:
    """Every event is in log A, every state in log B, a live reader has both ends, and no connection is left open."""

    async def main() -> None:
        async with open_all(redis_url, key_prefix) as (log, hosted):
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                async with hosted.iterate(log.follow(TURN)) as entries:
                    for event in EVENTS[:3]:
                        await turn.send(event)
                    first = await anext(entries)  # before the turn has ended
                    for event in EVENTS[3:]:
                        await turn.send(event)
                    read = [first.message.event_id, *[entry.message.event_id async for entry in entries]]
            assert isinstance(turn.snapshot().terminal, TurnComplete)
            assert read[0] == f"{TURN}:1-1"
            assert (await hosted.call(log.snapshot, TURN)) == turn.snapshot()
            assert len(await hosted.call(log.read_events, TURN)) == len(EVENTS)

    run(main)
    assert connections_of(redis_url) == []
    client = plain_client(redis_url, decode_responses=True)
    assert client.xlen(f"{key_prefix}:run:{TURN}:events") == len(EVENTS)
    client.connection_pool.disconnect()


@on_asyncio
def test_an_asyncio_timeout_ends_a_reader_that_is_blocked_in_redis(
    run: Runner, redis_url: str, key_prefix: str
) -> None:
    """Its wait is given up, the turn and the log go on, and nothing of the reader stays."""

    async def main() -> None:
        async with open_all(redis_url, key_prefix) as (log, hosted):
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                await turn.send(EVENTS[0])
                await turn.flush()
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1), hosted.iterate(log.follow(TURN)) as entries:
                        async for _entry in entries:
                            pass
                assert log.readers == 0
                for event in EVENTS[1:]:
                    await turn.send(event)
            assert isinstance((await hosted.call(log.snapshot, TURN)).terminal, TurnComplete)

    run(main)


@on_asyncio
def test_a_host_that_is_cancelled_leaves_what_it_accepted_in_redis(
    run: Runner, redis_url: str, key_prefix: str
) -> None:
    """The shutdown waits for the last append, then ends: tasks, Trio and the log's threads."""

    async def main() -> None:
        inside = asyncio.Event()

        async def host() -> None:
            async with open_all(redis_url, key_prefix) as (log, hosted):
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                    for event in EVENTS[:3]:
                        await turn.send(event)
                    async with hosted.iterate(log.follow(TURN)) as entries:
                        async for _entry in entries:
                            inside.set()

        task = asyncio.create_task(host())
        await inside.wait()
        while not busy_threads():  # noqa: ASYNC110  # the reader's: blocked in the server when the end comes
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert not trio.lowlevel.in_trio_run()
        assert len(asyncio.all_tasks()) == 1

    run(main)
    client = plain_client(redis_url, decode_responses=True)
    entries = client.xrange(f"{key_prefix}:turn:{TURN}:processed")  # a fence has no payload
    assert any('"Hel"' in fields.get("payload", "") for _, fields in entries)
    client.connection_pool.disconnect()
    assert busy_threads() == connections_of(redis_url) == []


@on_asyncio
def test_an_outage_of_redis_is_waited_out_beside_asyncio(run: Runner, own_server: RedisServer) -> None:
    """The host's sends go on; what was accepted is there when the server is."""

    async def main() -> None:
        async with open_all(own_server.url, "p") as (log, hosted):
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                for event in EVENTS[:2]:
                    await turn.send(event)
                await turn.flush()
                own_server.kill()
                sending = asyncio.create_task(turn.send(EVENTS[2]))
                await asyncio.sleep(0.05)
                own_server.start()
                async with asyncio.timeout(20):
                    await sending
                for event in EVENTS[3:]:
                    await turn.send(event)
            snapshot = await hosted.call(log.snapshot, TURN)
            assert [item.content for item in snapshot.items] == ["Hello"]

    run(main)
