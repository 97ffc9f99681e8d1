"""What can be set about an engine, checked when it is made."""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, TypeAlias

import attrs

from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.loop import MAX_ITERATIONS, LoopStrategy, max_iterations
from turnwire.actors.core.tool_results import MAX_RESULT_CHARS
from turnwire.messages.particulars import Json
from turnwire.messages.providers.adapter import epoch_milliseconds
from turnwire.messages.runs import RunInput

CallbacksOf: TypeAlias = Callable[[RunInput], ConversationCallbacks]


def _positive(_instance: Any, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{attribute.name} must be a number greater than 0, not {value!r}")


@attrs.frozen(kw_only=True)
class EngineOptions:
    """How an engine runs. Times are in seconds."""

    strategy: LoopStrategy = attrs.field(factory=lambda: max_iterations(MAX_ITERATIONS))
    """Whether the model is asked again: see actors/core/loop.py."""
    deadline: float = attrs.field(default=inf, validator=_positive)
    """How long a run may take; then it ends as TURN_TIMEOUT. A turn has a deadline of its own besides."""
    parallel_tools: int = attrs.field(default=32, validator=_positive)
    """Tools of one run that run at the same time; further ones wait. A model that calls a hundred is not rare."""
    heartbeat: float = attrs.field(default=60.0, validator=_positive)
    """How often a run whose tools take long gives a sign of life: a worker takes a silent one for stalled."""
    result_limit: int = attrs.field(default=MAX_RESULT_CHARS, validator=_positive)
    """Characters of a tool's result that the model is told; the rest is cut off, with a note."""
    patience: float = attrs.field(default=30.0, validator=_positive)
    """How long a store that cannot be reached is tried again before a run fails for it."""
    grace: float = attrs.field(default=5.0, validator=_positive)
    """How long a run that is cancelled may still take to save its conversation and to close its connection."""
    instructions: str | None = None
    """What the model is told about its task, where a run brings no instructions of its own."""
    settings: Mapping[str, Json] = attrs.field(factory=dict[str, Json])
    """More fields of the provider's request, such as `temperature`."""
    conversation: ConversationOptions = attrs.field(factory=ConversationOptions)
    callbacks: CallbacksOf | None = None
    """Makes the callbacks of a run's conversation. One that raises fails its run."""
    now: Callable[[], float] = epoch_milliseconds
    """The time of day that events get, in milliseconds since the epoch."""
