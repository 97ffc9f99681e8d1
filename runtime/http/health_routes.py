"""For operators: is it alive, can it work, and its numbers."""

import trio
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from turnwire.messages.errors import TurnwireError
from turnwire.runtime.http.errors import json_response, unavailable
from turnwire.runtime.http.routes import Route
from turnwire.runtime.http.service import Service

PATIENCE = 2.0  # seconds that others may keep us from asking; the answer itself has redis.socket_timeout


async def is_alive(_service: Service, _request: Request) -> ASGIApp:
    """Answer: that is all that is asked."""
    return json_response({"status": "ok"})


async def is_ready(service: Service, _request: Request) -> ASGIApp:
    """Say whether the log can be reached, and we are not about to end."""
    if service.streams.is_closing:
        raise unavailable("closing", "the service is shutting down")
    try:
        with trio.fail_after(PATIENCE):
            await service.backend.log.ping()
    except (TurnwireError, trio.TooSlowError):
        raise unavailable("log_unavailable", "the log cannot be reached for now") from None
    return json_response({"status": "ready"})


async def metrics(service: Service, _request: Request) -> ASGIApp:
    """Give the numbers as Prometheus wants them."""
    return Response(generate_latest(service.registry), headers={"content-type": CONTENT_TYPE_LATEST})


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        endpoint=is_alive,
        need="nothing",
        about="own",
        summary="Is the process alive?",
        answers={200: "It is"},
    ),
    Route(
        method="GET",
        path="/readyz",
        endpoint=is_ready,
        need="nothing",
        about="own",
        summary="Can it work: is the log reachable?",
        answers={200: "It can"},
    ),
    Route(
        method="GET",
        path="/metrics",
        endpoint=metrics,
        need="token",
        about="own",
        summary="Numbers, as Prometheus wants them",
        answers={200: "The numbers"},
        media="text/plain",
    ),
)
