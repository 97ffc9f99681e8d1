"""AG-UI over HTTP: RunAgentInput in, AG-UI 1.0 events out. The same runId again joins the run that there is."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.runtime.http.bodies import ID_SCHEMA, read_as
from turnwire.runtime.http.routes import Route
from turnwire.runtime.http.run_inputs import read_agui_run
from turnwire.runtime.http.run_start import start_run, stream_run_of
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.streams import place_of
from turnwire.runtime.http.thread_routes import ANSWERS, TOOL_SPEC


async def run_agent(service: Service, request: Request) -> ASGIApp:
    """Start a run, or join it, and tell it."""
    place = place_of(request)
    read = partial(read_agui_run, instructions=service.settings.model.instructions)
    run = await read_as(request, read, most=service.settings.limits.body_bytes)
    await start_run(service, request, run, where="$.runId")
    return await stream_run_of(service, run.turn_id, run.run_id, run.thread_id, dialect="agui", place=place)


_INPUT: dict[str, Any] = {
    "type": "object",
    "required": ["threadId", "runId", "messages"],
    "properties": {
        "threadId": ID_SCHEMA,
        "runId": ID_SCHEMA,
        "messages": {"type": "array", "items": {"type": "object", "required": ["id", "role"]}},
        "tools": {"type": "array", "items": TOOL_SPEC},
        "context": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["description", "value"],
                "properties": {"description": {"type": "string"}, "value": {"type": "string"}},
            },
        },
        "state": {},
        "forwardedProps": {
            "type": "object",
            "properties": {"answers": ANSWERS, "model": {"type": "string", "minLength": 1}},
        },
    },
}

ROUTES = (
    Route(
        method="POST",
        path="/agui",
        endpoint=run_agent,
        need="token",
        about="own",
        action="write",
        summary="AG-UI 1.0: start a run, or join it again by its runId",
        body={"application/json": _INPUT},
        answers={
            200: "The run's events",
            204: "The run has ended, and all of it was seen (Last-Event-ID)",
            409: "The run belongs to another thread, or is a producer's",
            501: "No model is configured",
        },
        media="text/event-stream",
    ),
)
