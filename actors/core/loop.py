"""When an agent's loop goes on and when it stops: strategies as plain functions. No clock, no await.

A strategy is asked after each iteration that leaves something to do: tools were called and have been run, or the
provider paused. It says whether the model is asked again. A reply that leaves nothing to do ends the run unasked.
"""

from collections.abc import Callable
from typing import TypeAlias

import attrs

from turnwire.messages.particulars import Usage
from turnwire.messages.ui import CalledTool

MAX_ITERATIONS = 5
"""Requests to the model in one run, unless somebody says otherwise: enough for a few tools, too few for a circle."""


@attrs.frozen(kw_only=True)
class LoopState:
    """What a strategy is told."""

    iterations: int
    """How often the model has been asked in this run."""
    finish_reason: str | None
    """Why the last reply ended."""
    calls: tuple[CalledTool, ...] = ()
    """The tools that the last reply called."""
    usage: Usage | None = None
    """What the run has cost so far."""


LoopStrategy: TypeAlias = Callable[[LoopState], bool]
"""True: ask the model again."""


def max_iterations(most: int) -> LoopStrategy:
    """Ask the model at most so often in one run.

    >>> goes_on = max_iterations(2)
    >>> [goes_on(LoopState(iterations=n, finish_reason="tool_calls")) for n in (1, 2)]
    [True, False]
    """
    if most < 1:
        raise ValueError(f"a run asks its model at least once, not {most} times")
    return lambda state: state.iterations < most


def until_finish_reason(*reasons: str) -> LoopStrategy:
    """Go on until a reply ends for one of these reasons. Sets no limit of its own: join it with one by `all_of`.

    >>> until_finish_reason("pause")(LoopState(iterations=1, finish_reason="pause"))
    False
    """
    if not reasons:
        raise ValueError("expected at least one finish reason")
    return lambda state: state.finish_reason not in reasons


def all_of(*strategies: LoopStrategy) -> LoopStrategy:
    """Go on as long as all of these say so.

    >>> strategy = all_of(max_iterations(9), until_finish_reason("pause"))
    >>> strategy(LoopState(iterations=1, finish_reason="tool_calls"))
    True
    """
    if not strategies:
        raise ValueError("expected at least one strategy")
    return lambda state: all(strategy(state) for strategy in strategies)
