"""A claim whose answer was lost on its way: made again, it is the same claim, unless somebody came in between."""

from collections.abc import Iterator

import pytest

from turnwire.messages.errors import LogUnavailableError
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.logs.redis.requests import Claim
from turnwire.runtime.logs.redis.rounds import run_round


class DeafLane(Lane):
    """Sends fences, and does not hear the answer while it is deaf."""

    is_deaf = False

    def ask(self, commands: list[Command]) -> list[Reply]:  # type: ignore[override]  # narrower: as rounds ask
        replies = super().ask(commands)
        if self.is_deaf and commands[0][0] == "XADD":
            raise LogUnavailableError("gone")
        return replies


class Claimant:
    """Claims one turn over a connection of its own."""

    def __init__(self, url: str, prefix: str) -> None:
        self.lane = DeafLane(url, socket_timeout=5.0, name="test")
        self.book = Book(RedisLogOptions(prefix=prefix), LogCounts())
        self._key = f"{prefix}:turn:t:processed"

    def claim(self) -> int:
        claim = Claim(key=self._key, turn_id="t", asked_at=0.0)
        run_round(self.lane, self.book, [claim], now=0.0)
        return claim.epoch

    def claim_unheard(self) -> None:
        self.lane.is_deaf = True
        with pytest.raises(LogUnavailableError):
            self.claim()
        self.lane.is_deaf = False


@pytest.fixture
def one(redis_url: str, key_prefix: str) -> Iterator[Claimant]:
    claimant = Claimant(redis_url, key_prefix)
    yield claimant
    claimant.lane.close()


@pytest.fixture
def other(redis_url: str, key_prefix: str) -> Iterator[Claimant]:
    claimant = Claimant(redis_url, key_prefix)
    yield claimant
    claimant.lane.close()


def test_a_claim_that_was_not_answered_is_found_when_it_is_made_again(one: Claimant) -> None:
    """So nobody takes the turn for one that had another owner: an engine's would be ended as lost."""
    one.claim_unheard()
    assert one.claim() == 1
    assert one.book.owns(f"{one.book.options.prefix}:turn:t:processed", 1)
    assert one.claim() == 2  # that one was answered: this is another claim


def test_whoever_came_in_between_is_fenced_by_a_new_epoch(one: Claimant, other: Claimant) -> None:
    """What was put up before is not the last thing in the log any more."""
    one.claim_unheard()
    assert other.claim() == 2
    assert one.claim() == 3


def test_the_fence_of_another_is_not_taken_for_ours(one: Claimant, other: Claimant) -> None:
    """Each knows its own, and only while it waits for the answer."""
    other.claim_unheard()
    assert one.claim() == 2
    assert other.claim() == 3
