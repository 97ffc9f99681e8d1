"""The OpenAPI document: made from the same table of routes that the application is, so that it cannot say otherwise."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from turnwire.runtime.http.bodies import ID_SCHEMA
from turnwire.runtime.http.routes import Route

_PARAMETER = re.compile(r"\{(\w+)\}")
_ERROR = {"$ref": "#/components/schemas/Error"}
_MEANINGS = {
    400: "The request is malformed: the message says where",
    401: "A token is missing, wrong or expired",
    403: "The token, the origin or the authoriser does not allow it",
    404: "Not known here, or ended long ago",
    408: "The body did not come in time",
    413: "Too many bytes",
    415: "Another content-type is expected",
    422: "The JSON says something that it must not: the message begins with the place",
    503: "Not now: too many readers or turns, the log cannot be reached, or the service is shutting down",
}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Make the document of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "turnwire",
            "version": version("turnwire"),
            "description": "Turns of agents: events in, whole objects out.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "turnToken": {"type": "apiKey", "in": "query", "name": "token"},
            },
            "schemas": {"Error": _error_schema()},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.endpoint.__name__}",
        "summary": route.summary,
        "security": _security(route),
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": _responses(route),
    }
    if route.body is not None:
        content = {media: {"schema": schema} for media, schema in route.body.items()}
        operation["requestBody"] = {"required": route.body_required, "content": content}
    return operation


def _security(route: Route) -> list[dict[str, list[str]]]:
    match route.need:
        case "nothing":
            return []
        case "token":
            return [{"bearer": []}]
        case "turn":
            return [{"bearer": []}, {"turnToken": []}]


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": ID_SCHEMA} for name in _PARAMETER.findall(route.path)
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": it.name, "in": "query", "required": False, "description": it.meaning, "schema": dict(it.schema)}
        for it in route.query
    ]


def _responses(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, meaning in sorted(route.answers.items()):
        responses[str(status)] = {"description": meaning}
        if status in (200, 201, 202):
            responses[str(status)]["content"] = {route.media: {}}
        elif status >= 400:
            responses[str(status)]["content"] = {"application/json": {"schema": _ERROR}}
    for status in _refusals(route):
        responses.setdefault(
            str(status),
            {"description": _MEANINGS[status], "content": {"application/json": {"schema": _ERROR}}},
        )
    return responses


def _refusals(route: Route) -> Iterable[int]:
    """Say which refusals a route may give beside its own."""
    yield 403  # another origin's
    if route.need != "nothing":
        yield from (400, 401, 503)
    if "{" in route.path:
        yield 404
    if route.body is not None:
        yield from (404, 408, 413, 415, 422)
    if route.path == "/readyz":
        yield 503


def _error_schema() -> dict[str, Any]:
    text = {"type": "string"}
    error = {"type": "object", "required": ["code", "message"], "properties": {"code": text, "message": text}}
    return {"type": "object", "required": ["error"], "properties": {"error": error}}
