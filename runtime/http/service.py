"""What every route needs: the backend, the rules of access, the open streams, and how full we are."""

from functools import partial

import attrs
from prometheus_client import CollectorRegistry
from starlette.requests import Request

from turnwire.messages.errors import TooManyTurnsError
from turnwire.messages.runs import RunInput
from turnwire.runtime.backend import Backend
from turnwire.runtime.backend.directory import TakenError
from turnwire.runtime.http.access import ANYBODY, Access, Action, Principal, Target
from turnwire.runtime.http.errors import conflict, not_found
from turnwire.runtime.http.patience import patiently
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

    def check_room(self) -> None:
        """Refuse another turn when this process works on as many as it may. Raises TooManyTurnsError."""
        most = self.settings.limits.turns
        if self.worker is not None and self.worker.live >= most:
            raise TooManyTurnsError(f"this process works on {most} turns, as many as it may")

    async def announce(self, turn: Announcement, run: RunInput | None = None, *, where: str) -> None:
        """Have a turn begin. `where` is the place of its id in the request.

        Raises HttpError 409 if the turn or the run is another's, also if that one begins in this moment.
        """
        try:
            await patiently(partial(self.backend.directory.announce, turn, run))
        except TakenError as exc:
            raise conflict(f"{where}: {exc}") from None

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
