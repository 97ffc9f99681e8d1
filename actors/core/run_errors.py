"""Why a run of an agent can fail on our side: codes and words in one place. Providers' errors have their own."""

from collections.abc import Iterable

from turnwire.messages.particulars import ErrorInfo
from turnwire.messages.providers.endings import make_error

INTERNAL_ERROR = make_error("INTERNAL_ERROR", "the run failed for an internal reason", retryable=False)
TIMEOUT = make_error("TURN_TIMEOUT", "the run took longer than it may", retryable=False)
NOT_LOADED = make_error("THREAD_NOT_LOADED", "the conversation could not be loaded", retryable=True)
NOT_SAVED = make_error("THREAD_NOT_SAVED", "the conversation could not be saved", retryable=True)
CONFLICT = make_error(
    "THREAD_CONFLICT", "another run has changed the conversation meanwhile; of this one nothing is kept", retryable=True
)


def unsendable(problem: str) -> ErrorInfo:
    """The conversation holds something for which the provider has no place."""
    return make_error("UNSENDABLE", problem, retryable=False)


def unknown_model(name: str | None, known: Iterable[str]) -> ErrorInfo:
    """The run asks for a model that the engine does not have."""
    problem = f"there is no model named {name!r}; the models are: {', '.join(known)}"
    return make_error("UNKNOWN_MODEL", problem, retryable=False)


def no_input(run_id: str) -> ErrorInfo:
    """The run was announced, and nobody has said what it begins with."""
    problem = f"there is no input for run {run_id}; it is put into the store before the turn is announced"
    return make_error("NO_INPUT", problem, retryable=False)
