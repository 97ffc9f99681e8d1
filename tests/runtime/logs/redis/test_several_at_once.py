"""Several outputs of a turn in one append: all of them or none, whatever the server says, whoever is cancelled."""

import random

import pytest
import trio

from tests.kit.logs import envelope, redis_log_options, start, text
from tests.kit.servers import RedisServer, plain_client
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.logs.redis import RedisLog, open_redis_log
from turnwire.runtime.logs.redis.lane import Lane


def several(first: int, count: int, turn: str = "t") -> list[StreamMessage]:
    return [envelope(text(str(seq), turn=turn), seq) for seq in range(first, first + count)]


async def test_a_server_that_refuses_one_of_several_has_taken_none(own_server: RedisServer) -> None:
    """Out of memory, say: the caller hears why, and when there is room again all are written, in order."""
    async with open_redis_log(own_server.url, options=redis_log_options("t")) as log:
        await log.append(envelope(start(), 1))
        with plain_client(own_server.url) as client:
            client.config_set("maxmemory", 1)
            with pytest.raises(LogUnavailableError, match="memory"):
                await log.append_many(several(2, 5))
            with pytest.raises(LogUnavailableError, match="memory"):
                await log.append_many(several(2, 1))
            client.config_set("maxmemory", 0)
        assert len(await log.read("t")) == 1
        assert await log.append_many(several(2, 5)) == 5
        assert [entry.id.minor for entry in await log.read("t")] == [1, 2, 3, 4, 5, 6]
        assert (log.counts.appended, log.counts.landed, log.counts.connects) == (6, 0, 1)


async def test_one_of_several_that_is_refused_is_not_overtaken_by_the_next(
    redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that refuses the first and would take the second takes neither: ids only grow, the first would be lost."""
    send = Lane.send

    def send_with_a_bad_first(lane: Lane, commands: list[bytes]) -> None:
        spoiled = [b"*2\r\n$4\r\nXADD\r\n$1\r\nk\r\n" if b"1-2\r\n" in bytes(it) else it for it in commands]
        send(lane, spoiled)

    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        await log.append(envelope(start(), 1))
        with monkeypatch.context() as patched:
            patched.setattr(Lane, "send", send_with_a_bad_first)
            with pytest.raises(LogUnavailableError, match="wrong number of arguments"):
                await log.append_many(several(2, 3))
        assert len(await log.read("t")) == 1
        assert await log.append_many(several(2, 3)) == 3
        assert [entry.id.minor for entry in await log.read("t")] == [1, 2, 3, 4]


async def test_appends_of_several_turns_in_one_round_are_settled_each_on_its_own(
    redis_url: str, key_prefix: str
) -> None:
    """One is accepted, one had landed, one is fenced, one is refused because its key is something else."""
    outcomes: dict[str, object] = {}

    async def append(log: RedisLog, turn: str) -> None:
        try:
            outcomes[turn] = await log.append_many(several(1, 3, turn))
        except Exception as exc:  # noqa: BLE001  # whatever it is, it is what this test is about
            outcomes[turn] = type(exc).__name__

    options = redis_log_options(key_prefix)
    async with open_redis_log(redis_url, options=options) as log, open_redis_log(redis_url, options=options) as other:
        await log.append_many(several(1, 2, "landed"))
        await other.claim("fenced")
        with plain_client(redis_url) as client:
            client.set(log.keys.processed("string"), "no log")
        async with trio.open_nursery() as nursery:
            for turn in ("new", "landed", "fenced", "string"):
                nursery.start_soon(append, log, turn)
        assert outcomes == {"new": 3, "landed": 3, "fenced": "FencedError", "string": "LogUnavailableError"}
        assert len(await log.read("new")) == len(await log.read("landed")) == 3
        assert log.counts.landed == 2


async def test_each_of_many_cancelled_calls_is_in_the_log_as_a_whole_or_not_at_all(
    redis_url: str, key_prefix: str
) -> None:
    """A call that returned is in the log; one that was cancelled is not; no entry is there twice."""
    chance = random.Random(11)
    returned: set[str] = set()

    async def append(log: RedisLog, turn: str) -> None:
        with trio.move_on_after(chance.uniform(0, 0.02)):
            assert await log.append_many(several(1, 4, turn)) == 4
            returned.add(turn)

    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        for batch in range(10):
            async with trio.open_nursery() as nursery:
                for number in range(50):
                    nursery.start_soon(append, log, f"t{batch}-{number}")
        for batch in range(10):
            for number in range(50):
                turn = f"t{batch}-{number}"
                minors = [entry.id.minor for entry in await log.read(turn)]
                assert minors == ([1, 2, 3, 4] if turn in returned else [])
    assert 0 < len(returned) < 500
