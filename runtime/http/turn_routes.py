"""Turns over HTTP: the list of recent ones, one at a glance, its stream, its end, and tokens to read it with."""

from functools import partial

from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.messages.wire import json_name
from turnwire.runtime.http.access import Target
from turnwire.runtime.http.bodies import ID_SCHEMA, number_at, read_object, text_at
from turnwire.runtime.http.errors import HttpError, bad_request, json_response, not_found, unprocessable
from turnwire.runtime.http.patience import patiently
from turnwire.runtime.http.routes import Query, Route
from turnwire.runtime.http.run_start import stream_run_of
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.snapshots import State, read_snapshot, state_of
from turnwire.runtime.http.streams import dialect_of, place_of, stream_turn
from turnwire.runtime.http.tellers import DIALECTS, make_teller
from turnwire.runtime.queue.words import stop_event

MOST_LISTED = 200
SMALL_BODY = 64 * 1024  # bytes: these bodies say a word or two
STOPPED = "stopped by user"


async def list_turns(service: Service, request: Request) -> ASGIApp:
    """List recent turns, newest first."""
    limit = number_at(request, "limit", default=50, most=MOST_LISTED)
    try:
        page = await service.backend.directory.recent(before=request.query_params.get("before"), limit=limit)
    except ValueError as exc:
        raise bad_request("invalid_parameter", f"query before: {exc}") from None
    ids = [it.turn_id for it in page.turns]
    newest, threads = await service.backend.log.newest(ids), await service.backend.directory.threads_of(ids)
    turns = [
        {"turnId": it.turn_id, "threadId": thread, "state": state_of(entry), "announcedAt": it.announced_ms}
        for it, entry, thread in zip(page.turns, newest, threads, strict=True)
        if await _may_see(service, request, Target(it.turn_id, thread))
    ]
    return json_response({"turns": turns, "before": page.before})


async def _may_see(service: Service, request: Request, target: Target) -> bool:
    try:
        await service.authorise(request, "read", target)
    except HttpError:
        return False
    return True


async def show_turn(service: Service, request: Request) -> ASGIApp:
    """Give the folded outputs."""
    turn_id: str = request.path_params["turn_id"]
    thread_id = await known_thread(service, turn_id)
    run_id = await service.backend.directory.run_of(turn_id)
    snapshot = await read_snapshot(service.backend.log, turn_id)
    return json_response({"threadId": thread_id, "runId": run_id, **snapshot})


async def stream(service: Service, request: Request) -> ASGIApp:
    """Tell a turn, from any place on, until its end."""
    turn_id: str = request.path_params["turn_id"]
    dialect, place = dialect_of(request), place_of(request)
    thread_id = await known_thread(service, turn_id)
    run_id = await service.backend.directory.run_of(turn_id)
    if thread_id is None or run_id is None:
        return await stream_turn(service, turn_id, make_teller(dialect), place)
    return await stream_run_of(service, turn_id, run_id, thread_id, dialect=dialect, place=place)


async def stop(service: Service, request: Request) -> ASGIApp:
    """Stop a turn for good, whoever works on it."""
    turn_id: str = request.path_params["turn_id"]
    fields = await read_object(request, most=SMALL_BODY, optional=True)
    reason = text_at(fields, "reason", default=STOPPED) or STOPPED
    state = await patiently(partial(_stop, service, turn_id, reason))
    return json_response({"turnId": turn_id, "state": state}, 202)


async def _stop(service: Service, turn_id: str, reason: str) -> State:
    run_id = await service.backend.directory.run_of(turn_id)
    if run_id is None:
        raise not_found(f"turn {turn_id!r}")
    (newest,) = await service.backend.log.newest([turn_id])
    state = state_of(newest)
    if state in ("waiting", "running"):
        await service.backend.log.append_events(run_id, [stop_event(run_id, turn_id, reason)])
    return state


async def mint(service: Service, request: Request) -> ASGIApp:
    """Mint a token that lets a browser read this turn, and nothing else."""
    turn_id: str = request.path_params["turn_id"]
    fields = await read_object(request, most=SMALL_BODY, optional=True)
    seconds = fields.get("seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise unprocessable(f"$.seconds: expected a number greater than 0, got {json_name(seconds)}")
    await patiently(partial(known_thread, service, turn_id))
    token, expires_at = service.access.mint(turn_id, seconds=seconds)
    return json_response({"turnId": turn_id, "token": token, "expiresAt": expires_at * 1000}, 201)


async def known_thread(service: Service, turn_id: str) -> str | None:
    """Give the thread of a turn that is known, or at least has a log (its host wrote it). Raises HttpError 404."""
    thread_id = await service.backend.directory.thread_of(turn_id)
    if thread_id is None:
        (newest,) = await service.backend.log.newest([turn_id])
        if newest is None:
            raise not_found(f"turn {turn_id!r}")
    return thread_id


_REASON = {"type": "object", "properties": {"reason": ID_SCHEMA}}
_SECONDS = {"type": "object", "properties": {"seconds": {"type": "number", "exclusiveMinimum": 0}}}
_FROM = Query("from", "the id of the last event that was seen; the header Last-Event-ID comes first")

ROUTES = (
    Route(
        method="GET",
        path="/xapi/turns",
        endpoint=list_turns,
        need="token",
        about="own",
        summary="Recent turns with their state, newest first",
        query=(
            Query("limit", "turns on a page", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}),
            Query("before", "the next page: what `before` of the last one said"),
        ),
        answers={200: "A page of turns; `before` is null on the last"},
    ),
    Route(
        method="GET",
        path="/xapi/turns/{turn_id}",
        endpoint=show_turn,
        need="turn",
        about="turn",
        summary="A turn at a glance: the folded outputs, in order",
        answers={200: "Its state and outputs; `lastEventId` is where its stream goes on"},
    ),
    Route(
        method="GET",
        path="/xapi/turns/{turn_id}/stream",
        endpoint=stream,
        need="turn",
        about="turn",
        summary="A turn as server-sent events, from any place on, until its end",
        query=(_FROM, Query("dialect", "how it is told", {"type": "string", "enum": list(DIALECTS)})),
        answers={200: "The events", 204: "The turn has ended, and all of it was seen"},
        media="text/event-stream",
    ),
    Route(
        method="POST",
        path="/xapi/turns/{turn_id}/stop",
        endpoint=stop,
        need="token",
        about="turn",
        action="write",
        summary="Stop a turn for good; repeating it is fine",
        body={"application/json": _REASON},
        body_required=False,
        answers={202: "It ends as aborted, unless it has ended: `state` is how it stood"},
    ),
    Route(
        method="POST",
        path="/xapi/turns/{turn_id}/tokens",
        endpoint=mint,
        need="token",
        about="turn",
        action="write",
        summary="A read-only token for one turn, for browsers",
        body={"application/json": _SECONDS},
        body_required=False,
        answers={201: "The token, and when it expires (ms since the epoch)", 501: "There is no http.secret"},
    ),
)
