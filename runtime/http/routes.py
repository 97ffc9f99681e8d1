"""What a route is: where, how, what it needs, what it does; and the words that its OpenAPI entry is made of."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs
from starlette.requests import Request
from starlette.types import ASGIApp

from turnwire.runtime.http.access import Action, Need
from turnwire.runtime.http.service import Service

Endpoint: TypeAlias = Callable[[Service, Request], Awaitable[ASGIApp]]
"""Answers a request. Raises HttpError, or an error of ours that has a status (errors.py)."""
Method: TypeAlias = Literal["GET", "POST"]
Scope: TypeAlias = Literal["turn", "run", "thread", "own"]
"""What a route is about, for the authoriser: what its path names; or it asks the authoriser itself ("own")."""


@attrs.frozen
class Query:
    """A parameter of the query string."""

    name: str
    meaning: str
    schema: Mapping[str, Any] = attrs.field(factory=lambda: {"type": "string"})


@attrs.frozen(kw_only=True)
class Route:
    """One way in."""

    method: Method
    path: str
    endpoint: Endpoint
    need: Need
    about: Scope
    action: Action = "read"
    summary: str
    query: tuple[Query, ...] = ()
    body: Mapping[str, Any] | None = None
    """JSON schemas of what is taken, by media type."""
    body_required: bool = True
    answers: Mapping[int, str] = attrs.field(factory=dict[int, str])
    """What each status means, those aside that every route may give."""
    media: str = "application/json"
    """How the answer is written."""
