"""When a loop goes on."""

import pytest

from turnwire.actors.core.loop import LoopState, all_of, max_iterations, until_finish_reason


def state(iterations: int = 1, finish_reason: str | None = "tool_calls") -> LoopState:
    return LoopState(iterations=iterations, finish_reason=finish_reason)


def test_max_iterations_counts_requests() -> None:
    """The fifth is the last of five."""
    assert [max_iterations(5)(state(n)) for n in (1, 4, 5, 6)] == [True, True, False, False]


def test_until_finish_reason_goes_on_until_one_of_them_came() -> None:
    """And sets no limit of its own."""
    strategy = until_finish_reason("stop", "pause")
    assert [strategy(state(99, reason)) for reason in ("tool_calls", "stop", "pause", None)] == [
        True,
        False,
        False,
        True,
    ]


def test_all_of_needs_all() -> None:
    """The first that says stop stops it."""
    strategy = all_of(max_iterations(3), until_finish_reason("pause"), lambda state: state.usage is None)
    assert strategy(state(2))
    assert not strategy(state(3))
    assert not strategy(state(2, "pause"))


@pytest.mark.parametrize("make", [lambda: max_iterations(0), until_finish_reason, all_of])
def test_a_strategy_that_means_nothing_is_refused(make: object) -> None:
    """At once, where it is made."""
    assert callable(make)
    with pytest.raises(ValueError, match="at least"):
        make()
