"""Log A over HTTP: producers append StreamEvents, all or none of a request; raw readers follow them."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import msgspec
import trio
from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ResponseStart, StreamEvent
from turnwire.messages.json_text import dump_json
from turnwire.runtime.http.access import Target
from turnwire.runtime.http.bodies import body_kind, check_text, parse_body, read_body
from turnwire.runtime.http.errors import HttpError, json_response, too_large, unprocessable
from turnwire.runtime.http.patience import patiently
from turnwire.runtime.http.routes import Query, Route
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.streams import place_of, stream_run
from turnwire.runtime.queue.announcement import Announcement

PAUSE = 100  # events checked without a pause: two milliseconds' work
_SPACE = b" \t\r\n"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # between JSON's values they are space; inside of a text they cannot stand


async def append(service: Service, request: Request) -> ASGIApp:
    """Append events to a run's log; the first of an unknown run announces its turn."""
    run_id = check_text(request.path_params["run_id"], "path run_id")
    limits = service.settings.limits
    kind = body_kind(request, ndjson=True)
    body = await read_body(request, most=limits.body_bytes)
    texts = _lines(body) if kind == "ndjson" else _documents(body)
    if not texts:
        raise unprocessable("$: expected at least one event, got none")
    first = await check_events(texts, run_id, most=limits.event_bytes)
    turn_id = await patiently(partial(service.backend.directory.turn_of, run_id))
    if turn_id is None:
        turn_id = await _announce(service, request, run_id, first)
    elif service.access.authoriser is not None:
        await service.authorise(request, "write", Target(turn_id, await service.thread_of(turn_id)))
    # Tried again, some may be in the log twice: whoever folds it drops the repeated ids.
    ids = await patiently(partial(service.backend.log.append_events, run_id, texts))
    return json_response({"runId": run_id, "turnId": turn_id, "accepted": len(ids), "lastEventId": str(ids[-1])}, 202)


async def follow(service: Service, request: Request) -> ASGIApp:
    """Tell a run's events as they were written, until the one that ends it."""
    run_id: str = request.path_params["run_id"]
    place = place_of(request)
    await service.turn_of(run_id)
    return await stream_run(service, run_id, place)


def _lines(body: bytes) -> list[bytes]:
    # A return inside a line is JSON's space, and would end a line of the stream that tells it.
    return [line.replace(b"\r", b" ") for line in body.split(b"\n") if line.strip()]


def _documents(body: bytes) -> list[bytes]:
    """Give the events of a JSON body: one, or an array of them; each on one line."""
    if body.lstrip(_SPACE).startswith(b"["):
        with suppress(msgspec.DecodeError, RecursionError):  # legal or not: the way below says it
            # Taken apart and no more: what each of them says is looked at one by one.
            return [bytes(each).translate(_ONE_LINE) for each in msgspec.json.decode(body, type=list[msgspec.Raw])]
    document = parse_body(body)
    several = cast("Sequence[Any]", document) if isinstance(document, list) else [document]
    return [dump_json(each) for each in several]


async def check_events(texts: Sequence[bytes], run_id: str, *, most: int) -> StreamEvent | None:
    """Hold every event to the rules, before any is written; give the first, unless it is a delta.

    There may be a hundred thousand of them: others get to run in between.
    """
    first: StreamEvent | None = None
    for index, text in enumerate(texts):
        if index % PAUSE == PAUSE - 1:
            await trio.lowlevel.checkpoint()
        if len(text) > most:
            raise too_large(f"event {index} has {len(text)} bytes; at most {most} are taken")
        delta = try_decode_delta(text)
        try:
            event = None if delta is not None else decode_event(text, max_bytes=most)
        except InvalidEventError as exc:
            raise unprocessable(f"event {index}: {exc.path}: {exc.problem}") from None
        said = delta.run_id if delta is not None else cast("StreamEvent", event).run_id
        if said != run_id:
            raise unprocessable(f"event {index}: $.run_id: is {said!r}, but the path says {run_id!r}")
        if index == 0:
            first = event
    return first


async def _announce(service: Service, request: Request, run_id: str, first: StreamEvent | None) -> str:
    if first is None or not isinstance(first.payload, ResponseStart):
        came = "item_delta" if first is None else type(first.payload).__name__
        raise HttpError(
            404, "unknown_run", f"run {run_id!r} is not known: its first event must be response_start, not {came}"
        )
    start = first.payload
    turn_id = check_text(start.turn_id, "event 0: $.payload.turn_id")
    thread_id = check_text(start.thread_id, "event 0: $.payload.thread_id")
    await service.authorise(request, "write", Target(turn_id, thread_id))
    service.check_room()
    announcement = Announcement(run_id=run_id, turn_id=turn_id, thread_id=thread_id)
    await service.announce(announcement, where="event 0: $.payload.turn_id")
    return turn_id


_EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["event_id", "timestamp", "run_id", "trace_context", "type", "payload"],
    "properties": {
        "event_id": {"type": "string", "minLength": 1},
        "timestamp": {"type": "number"},
        "run_id": {"type": "string", "minLength": 1},
        "trace_context": {
            "type": "object",
            "required": ["traceparent"],
            "properties": {"traceparent": {"type": "string"}, "tracestate": {"type": "string"}},
        },
        "type": {"type": "string"},
        "payload": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
    },
}

ROUTES = (
    Route(
        method="POST",
        path="/api/v2/runs/{run_id}/events",
        endpoint=append,
        need="token",
        about="own",
        action="write",
        summary="Append StreamEvents to a run; all of them or none",
        body={
            "application/json": {"oneOf": [_EVENT, {"type": "array", "items": _EVENT, "minItems": 1}]},
            "application/x-ndjson": {"type": "string"},
        },
        answers={202: "All are in the log", 409: "The turn belongs to another run or thread"},
    ),
    Route(
        method="GET",
        path="/api/v2/runs/{run_id}/events",
        endpoint=follow,
        need="token",
        about="run",
        summary="A run's StreamEvents as server-sent events, from any place on, until the one that ends it",
        query=(Query("from", "the id of the last event that was seen; the header Last-Event-ID comes first"),),
        answers={200: "The events", 204: "The run has ended, and all of it was seen"},
        media="text/event-stream",
    ),
)
