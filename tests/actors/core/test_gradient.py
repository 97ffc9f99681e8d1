"""Thresholds: where they are, what lies past the end, and what full-state emission costs under them."""

import time
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.actors.core.gradient import DEFAULT_GRADIENT, Gradient, check_gradient, is_number, shared_gradient

DEFAULT_THRESHOLDS = [
    *(10, 20, 30, 40, 60, 80, 100, 120, 170, 220, 270, 320, 420, 520, 720, 920),
    *(1420, 1920, 2420, 2920, 3920, 4920, 6920),
]


def test_the_default_thresholds_are_the_running_sums() -> None:
    """The list of the specification, summed up, in code units."""
    gradient = Gradient()
    assert [gradient.limit(index) / 4 for index in range(23)] == DEFAULT_THRESHOLDS
    assert len(DEFAULT_GRADIENT) == 23


def test_past_the_end_the_last_step_repeats() -> None:
    """After 6920 a threshold stands every 2000 tokens, for ever."""
    gradient = Gradient()
    assert [gradient.limit(23 + n) / 4 for n in range(4)] == [8920, 10920, 12920, 14920]
    assert gradient.limit(22 + 10**9) == 4 * (6920 + 2000 * 10**9)


def test_a_single_step_repeats() -> None:
    """The shortest gradient there is."""
    assert [Gradient([7]).limit(index) for index in range(4)] == [28, 56, 84, 112]


def test_the_limit_is_the_last_length_that_does_not_cross() -> None:
    """Exactly at the threshold nothing is crossed; one unit more is."""
    gradient = Gradient()
    assert gradient.index_past(40, 0) == 0
    assert gradient.index_past(41, 0) == 1
    assert gradient.index_past(180, 0) == 4


def test_fractional_steps_count_whole_tokens() -> None:
    """A threshold of 1.5 tokens is exceeded by two tokens, so by a fifth unit."""
    gradient = Gradient([1.5])
    assert [gradient.limit(index) for index in range(4)] == [4, 12, 16, 24]


def amplification(tokens: int, growth: float) -> float:
    """Bytes written by full-state emission of one-token deltas, over the final size."""
    gradient, index, written = Gradient(growth=growth), 0, tokens
    while (threshold := gradient.limit(index) // 4) < tokens:
        written += threshold + 1
        index += 1
    return written / tokens


@pytest.mark.parametrize(
    ("tokens", "growth", "expected", "digits"),
    [
        (10_000, 0.0, 4.7, 1),
        (100_000, 0.0, 26, 0),
        (500_000, 0.0, 126, 0),
        (10_000, 0.1, 4.7, 1),
        (100_000, 0.1, 10.6, 1),
        (500_000, 0.1, 11.5, 1),
    ],
)
def test_growth_bounds_what_is_written(tokens: int, growth: float, expected: float, digits: int) -> None:
    """The numbers that the documentation gives for both settings."""
    assert round(amplification(tokens, growth), digits) == expected


def test_with_growth_a_step_is_at_least_its_share() -> None:
    """Each step is the listed one, or the share of what is there if that is more."""
    gradient = Gradient([10], growth=0.5)
    assert [gradient.limit(index) / 4 for index in range(5)] == [10, 20, 30, 45, 67]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        (),
        [0],
        [-1],
        [10, 0],
        [10, -5],
        ["10"],
        [None],
        [nan],
        [inf],
        [True],
        "10,20",
        10,
        None,
        {10},
        iter([10]),
        [10**400],
    ],
)
def test_what_is_no_gradient_is_a_value_error(steps: Any) -> None:
    """A gradient is a non-empty sequence of positive numbers; anything else is refused with a word about it."""
    with pytest.raises(ValueError, match="batch_gradient"):
        check_gradient(steps, 0.0)
    with pytest.raises(ValueError, match="batch_gradient"):
        Gradient(steps)


@pytest.mark.parametrize("growth", [-0.1, nan, inf, "0.1", None, True])
def test_what_is_no_growth_is_a_value_error(growth: Any) -> None:
    """Growth is a number from zero on."""
    with pytest.raises(ValueError, match="growth"):
        Gradient([10], growth)


@pytest.mark.parametrize(
    ("value", "expected"), [(1, True), (0.5, True), (True, False), ("1", False), (nan, False), (inf, False)]
)
def test_numbers_are_finite_and_no_booleans(value: object, expected: bool) -> None:
    """What counts as a number in options."""
    assert is_number(value) is expected


def test_equal_gradients_are_shared() -> None:
    """Ten thousand turns have one list."""
    assert shared_gradient((10, 20), 0.0) is shared_gradient((10, 20), 0.0)
    assert shared_gradient((10, 20), 0.0) is not shared_gradient((10, 20), 0.5)


STEP = st.integers(1, 60) | st.sampled_from([0.25, 0.5, 0.75, 1.5, 2.25])


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(STEP, min_size=1, max_size=6),
    growth=st.sampled_from([0.0, 0.0, 0.1, 0.5, 2.0]),
    units=st.integers(0, 5000),
    index=st.integers(0, 40),
)
def test_the_jump_arrives_where_a_walk_does(steps: list[float], growth: float, units: int, index: int) -> None:
    """The index past a length is the first, from the given one on, whose threshold is not crossed."""
    gradient, expected = Gradient(steps, growth), index
    while units > gradient.limit(expected):
        expected += 1
    assert Gradient(steps, growth).index_past(units, index) == expected


@settings(max_examples=200, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=6), index=st.integers(0, 30))
def test_thresholds_are_running_sums(steps: list[float], index: int) -> None:
    """The threshold at an index is the sum of all steps up to it, the last one repeated."""
    padded = steps + steps[-1:] * 40
    assert Gradient(steps).limit(index) == 4 * int(sum(padded[: index + 1]))


def test_a_huge_delta_is_no_long_walk() -> None:
    """A billion thresholds are passed in one jump."""
    gradient, start = Gradient([1]), time.perf_counter()
    assert gradient.index_past(4 * 10**9 + 1, 0) == 10**9
    assert time.perf_counter() - start < 0.1
