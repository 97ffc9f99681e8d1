"""Starts the runs that clients ask for: keeps the input, announces the turn; a worker with a model does the rest."""

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.messages.runs import PendingCall, RunInput
from turnwire.runtime.http.access import Target
from turnwire.runtime.http.errors import HttpError, conflict, unprocessable
from turnwire.runtime.http.patience import patiently
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.sources import Place
from turnwire.runtime.http.streams import stream_turn
from turnwire.runtime.http.tellers import Dialect, Pending, make_teller
from turnwire.runtime.queue.announcement import Announcement

NO_MODEL = "no model is configured here: start with --set model.provider=scripted to try it, or name a provider"


async def start_run(service: Service, request: Request, run: RunInput, *, where: str) -> None:
    """Have a run begin, unless it did. `where` is the place of the turn's id in the request, for errors.

    Raises HttpError: 403, 409 for a turn of another thread or run, 422 for a model that there is not, 501 without any.
    """
    await service.authorise(request, "write", Target(run.turn_id, run.thread_id))
    turn = Announcement(run_id=run.run_id, turn_id=run.turn_id, thread_id=run.thread_id, kind="engine")
    if await patiently(partial(_is_known, service, turn, where)):
        return  # asked for again, by somebody who did not hear the answer
    if not service.models:
        raise HttpError(501, "no_model", NO_MODEL)
    if run.model is not None and run.model not in service.models:
        raise unprocessable(f"model: {run.model!r} is none of {', '.join(service.models)}")
    service.check_room()
    await service.announce(turn, run, where=where)


async def _is_known(service: Service, turn: Announcement, where: str) -> bool:
    """Was this run asked for before? Raises HttpError 409 where it is a producer's, which begins with no input."""
    directory = service.backend.directory
    known = await directory.run_of(turn.turn_id), await directory.thread_of(turn.turn_id)
    if known != (turn.run_id, turn.thread_id):
        return False
    if not await directory.has_input(turn.run_id):
        raise conflict(f"{where}: turn {turn.turn_id!r} is a producer's")
    return True


def pending_of(service: Service, turn_id: str, run_id: str, thread_id: str) -> Pending:
    """Make the question what waits at a run's end: its own calls, and those of earlier runs that still have no answer.

    A client knows by its last run's end what is open: what that does not name, nobody would answer. What only later
    runs of the thread have asked was not open then.
    """

    async def ask() -> Sequence[PendingCall]:
        calls = await service.backend.threads.pending(thread_id)
        if all(call.run_id == run_id for call in calls):
            return calls
        directory = service.backend.directory
        listed = [it.turn_id for it in await directory.turns_of(thread_id)]
        later = set(listed[listed.index(turn_id) + 1 :]) if turn_id in listed else set[str]()
        return [call for call in calls if call.run_id == run_id or await directory.turn_of(call.run_id) not in later]

    return ask


async def stream_run_of(
    service: Service, turn_id: str, run_id: str, thread_id: str, *, dialect: Dialect, place: Place
) -> ASGIApp:
    """Tell the turn of a run, and what it waits for at its end."""
    teller = make_teller(dialect, pending_of(service, turn_id, run_id, thread_id))
    return await stream_turn(service, turn_id, teller, place)
