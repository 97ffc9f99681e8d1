"""What every route needs: the backend, the rules of access, the open streams, and how full we are."""

from collections.abc import Generator
from contextlib import contextmanager

import attrs
from prometheus_client import CollectorRegistry
from starlette.requests import Request

from turnwire.messages.errors import TooManyTurnsError
from turnwire.runtime.backend import Backend
from turnwire.runtime.http.access import ANYBODY, Access, Action, Principal, Target
from turnwire.runtime.http.errors import conflict, not_found
from turnwire.runtime.http.seats import Seats
from turnwire.runtime.http.sse import OpenStreams
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.settings import Settings
from turnwire.runtime.worker import Worker

PRINCIPAL = "turnwire.principal"  # where a request's scope says who asks


@attrs.define(eq=False, kw_only=True)
class Service:
    """One for a process."""

    backend: Backend
    settings: Settings
    access: Access
    worker: Worker | None = None
    """The worker of this process, if it works on turns too."""
    models: tuple[str, ...] = ()
    """The models that turns of threads can be run with; none: they cannot."""
    registry: CollectorRegistry = attrs.field(factory=lambda: CollectorRegistry(auto_describe=False))
    streams: OpenStreams = attrs.field(factory=OpenStreams)
    seats: Seats = attrs.field(
        default=attrs.Factory(
            lambda self: Seats(most=self.settings.limits.readers, most_each=self.settings.limits.readers_per_turn),
            takes_self=True,
        )
    )
    _claims: dict[str, Announcement] = attrs.field(factory=dict[str, Announcement], init=False)

    def check_room(self) -> None:
        """Refuse another turn when this process works on as many as it may. Raises TooManyTurnsError."""
        most = self.settings.limits.turns
        if self.worker is not None and self.worker.live >= most:
            raise TooManyTurnsError(f"this process works on {most} turns, as many as it may")

    @contextmanager
    def claim(self, turn: Announcement, where: str) -> Generator[None, None, None]:
        """Have a turn's id to oneself while it is being announced. `where` is its place in the request.

        What the directory says may be outdated by the time that we announce: of two requests that want the same id for
        different turns, the second is refused. Raises HttpError 409.
        """
        other = self._claims.get(turn.turn_id)
        if other is not None and other != turn:
            raise conflict(f"{where}: turn {turn.turn_id!r} is being begun by run {other.run_id!r}")
        self._claims[turn.turn_id] = turn
        try:
            yield
        finally:
            if self._claims.get(turn.turn_id) is turn:
                del self._claims[turn.turn_id]

    async def authorise(self, request: Request, action: Action, target: Target) -> None:
        """Ask the host's authoriser, if there is one. Raises HttpError 403."""
        principal: Principal = request.scope.get(PRINCIPAL, ANYBODY)
        await self.access.authorise(principal, action, target)

    async def thread_of(self, turn_id: str) -> str:
        """Give the thread of a turn. Raises HttpError 404 for a turn that is not known."""
        thread_id = await self.backend.directory.thread_of(turn_id)
        if thread_id is None:
            raise not_found(f"turn {turn_id!r}")
        return thread_id

    async def turn_of(self, run_id: str) -> str:
        """Give the turn of a run. Raises HttpError 404 for a run that is not known."""
        turn_id = await self.backend.directory.turn_of(run_id)
        if turn_id is None:
            raise not_found(f"run {run_id!r}")
        return turn_id
