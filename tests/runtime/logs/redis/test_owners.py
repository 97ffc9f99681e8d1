"""Two owners of one turn: exactly one of them writes."""

from contextlib import AsyncExitStack

import pytest
import trio

from tests.kit.logs import envelope, redis_log_options, start, text
from turnwire.messages.entries import EntryId
from turnwire.messages.errors import FencedError
from turnwire.runtime.logs.redis import RedisLog, open_redis_log


class Claims:
    """What became of many claims."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.refused = 0

    async def make(self, log: RedisLog, turn_id: str = "t") -> None:
        try:
            self.epochs.append(await log.claim(turn_id))
        except FencedError:
            self.refused += 1


async def test_of_200_claims_that_saw_the_same_log_exactly_one_wins_each_time(redis_url: str, key_prefix: str) -> None:
    """They travel in one round: all read the last id, then all put up the fence that follows it."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        for epoch in range(1, 11):
            claims = Claims()
            async with trio.open_nursery() as nursery:
                for _ in range(200):
                    nursery.start_soon(claims.make, log)
            assert claims.epochs == [epoch]
            assert claims.refused == 199


async def test_claims_of_many_processes_never_share_an_epoch(redis_url: str, key_prefix: str) -> None:
    """Twenty logs with connections of their own claim ten times each; every epoch has one owner."""
    claims = Claims()
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_redis_log(redis_url, options=redis_log_options(key_prefix)))
            for _ in range(20)
        ]
        async with trio.open_nursery() as nursery:
            for log in opened * 10:
                nursery.start_soon(claims.make, log)
        assert len(claims.epochs) + claims.refused == 200
        assert sorted(claims.epochs) == list(range(1, len(claims.epochs) + 1))


async def test_a_turn_that_somebody_else_has_begun_is_not_joined_unasked(redis_url: str, key_prefix: str) -> None:
    """Writing under the first epoch needs its fence: two processes that open the same turn do not mix."""
    options = redis_log_options(key_prefix)
    async with open_redis_log(redis_url, options=options) as one, open_redis_log(redis_url, options=options) as two:
        await one.append(envelope(start(), 1))
        for seq in (1, 2, 7):
            with pytest.raises(FencedError, match="another owner"):
                await two.append(envelope(text("mine?"), seq))
        assert two.counts.fenced == 3
        await one.append(envelope(text("x", status="create"), 2))
        assert [entry.id for entry in await two.read("t")] == [EntryId(1, 1), EntryId(1, 2)]


async def test_a_claim_without_a_word_is_enough_to_keep_the_first_epoch(redis_url: str, key_prefix: str) -> None:
    """Between the claim and the first write nobody else slips in under the same epoch."""
    options = redis_log_options(key_prefix)
    async with open_redis_log(redis_url, options=options) as one, open_redis_log(redis_url, options=options) as two:
        assert await one.claim("t") == 1
        with pytest.raises(FencedError):
            await two.append(envelope(start(), 1))
        await one.append(envelope(start(), 1))


async def test_a_turn_long_silent_is_known_again_as_ours(redis_url: str, key_prefix: str) -> None:
    """Ownership is remembered for turns that write; for another its own fence is found and recognised."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix, keep_seconds=0.001)) as log:
        await log.append(envelope(start("quiet"), 1))
        async with trio.open_nursery() as nursery:
            for number in range(2100):
                nursery.start_soon(log.append, envelope(start(f"t{number}"), 1))
        assert not log._committer._book.owns(log.keys.processed("quiet"), 1)
        await log.append(envelope(text("still me", turn="quiet", status="create"), 2))
        assert len(await log.read("quiet")) == 2
        assert log.counts.fenced == 0
