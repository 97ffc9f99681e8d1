"""The application: finds the route of a request, asks whether it is allowed, and words what went wrong.

From the outside in: the gate (tokens out of URLs, CORS, headers), Starlette's router, a resource per path.
"""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import parse_qsl, unquote, urlencode

import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwire.messages.errors import TurnwireError
from turnwire.runtime.http import (
    agui_routes,
    chat_routes,
    event_routes,
    health_routes,
    page_routes,
    thread_routes,
    turn_routes,
)
from turnwire.runtime.http.access import TOKEN_KEY, Target
from turnwire.runtime.http.errors import HttpError, error_response, json_response, to_http_error
from turnwire.runtime.http.openapi import describe
from turnwire.runtime.http.patience import patiently
from turnwire.runtime.http.routes import Route
from turnwire.runtime.http.service import PRINCIPAL, Service
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.http")


async def openapi(_service: Service, _request: Request) -> ASGIApp:
    """Describe all routes."""
    return json_response(describe(ROUTES))


ROUTES: tuple[Route, ...] = (
    *event_routes.ROUTES,
    *turn_routes.ROUTES,
    *thread_routes.ROUTES,
    *agui_routes.ROUTES,
    *chat_routes.ROUTES,
    *health_routes.ROUTES,
    *page_routes.ROUTES,
    Route(
        method="GET",
        path="/openapi.json",
        endpoint=openapi,
        need="nothing",
        about="own",
        summary="This document",
        answers={200: "OpenAPI 3.1"},
    ),
)
SLASH = "\ufdd0"  # a slash inside an id, for the router: no character, so nobody's
DRAIN = 2.0  # seconds for which a refused body is read on, so that its sender gets to hear why

_ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type, last-event-id",
    "access-control-max-age": "600",
}


def make_app(service: Service, routes: Iterable[Route] = ROUTES) -> ASGIApp:
    """Make the ASGI application of a service. It runs on Trio."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    router = Router([StarletteRoute(path, Resource(service, several)) for path, several in by_path.items()])
    router.default = _no_route
    router.redirect_slashes = False
    return Gate(router, service)


class Gate:
    """What every request passes, in and out."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Be the application."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            _hide_token(scope)
            _keep_slashes(scope)
            await self._pass(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = _header(scope, b"origin")
        is_listed = self._service.access.may_read_from(origin)
        more = list(_ALWAYS)
        if is_listed and origin is not None:
            more += [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"origin")]
        began_at = time.monotonic()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *more]
                # Without the query, which is nobody's business; what was in it has been looked at.
                seconds = round(time.monotonic() - began_at, 4)
                log.debug(
                    "request", method=scope["method"], path=scope["path"], status=message["status"], after=seconds
                )
            await send(message)

        if scope["method"] == "OPTIONS" and is_listed and _header(scope, b"access-control-request-method"):
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


class Resource:
    """All that can be done at one path."""

    def __init__(self, service: Service, routes: Iterable[Route]) -> None:
        self._service = service
        self._routes: Mapping[str, Route] = {route.method: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["path_params"] = {name: value.replace(SLASH, "/") for name, value in scope["path_params"].items()}
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except HttpError as exc:
            await _refuse(exc, scope, receive, send)
        except TurnwireError as exc:
            known = to_http_error(exc)
            log.log(30 if known else 40, "request failed", path=scope["path"], error=repr(exc), exc_info=known is None)
            await _refuse(known or _internal(), scope, receive, send)
        except Exception:  # a bug of ours is this request's end, and no other's
            log.exception("request crashed", path=scope["path"])
            await _refuse(_internal(), scope, receive, send)
        else:
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> ASGIApp:
        route = self._routes.get(request.method)
        if route is None:
            allowed = ", ".join(self._routes)
            message = f"{request.method} is not possible here, only {allowed}"
            raise HttpError(405, "method_not_allowed", message, headers={"Allow": allowed})
        request.scope[PRINCIPAL] = self._service.access.check(request, route.need)
        if self._service.access.authoriser is not None and route.about != "own":
            await self._service.authorise(request, route.action, await self._target(request, route))
        if route.method == "GET":  # what only reads may be asked twice
            return await patiently(partial(route.endpoint, self._service, request))
        return await route.endpoint(self._service, request)

    async def _target(self, request: Request, route: Route) -> Target:
        params, directory = request.path_params, self._service.backend.directory
        if route.about == "thread":
            return Target(None, params["thread_id"])
        turn_id = params["turn_id"] if route.about == "turn" else await self._service.turn_of(params["run_id"])
        return Target(turn_id, await directory.thread_of(turn_id))


async def _refuse(error: HttpError, scope: Scope, receive: Receive, send: Send) -> None:
    """Say what is wrong, and read on meanwhile: a server that nobody takes the body from holds up the answer."""
    async with trio.open_nursery() as nursery:
        ended = trio.Event()
        nursery.start_soon(_drain, receive, ended, name="rest of a refused body")
        if error.is_body_unread:
            with trio.move_on_after(DRAIN):
                await ended.wait()
        await error_response(error)(scope, receive, send)
        nursery.cancel_scope.cancel()


async def _drain(receive: Receive, ended: trio.Event) -> None:
    while (message := await receive())["type"] != "http.disconnect":
        if not message.get("more_body", False):
            ended.set()
    ended.set()


async def _no_route(scope: Scope, receive: Receive, send: Send) -> None:
    path = scope["path"].replace(SLASH, "/")
    await _refuse(HttpError(404, "no_route", f"there is nothing at {path!r}"), scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    """Answer a server that tells of its own life; ours does not depend on it."""
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _internal() -> HttpError:
    return HttpError(500, "internal", "something went wrong here; it is in the service's log")


def _hide_token(scope: Scope) -> None:
    """Take the token out of the URL before anybody writes that down; the server's own access log reads this scope."""
    query: bytes = scope["query_string"]
    if b"token" not in query and b"%" not in query:  # a name may be spelt with escapes
        return
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    tokens = [value for name, value in pairs if name == "token"]
    if tokens:
        scope[TOKEN_KEY] = tokens[-1]
        scope["query_string"] = urlencode([pair for pair in pairs if pair[0] != "token"]).encode()


def _keep_slashes(scope: Scope) -> None:
    """Tell the slashes of an id, sent as %2F, from those between the parts of a path."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" in raw.lower():
        parts = raw.partition(b"?")[0].decode("latin-1").split("/")
        scope["path"] = "/".join(unquote(part).replace("/", SLASH) for part in parts)


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)
