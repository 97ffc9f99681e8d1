"""Asking a store that is away: what comes of it, and how often the outage is told."""

import logging
from math import inf

import pytest
import trio
from trio.testing import MockClock

from turnwire.actors.persist import persist, persist_for_run
from turnwire.messages.errors import LogUnavailableError


class Store:
    """Is away for the first so many questions."""

    def __init__(self, *, failures: float) -> None:
        self.failures = failures
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise LogUnavailableError(f"away {self.asked}")
        return "here"


async def test_an_outage_is_told_once_however_often_the_store_is_asked(autojump_clock: MockClock) -> None:
    """With its first failure: the others say nothing new."""
    store, told = Store(failures=5), list[str]()
    assert await persist(store.ask, on_outage=lambda exc: told.append(str(exc))) == "here"
    assert (store.asked, told) == (6, ["away 1"])
    assert trio.current_time() == pytest.approx(0.05 + 0.1 + 0.2 + 0.4 + 0.8)


async def test_a_store_that_answers_has_no_outage_to_tell(autojump_clock: MockClock) -> None:
    """Nothing is told, and nothing waited for."""
    told: list[LogUnavailableError] = []
    assert await persist(Store(failures=0).ask, on_outage=told.append) == "here"
    assert (told, trio.current_time()) == ([], 0)


async def test_an_outage_that_nobody_waits_for_is_raised_and_not_told_besides(autojump_clock: MockClock) -> None:
    """Without patience there is no other try that could be told of."""
    store, told = Store(failures=inf), list[LogUnavailableError]()
    with pytest.raises(LogUnavailableError, match="away 1"):
        await persist(store.ask, patience=0, on_outage=told.append)
    assert (store.asked, told) == (1, [])


async def test_the_log_has_one_line_for_the_outage_of_a_run(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the run and the reason; an operator with a thousand runs reads a thousand lines, not a million."""
    with caplog.at_level(logging.WARNING, logger="turnwire.engine"):
        assert await persist_for_run("r1", Store(failures=20).ask, patience=60) == "here"
    assert caplog.messages == ["run r1: the store is away; trying again: away 1"]
