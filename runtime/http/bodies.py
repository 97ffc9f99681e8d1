"""Reads what a request brings: its body, bounded; JSON, with the place of what is wrong; parameters.

A body of megabytes takes seconds to understand. That is done in a thread, one body at a time, so that the readers of
turns hardly notice.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, cast

import trio
from starlette.requests import ClientDisconnect, Request

from turnwire.messages.json_text import parse_json
from turnwire.messages.wire import json_name
from turnwire.runtime.http.errors import HttpError, bad_request, too_large, unprocessable

JSON_TYPES = ("application/json",)
NDJSON_TYPES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")

PATIENCE = 30.0
"""Seconds that a body may take, and for which it may bring nothing, before its request is given up."""
SLOWEST = 1_000
"""Bytes a second: for each that came a body gets more time. Who sends a byte now and then holds nothing up for long."""
BIG = 64 * 1024
"""Bytes from which on a body is understood in a thread: up to that it takes a millisecond or two."""
MAX_ID = 512
"""Characters of an id that comes from outside: far more than any that is made, and no more than a key should have."""
ID_SCHEMA: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
"""What OpenAPI is told of such an id."""

BodyKind: TypeAlias = Literal["json", "ndjson"]
_T = TypeVar("_T")
_one_at_a_time: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("big bodies")


def body_kind(request: Request, *, ndjson: bool = False) -> BodyKind:
    """Say how the body is written. Raises HttpError 415.

    Strict, for safety too: a page of another origin cannot send these types without asking first (CORS), so it cannot
    make a browser of this machine post for it.
    """
    stated = request.headers.get("content-type", "")
    kind = stated.partition(";")[0].strip().lower()
    if kind in JSON_TYPES:
        return "json"
    if ndjson and kind in NDJSON_TYPES:
        return "ndjson"
    known = ", ".join((*JSON_TYPES, *NDJSON_TYPES[:1]) if ndjson else JSON_TYPES)
    raise HttpError(415, "unsupported_media_type", f"content-type: expected {known}, got {stated or 'none'!r}")


async def read_body(request: Request, *, most: int) -> bytes:
    """Read the body to its end. Raises HttpError 413 as soon as it is too long, and 400 if it breaks off."""
    stated = request.headers.get("content-length", "")
    if stated.isascii() and stated.isdecimal() and int(stated) > most:
        raise too_large(f"the body has {stated} bytes; at most {most} are taken", unread=True)
    pieces: list[bytes] = []
    size = 0
    stream = request.stream()
    began_at = trio.current_time()
    try:
        while True:
            with trio.fail_at(min(trio.current_time(), began_at + size / SLOWEST) + PATIENCE):
                piece = await anext(stream, None)
            if piece is None:
                return b"".join(pieces)
            size += len(piece)
            if size > most:
                raise too_large(f"the body has more than {most} bytes, the most that is taken", unread=True)
            pieces.append(piece)
    except trio.TooSlowError:
        raise HttpError(408, "too_slow", f"of the body {size} bytes came, and then too little for too long") from None
    except ClientDisconnect:
        raise bad_request("incomplete", "the body broke off") from None
    finally:
        await stream.aclose()


def parse_body(body: bytes) -> Any:
    """Parse JSON. Raises HttpError 400 that says why it is none."""
    try:
        return parse_json(body)
    except ValueError as exc:
        raise bad_request("invalid_json", f"$: not JSON: {exc}") from None


async def read_object(request: Request, *, most: int, optional: bool = False) -> dict[str, Any]:
    """Read a body that is one JSON object; with `optional`, none at all is an empty one."""
    body = await read_body(request, most=most)
    if optional and not body:
        return {}
    body_kind(request)
    return _parse_object(body)


async def read_as(request: Request, read: Callable[[dict[str, Any]], _T], *, most: int) -> _T:
    """Read a body that is one JSON object, and what that says; `read` may run in a thread."""
    body = await read_body(request, most=most)
    body_kind(request)
    if len(body) <= BIG:
        return read(_parse_object(body))
    return await trio.to_thread.run_sync(partial(_parse_and_read, body, read), limiter=_limiter())


def _parse_and_read(body: bytes, read: Callable[[dict[str, Any]], _T]) -> _T:
    return read(_parse_object(body))


def _parse_object(body: bytes) -> dict[str, Any]:
    document = parse_body(body)
    if not isinstance(document, dict):
        raise unprocessable(f"$: expected an object, got {json_name(document)}")
    return cast("dict[str, Any]", document)


def _limiter() -> trio.CapacityLimiter:
    try:
        return _one_at_a_time.get()
    except LookupError:
        limiter = trio.CapacityLimiter(1)
        _one_at_a_time.set(limiter)
        return limiter


def text_at(fields: dict[str, Any], name: str, *, path: str = "$", default: str | None = None) -> str | None:
    """Give a field that is a text that is not empty; null or absent is the default."""
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise unprocessable(f"{path}.{name}: expected a string, got {json_name(value)}")
    if not value:
        raise unprocessable(f"{path}.{name}: must not be empty")
    return check_text(value, f"{path}.{name}")


def check_text(value: str, where: str) -> str:
    """Give back a text that can be part of a key; half a surrogate pair or a control character cannot."""
    if any(ord(char) < 32 or 0xD800 <= ord(char) <= 0xDFFF for char in value) or len(value) > MAX_ID:
        raise unprocessable(f"{where}: expected up to {MAX_ID} characters without control characters")
    return value


def number_at(request: Request, name: str, *, default: int, most: int) -> int:
    """Give a number from the query string. Raises HttpError 400."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= most:
        raise bad_request("invalid_parameter", f"query {name}: expected a whole number from 1 to {most}, got {text!r}")
    return int(text)
