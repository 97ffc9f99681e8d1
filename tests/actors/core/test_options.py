"""Options of a turn: their defaults, and what is refused by name."""

from math import inf, nan
from typing import Any

import attrs
import pytest

from turnwire.actors.core.gradient import DEFAULT_GRADIENT
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.retry import RetryPolicy

SECONDS = ["batch_timeout", "max_latency", "retry_base", "retry_max", "deadline", "patience"]
WHOLE = [
    "outbox_limit",
    "max_waiting",
    "max_waiting_bytes",
    "max_item_bytes",
    "max_items",
    "max_event_bytes",
    "channel_size",
]
WRONG: list[tuple[str, Any]] = [
    *((name, wrong) for name in SECONDS for wrong in (-1, nan, -inf, "1", True, [1], 10**400)),
    *((name, wrong) for name in SECONDS if name != "max_latency" for wrong in (None,)),
    *((name, 0) for name in ("batch_timeout", "max_latency", "deadline")),
    *((name, wrong) for name in WHOLE for wrong in (0, -1, 1.5, "1", True, None, inf)),
    *(("retry_attempts", wrong) for wrong in (-1, 1.5, "1", True)),
    *(("retry_jitter", wrong) for wrong in (-0.1, 1.1, nan, "1", None, True)),
    *(("growth", wrong) for wrong in (-0.1, nan, inf, "1", None, True)),
    *(("batch_gradient", wrong) for wrong in ([], (), [0], [10, -1], ["1"], "10", None, 10, [nan], [True])),
]


def test_the_defaults_are_those_of_the_specification() -> None:
    """Each number as it is documented."""
    assert attrs.asdict(TurnOptions()) == {
        "batch_gradient": DEFAULT_GRADIENT,
        "growth": 0.0,
        "batch_timeout": 1.0,
        "max_latency": None,
        "retry_attempts": 3,
        "retry_base": 1.0,
        "retry_max": 10.0,
        "retry_jitter": 0.0,
        "emit_cancelled": False,
        "deadline": 3600.0,
        "outbox_limit": 64,
        "patience": 0.25,
        "max_waiting": 10_000,
        "max_waiting_bytes": 64 * 1024 * 1024,
        "max_item_bytes": 4 * 1024 * 1024,
        "max_items": 1000,
        "max_event_bytes": 16 * 1024 * 1024,
        "channel_size": 256,
        "repeat_window": 64,
    }


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=lambda value: str(value)[:20])
def test_a_wrong_option_is_refused_by_name(name: str, wrong: Any) -> None:
    """A clear ValueError when the turn is opened."""
    with pytest.raises(ValueError, match=name):
        TurnOptions(**{name: wrong})


@pytest.mark.parametrize(
    "options",
    [
        {"batch_gradient": [1, 2.5]},
        {"batch_gradient": range(1, 5)},
        {"batch_timeout": inf},
        {"max_latency": 0.5},
        {"retry_attempts": None},
        {"retry_attempts": 0},
        {"retry_base": 0, "retry_max": 0, "retry_jitter": 1},
        {"patience": 0},
        {"patience": inf},
        {"deadline": inf},
        {"growth": 2},
    ],
)
def test_what_makes_sense_is_taken(options: dict[str, Any]) -> None:
    """Bounds themselves are inside."""
    assert TurnOptions(**options).gradient.limit(0) > 0


def test_a_list_of_steps_may_change_afterwards() -> None:
    """The options have their own copy."""
    steps = [1, 2]
    options = TurnOptions(batch_gradient=steps)
    steps.append(-1)
    assert list(options.batch_gradient) == [1, 2]


def test_turns_with_equal_numbers_share_a_gradient() -> None:
    """One object for all."""
    assert TurnOptions().gradient is TurnOptions().gradient
    assert TurnOptions(batch_gradient=[1]).gradient is TurnOptions(batch_gradient=(1,)).gradient
    assert TurnOptions(growth=0.1).gradient is not TurnOptions().gradient


def test_no_latency_is_an_endless_one() -> None:
    """As a number."""
    assert TurnOptions().latency == inf
    assert TurnOptions(max_latency=0.5).latency == 0.5


def test_the_retry_policy_has_the_options_numbers() -> None:
    """Nothing is lost on the way to the writer."""
    options = TurnOptions(retry_attempts=7, retry_base=2, retry_max=30, retry_jitter=0.5)
    assert options.retry == RetryPolicy(attempts=7, base=2, longest=30, jitter=0.5)
