"""The page at `/` and what it is made of: files that come with the package, served as they are."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from turnwire.runtime.http.errors import not_found
from turnwire.runtime.http.routes import Route
from turnwire.runtime.http.service import Service

INDEX = "index.html"
TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
}
HEADERS: Mapping[str, str] = {
    # Our own files and nothing else: no script in the page, none from elsewhere, and nobody may put it into a frame.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


async def index(_service: Service, _request: Request) -> ASGIApp:
    """Give the page."""
    return _file(INDEX)


async def asset(_service: Service, request: Request) -> ASGIApp:
    """Give one of its files."""
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    kind, data = TYPES.get(name.rpartition(".")[2]), _read(name)
    if kind is None or data is None:
        raise not_found(f"file {name!r}")
    return Response(data, headers={**HEADERS, "content-type": kind})


@cache
def _names() -> frozenset[str]:
    """Say which files there are: only those are looked for, whatever a request calls them."""
    folder = files("turnwire.runtime.http") / "page"
    return frozenset(file.name for file in folder.iterdir() if file.is_file()) if folder.is_dir() else frozenset()


def _read(name: str) -> bytes | None:
    return (files("turnwire.runtime.http") / "page" / name).read_bytes() if name in _names() else None


ROUTES = (
    Route(
        method="GET",
        path="/",
        endpoint=index,
        need="nothing",
        about="own",
        summary="The page",
        answers={200: "HTML"},
        media="text/html",
    ),
    Route(
        method="GET",
        path="/page/{name}",
        endpoint=asset,
        need="nothing",
        about="own",
        summary="What the page is made of",
        answers={200: "The file"},
        media="*/*",
    ),
)
