"""Waits between tries."""

import pytest

from turnwire.actors.core.retry import Patience, RetryPolicy, retry_delay


def test_waits_double_up_to_the_longest() -> None:
    """1, 2, 4, 8, then ten seconds for ever."""
    assert [retry_delay(attempt) for attempt in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_waits_follow_their_settings() -> None:
    """Base and bound are the host's."""
    assert [retry_delay(attempt, base=0.5, longest=1.5) for attempt in range(3)] == [0.5, 1.0, 1.5]
    assert retry_delay(0, base=0.0) == 0.0
    assert retry_delay(0, base=20.0) == 10.0


@pytest.mark.parametrize("attempt", [60, 1023, 1024, 10**9])
def test_the_thousandth_wait_is_no_overflow(attempt: int) -> None:
    """Whoever tries for ever waits the longest."""
    assert retry_delay(attempt) == 10.0


def test_by_default_there_are_three_retries() -> None:
    """Four calls in all, seven seconds of waiting."""
    assert [RetryPolicy().delay_after(attempt) for attempt in range(5)] == [1.0, 2.0, 4.0, None, None]


def test_no_retries_means_none() -> None:
    """One try, no wait."""
    assert RetryPolicy(attempts=0).delay_after(0) is None


def test_retrying_for_ever_never_gives_up() -> None:
    """None is no number of attempts."""
    assert RetryPolicy(attempts=None).delay_after(10**6) == 10.0


def test_there_is_no_jitter_unless_asked_for() -> None:
    """Chance is not even consulted."""
    assert RetryPolicy().delay_after(1, chance=lambda: pytest.fail("asked")) == 2.0


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 2.0), (0.5, 1.5), (1.0, 1.0)])
def test_jitter_takes_a_share_off(chance: float, delay: float) -> None:
    """Never more than the share, never anything on top."""
    assert RetryPolicy(jitter=0.5).delay_after(1, chance=lambda: chance) == delay


def test_patience_waits_ever_longer_until_it_is_over() -> None:
    """Waits double up to the longest; one that would end after the last moment is not begun."""
    patience = Patience(1.0, now=10.0, base=0.25, longest=0.5)
    assert [patience.delay(now=now) for now in (10.0, 10.25, 10.5, 10.75)] == [0.25, 0.5, 0.5, None]
    assert patience.failed == 4
