"""Whoever is cancelled while appending still knows afterwards whether the entry is in the log."""

import random

import trio

from tests.kit.logs import envelope, redis_log_options, start
from turnwire.runtime.logs.redis import RedisLog, open_redis_log


async def test_each_of_a_thousand_cancelled_appends_is_in_the_log_or_not_and_its_caller_knows(
    redis_url: str, key_prefix: str
) -> None:
    """An append that returned is in the log; one that was cancelled is not; none is there twice."""
    chance = random.Random(7)
    returned: set[str] = set()
    cancelled: set[str] = set()

    async def append(log: RedisLog, number: int) -> None:
        message = envelope(start(f"t{number}"), 1)
        with trio.move_on_after(chance.uniform(0, 0.02)) as scope:
            await log.append(message)
            returned.add(message.turn_id)
        if scope.cancelled_caught:
            cancelled.add(message.turn_id)

    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        for batch in range(20):
            async with trio.open_nursery() as nursery:
                for number in range(batch * 50, batch * 50 + 50):
                    nursery.start_soon(append, log, number)
        assert len(returned) + len(cancelled) == 1000
        assert not returned & cancelled
        found = {f"t{number}": len(await log.read(f"t{number}")) for number in range(1000)}
    assert {turn_id for turn_id, entries in found.items() if entries} == returned
    assert max(found.values()) == 1


async def test_an_append_that_is_on_its_way_is_seen_through(redis_url: str, key_prefix: str) -> None:
    """Cancelled after it was sent, it returns as if it had not been; the next checkpoint is where it ends."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        request_sent = trio.Event()
        outcome: list[str] = []

        async def append(scope: trio.CancelScope) -> None:
            with scope:
                await log.append(envelope(start(), 1))
                outcome.append("returned")
                await trio.lowlevel.checkpoint()
                outcome.append("went on")

        scope = trio.CancelScope()
        take = log._committer._take

        def take_and_tell() -> bool:
            taken = take()
            if taken:
                request_sent.set()
            return taken

        log._committer._take = take_and_tell  # type: ignore[method-assign]  # to know the moment
        async with trio.open_nursery() as nursery:
            nursery.start_soon(append, scope)
            await request_sent.wait()
            scope.cancel()
        assert outcome == ["returned"]
        assert len(await log.read("t")) == 1


async def test_an_append_that_has_not_been_sent_is_not(redis_url: str, key_prefix: str) -> None:
    """Cancelled while it waits for its round, it never leaves."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        with trio.CancelScope() as scope:
            scope.cancel()
            await log.append(envelope(start(), 1))
        assert scope.cancelled_caught
        await log.append(envelope(start("other"), 1))
        assert await log.read("t") == ()
