"""Threads over HTTP: a conversation with its turns, and the start of another turn."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.messages.runs import PendingCall
from turnwire.messages.shapes import Shape
from turnwire.messages.ui_codec import unstructure_ui_messages
from turnwire.runtime.http.bodies import ID_SCHEMA, check_text, number_at, read_as
from turnwire.runtime.http.errors import json_response, not_found
from turnwire.runtime.http.routes import Query, Route
from turnwire.runtime.http.run_inputs import read_thread_turn
from turnwire.runtime.http.run_start import start_run
from turnwire.runtime.http.service import Service
from turnwire.runtime.http.snapshots import read_snapshot

MOST_TURNS = 200
_PENDING = Shape(PendingCall)


async def show_thread(service: Service, request: Request) -> ASGIApp:
    """Give a thread: its newest turns, oldest first, its conversation, and what it waits for."""
    thread_id: str = request.path_params["thread_id"]
    limit = number_at(request, "limit", default=50, most=MOST_TURNS)
    backend = service.backend
    listed = await backend.directory.turns_of(thread_id)
    saved = await backend.threads.load(thread_id)
    if not listed and saved is None:
        raise not_found(f"thread {thread_id!r}")
    shown = listed[-limit:]
    turns = [{"announcedAt": it.announced_ms, **await read_snapshot(backend.log, it.turn_id)} for it in shown]
    pending = await backend.threads.pending(thread_id)
    document: dict[str, Any] = {
        "threadId": thread_id,
        "turns": turns,
        "earlierTurns": len(listed) - len(shown),
        "messages": [] if saved is None else unstructure_ui_messages(saved.messages),
        "state": None if saved is None else saved.state,
        "pending": [_PENDING.unstructure(call) for call in pending],
    }
    return json_response(document)


async def start_turn(service: Service, request: Request) -> ASGIApp:
    """Start a turn with a configured model."""
    thread_id = check_text(request.path_params["thread_id"], "path thread_id")
    read = partial(read_thread_turn, thread_id=thread_id)
    run = await read_as(request, read, most=service.settings.limits.body_bytes)
    await start_run(service, request, run, where="$.turnId")
    return json_response({"turnId": run.turn_id, "runId": run.run_id, "threadId": thread_id}, 202)


_TEXT = {"type": "string", "minLength": 1}
_TOOL_ANSWER = {
    "type": "object",
    "required": ["toolCallId"],
    "properties": {"toolCallId": _TEXT, "output": {}, "error": {"type": "string"}},
}
_APPROVAL = {
    "type": "object",
    "required": ["approvalId", "approved"],
    "properties": {"approvalId": _TEXT, "approved": {"type": "boolean"}},
}
TOOL_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"},
        "description": {"type": "string"},
        "parameters": {"type": "object"},
    },
}
ANSWERS: dict[str, Any] = {"type": "array", "items": {"oneOf": [_TOOL_ANSWER, _APPROVAL]}}
_TURN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"oneOf": [_TEXT, {"type": "object", "description": "a UIMessage of the user's"}]},
        "answers": ANSWERS,
        "tools": {"type": "array", "items": TOOL_SPEC, "description": "tools that the client runs"},
        "model": _TEXT,
        "turnId": ID_SCHEMA,
        "instructions": {"type": "string"},
    },
}

ROUTES = (
    Route(
        method="GET",
        path="/xapi/threads/{thread_id}",
        endpoint=show_thread,
        need="token",
        about="thread",
        summary="A thread: its turns with their snapshots, its conversation, and what it waits for",
        query=(Query("limit", "newest turns shown", {"type": "integer", "minimum": 1, "maximum": MOST_TURNS}),),
        answers={200: "The thread; turns are oldest first"},
    ),
    Route(
        method="POST",
        path="/xapi/threads/{thread_id}/turns",
        endpoint=start_turn,
        need="token",
        about="own",
        action="write",
        summary="Start a turn with a configured model: with a message, with answers, or with both",
        body={"application/json": _TURN},
        answers={
            202: "It is announced; follow it by its id",
            409: "The turn belongs to another thread or run",
            501: "No model is configured",
        },
    ),
)
