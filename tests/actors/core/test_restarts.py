"""The budget of restarts."""

from typing import Any

import pytest

from turnwire.actors.core.restarts import RestartBudget


def test_restarts_wait_longer_each_time_until_the_budget_is_spent() -> None:
    """So many within the window, then the failure goes up."""
    budget = RestartBudget(limit=3, window=10.0, base=0.5, longest=1.5)
    assert [budget.spend(now=0.0) for _ in range(5)] == [0.5, 1.0, 1.5, None, None]


def test_old_restarts_are_forgiven() -> None:
    """What lies a whole window back no longer counts, for the budget or for the wait."""
    budget = RestartBudget(limit=2, window=10.0, base=1.0)
    assert budget.spend(now=0.0) == 1.0
    assert budget.spend(now=5.0) == 2.0
    assert budget.spend(now=9.75) is None
    assert budget.spend(now=10.0) == 2.0
    assert budget.spend(now=14.75) is None
    assert budget.spend(now=100.0) == 1.0


def test_a_refused_restart_costs_nothing() -> None:
    """Only restarts that were allowed fill the window."""
    budget = RestartBudget(limit=1, window=10.0, base=1.0)
    budget.spend(now=0.0)
    for now in range(1, 10):
        assert budget.spend(now=float(now)) is None
    assert budget.spend(now=10.0) == 1.0


def test_a_budget_of_none_allows_none() -> None:
    """Limit zero: the first failure goes up."""
    assert RestartBudget(limit=0).spend(now=0.0) is None


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"window": 0}, {"window": -1.0}, {"base": -1}, {"longest": -0.1}])
def test_a_senseless_budget_is_refused(wrong: dict[str, Any]) -> None:
    """Wrong numbers are a ValueError at once."""
    with pytest.raises(ValueError, match="restart budget"):
        RestartBudget(**wrong)
