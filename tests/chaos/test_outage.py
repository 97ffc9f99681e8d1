"""Turns go on while their Redis is away, keep little waiting, and everything arrives afterwards."""

import pytest
import trio

from tests.chaos.outage import ITEMS, OPTIONS, Outage, run_outage
from tests.kit.servers import RedisServer
from turnwire.messages.entries import EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log

TURN_EVENTS = 1  # turn_started, if the server went before it was taken


def check(outage: Outage) -> None:
    assert outage.wrong == [], str(outage)
    assert outage.sent >= 0.8 * outage.expected, f"the producers were held up: {outage}"
    assert outage.most_waiting <= OPTIONS.outbox_limit, str(outage)
    assert len(outage.behind) == outage.turns, f"not every turn has noticed: {outage}"
    assert outage.most_waiting_behind <= ITEMS + TURN_EVENTS, f"more than the newest states waited: {outage}"
    assert outage.conflated > 0, str(outage)


async def test_a_server_that_is_away_holds_nobody_up(own_server: RedisServer, key_prefix: str) -> None:
    """Killed, and back after two seconds: only newest states wait meanwhile, and final states all arrive."""
    check(await run_outage(own_server, prefix=key_prefix, seconds=2.0))


async def test_a_server_that_does_not_answer_holds_nobody_up(own_server: RedisServer, key_prefix: str) -> None:
    """Frozen, which no connection notices by itself."""
    outage = await run_outage(
        own_server, prefix=key_prefix, seconds=2.0, leave=RedisServer.freeze, come_back=RedisServer.thaw
    )
    check(outage)


@pytest.fixture
def message() -> StreamMessage:
    return StreamMessage(event_id="t:1-1", timestamp=1, turn_id="t", payload='{"type":"turn_started"}')


async def test_a_frozen_server_is_noticed_within_the_socket_timeout(
    own_server: RedisServer, key_prefix: str, message: StreamMessage
) -> None:
    """And what it did with the append it had got is found out later: it is there once, whatever it was."""
    async with open_redis_log(own_server.url, options=RedisLogOptions(prefix=key_prefix, socket_timeout=0.5)) as log:
        await log.append(message)
        own_server.freeze()
        began = trio.current_time()
        with pytest.raises(LogUnavailableError):
            await log.append(StreamMessage(event_id="t:1-2", timestamp=1, turn_id="t", payload="{}"))
        assert 0.4 < trio.current_time() - began < 1.5  # the timeout, and what a busy machine adds
        own_server.thaw()
        await log.append(StreamMessage(event_id="t:1-2", timestamp=1, turn_id="t", payload="{}"))
        assert [entry.id for entry in await log.read("t")] == [EntryId(1, 1), EntryId(1, 2)]
