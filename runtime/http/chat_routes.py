"""The AI SDK over HTTP (npm `ai`, version 6): what DefaultChatTransport posts, and how it finds its stream again."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from turnwire.runtime.http.bodies import ID_SCHEMA, read_as
from turnwire.runtime.http.errors import not_found
from turnwire.runtime.http.routes import Route
from turnwire.runtime.http.run_inputs import read_chat_run
from turnwire.runtime.http.run_start import start_run, stream_run_of
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.snapshots import state_of
from turnwire.runtime.http.sources import Place
from turnwire.runtime.http.thread_routes import TOOL_SPEC


async def chat(service: Service, request: Request) -> ASGIApp:
    """Start a turn of a chat, and tell it."""
    run = await read_as(request, read_chat_run, most=service.settings.limits.body_bytes)
    await start_run(service, request, run, where="$.id")
    return await stream_run_of(service, run.turn_id, run.run_id, run.thread_id, dialect="ui-message", place=Place())


async def resume(service: Service, request: Request) -> ASGIApp:
    """Tell a chat's turn that is under way, from its start; 204 if there is none: so the client expects it."""
    thread_id: str = request.path_params["thread_id"]
    backend = service.backend
    turns = await backend.directory.turns_of(thread_id)
    newest = await backend.log.newest([turn.turn_id for turn in turns[-1:]])
    if not newest or state_of(newest[0]) not in ("waiting", "running"):
        return Response(status_code=204)
    turn_id = turns[-1].turn_id
    run_id = await backend.directory.run_of(turn_id)
    if run_id is None:
        raise not_found(f"turn {turn_id!r}")
    return await stream_run_of(service, turn_id, run_id, thread_id, dialect="ui-message", place=Place())


_CHAT: dict[str, Any] = {
    "type": "object",
    "required": ["id", "messages"],
    "properties": {
        "id": {**ID_SCHEMA, "description": "the chat: its thread"},
        "messages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["id", "role", "parts"],
                "properties": {
                    "id": {"type": "string", "minLength": 1},
                    "role": {"enum": ["system", "user", "assistant"]},
                    "parts": {
                        "type": "array",
                        "items": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
                    },
                },
            },
        },
        "tools": {"type": "array", "items": TOOL_SPEC},
        "model": {"type": "string", "minLength": 1},
    },
}

ROUTES = (
    Route(
        method="POST",
        path="/api/chat",
        endpoint=chat,
        need="token",
        about="own",
        action="write",
        summary="AI SDK: a turn of a chat, as a UI message stream",
        body={"application/json": _CHAT},
        answers={200: "The chunks", 501: "No model is configured"},
        media="text/event-stream",
    ),
    Route(
        method="GET",
        path="/api/chat/{thread_id}/stream",
        endpoint=resume,
        need="token",
        about="thread",
        summary="AI SDK: the chat's turn that is under way, from its start",
        answers={200: "The chunks", 204: "No turn is under way"},
        media="text/event-stream",
    ),
)
