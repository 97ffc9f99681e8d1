"""What can go wrong, sorted by who must act on it."""


class TurnwireError(Exception):
    """The root of all errors that turnwire raises on purpose."""


class InvalidEventError(TurnwireError):
    """An event is malformed. Seen by the producer, at once; the turn goes on as if it had not been sent."""

    def __init__(self, problem: str, *, path: str = "$", event: str | None = None, turn: str | None = None):
        self.problem = problem
        """What came and what was expected."""
        self.path = path
        """Where in the JSON, e.g. `$.payload.item_id`."""
        self.event = event
        """Which event: its event_id, as far as that could be read."""
        self.turn = turn
        where = "".join((f"turn {turn}: " if turn else "", f"event {event}: " if event else "event: "))
        super().__init__(f"{where}{path}: {problem}")


class ClosedError(TurnwireError):
    """A turn or runtime was used after its end. Seen by the caller."""


class CrashedError(ClosedError):
    """What runs beside the host's loop has crashed while it was needed. Seen by every caller that was waiting for it.

    What it crashed with is the `__cause__`; whoever opened it gets that as it is.
    """


class WrongLoopError(TurnwireError):
    """Something that needs Trio was called without it, or in a thread that cannot run it. Seen by the caller."""


class HostCancelledError(TurnwireError):
    """The host has cancelled a coroutine of its own that Trio was waiting for, such as a sink. It was not done."""


class TooManyTurnsError(TurnwireError):
    """The runtime holds as many turns as its settings allow. Seen by whoever opens one more."""


class TooManyReadersError(TurnwireError):
    """A log has as many readers as its settings allow. Seen by whoever would be one more."""


class RetryExhaustedError(TurnwireError):
    """The sink refused an emission too often; the turn has failed. For the sink's operator.

    The sink's last error is the `__cause__`.
    """

    def __init__(self, turn: str, event_id: str, attempts: int, *, what: str = "sink refused emission"):
        self.turn = turn
        self.event_id = event_id
        self.attempts = attempts
        """How often the sink was called with this emission, the first time included."""
        super().__init__(f"turn {turn}: the {what} {event_id} {attempts} times")


class FencedError(TurnwireError):
    """Another owner has taken this turn over. For a worker: stop quietly, it is theirs now."""


class LogUnavailableError(TurnwireError):
    """A log could not be reached or did not answer in time. For its operator; trying again later is right.

    What was asked for may or may not have been done: appending again under the same id settles it.
    """


class QueueError(TurnwireError):
    """Redis refuses what the queue of turns needs: too old a server, a key of another kind. For its operator."""


class ProtocolError(TurnwireError):
    """A bug in turnwire, or in a piece the host gave it: the turn it happened in has crashed.

    What was raised is the `__cause__`.
    """


class UnsendableError(TurnwireError):
    """A conversation holds something that a provider has no place for. Seen by whoever makes the request.

    Nothing was left out silently: the caller decides whether it is to be said in words, or not at all.
    """

    def __init__(self, problem: str, *, message_id: str | None = None):
        self.problem = problem
        self.message_id = message_id
        """Which message of the conversation, if it has an id."""
        super().__init__(f"message {message_id}: {problem}" if message_id else problem)


class UnreadableRequestError(TurnwireError):
    """A stored request is none of its provider's. Seen by whoever imports it; `path` says where it is wrong."""

    def __init__(self, problem: str, *, path: str):
        self.problem = problem
        self.path = path
        super().__init__(f"{path}: {problem}")


class RunFailedError(TurnwireError):
    """A run has ended with RUN_ERROR. Given to a conversation's error callback, never raised."""

    def __init__(self, message: str, code: str | None = None):
        self.code = code
        super().__init__(message if code is None else f"{message} ({code})")


class ThreadConflictError(TurnwireError):
    """A thread was saved by another run than the one it is gone on from. For whoever saves: what is there stays."""

    def __init__(self, thread_id: str, *, expected: str, found: str):
        self.thread_id = thread_id
        self.expected = expected
        """The run whose save the refused one goes on from; empty for none."""
        self.found = found
        """The run that has saved the thread last; empty if it was forgotten."""
        last = f"run {found}" if found else "nobody (it was forgotten)"
        meant = f"run {expected}" if expected else "nobody"
        super().__init__(f"thread {thread_id} was last saved by {last}; expected {meant}")


class UnknownCallError(TurnwireError):
    """An answer names a tool call or an approval that this conversation does not have. Seen by the caller."""


class ApprovalAnsweredError(TurnwireError):
    """An approval was answered before; the first answer stands. Seen by whoever answers a second time."""

    def __init__(self, approval_id: str, *, approved: bool):
        self.approval_id = approval_id
        self.approved = approved
        """The first answer."""
        super().__init__(f"approval {approval_id} was answered before: {'approved' if approved else 'denied'}")


class CallAnsweredError(TurnwireError):
    """A call of a client's tool was answered before; the first answer stands. Seen by whoever answers a second time."""

    def __init__(self, tool_call_id: str, *, output: object, error: str | None = None):
        self.tool_call_id = tool_call_id
        self.output = output
        """The first answer's output."""
        self.error = error
        """Why the tool failed, as the first answer says, if it did."""
        super().__init__(f"tool call {tool_call_id} was answered before")
