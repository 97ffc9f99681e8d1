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


class TooManyTurnsError(TurnwireError):
    """The runtime holds as many turns as its settings allow. Seen by whoever opens one more."""


class RetryExhaustedError(TurnwireError):
    """The sink refused an emission too often; the turn has failed. For the sink's operator.

    The sink's last error is the `__cause__`.
    """

    def __init__(self, turn: str, event_id: str, attempts: int):
        self.turn = turn
        self.event_id = event_id
        self.attempts = attempts
        """How often the sink was called with this emission, the first time included."""
        super().__init__(f"turn {turn}: the sink refused emission {event_id} {attempts} times")


class FencedError(TurnwireError):
    """Another owner has taken this turn over. For a worker: stop quietly, it is theirs now."""


class ProtocolError(TurnwireError):
    """A bug in turnwire, or in a piece the host gave it: the turn it happened in has crashed.

    What was raised is the `__cause__`.
    """
