"""Begins the streams that routes answer with: from which place, in which dialect, on which seat."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from turnwire.messages.peek import peek_event, peek_output
from turnwire.runtime.http.errors import bad_request
from turnwire.runtime.http.seats import Seat
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.sources import Place, RawSource, TurnSource, before
from turnwire.runtime.http.sse import EventStream, Source
from turnwire.runtime.http.tellers import DIALECTS, Dialect, Teller


def place_of(request: Request) -> Place:
    """Say where a reader goes on: what it saw last, else what its URL says. Raises HttpError 400."""
    for text, where in (
        (request.headers.get("last-event-id"), "header Last-Event-ID"),  # first: a browser repeats its URL, too
        (request.query_params.get("from"), "query from"),
    ):
        if text:
            try:
                return Place.parse(text)
            except ValueError as exc:
                raise bad_request("invalid_parameter", f"{where}: {exc}") from None
    return Place()


def dialect_of(request: Request) -> Dialect:
    """Say in which dialect to tell. Raises HttpError 400."""
    asked = request.query_params.get("dialect", "native")
    for dialect in DIALECTS:
        if asked == dialect:
            return dialect
    raise bad_request("invalid_parameter", f"query dialect: expected one of {', '.join(DIALECTS)}, got {asked!r}")


async def stream_turn(service: Service, turn_id: str, teller: Teller, place: Place) -> ASGIApp:
    """Tell a turn from a place on. Who has it all is told that there is nothing more (204): a browser then stops."""
    log = service.backend.log
    if place != Place() and not place.told:
        (newest,) = await log.newest([turn_id])
        if newest is not None and newest.id == place.entry and peek_output(newest.message.payload).is_terminal:
            return Response(status_code=204)
    seat = service.seats.take(f"turn {turn_id!r}")
    return _stream(service, seat, TurnSource(log, turn_id, teller, place), teller)


async def stream_run(service: Service, run_id: str, place: Place) -> ASGIApp:
    """Tell a run's raw events from a place on; 204 as above."""
    log = service.backend.log
    if place != Place():
        known = await log.read_events(run_id, after=before(place.entry), limit=1)
        if known and known[0].id == place.entry and peek_event(known[0].event).is_terminal:
            return Response(status_code=204)
    seat = service.seats.take(f"run {run_id!r}")
    return _stream(service, seat, RawSource(log, run_id, place), None)


def _stream(service: Service, seat: Seat, source: Source, teller: Teller | None) -> ASGIApp:
    headers = None if teller is None else teller.headers
    heartbeat = service.settings.http.heartbeat
    return EventStream(source, service.streams, heartbeat=heartbeat, headers=headers, on_end=seat.close)
