"""Reads what a request brings: its body, bounded; JSON, with the place of what is wrong; parameters."""

from typing import Any, Literal, TypeAlias, cast

import trio
from starlette.requests import ClientDisconnect, Request

from turnwire.messages.json_text import parse_json
from turnwire.messages.wire import json_name
from turnwire.runtime.http.errors import HttpError, bad_request, too_large, unprocessable

JSON_TYPES = ("application/json",)
NDJSON_TYPES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")

PATIENCE = 30.0
"""Seconds for which a body may bring nothing before its request is given up."""
MAX_ID = 512
"""Characters of an id that comes from outside: far more than any that is made, and no more than a key should have."""

BodyKind: TypeAlias = Literal["json", "ndjson"]


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
    try:
        while True:
            with trio.fail_after(PATIENCE):
                piece = await anext(stream, None)
            if piece is None:
                return b"".join(pieces)
            size += len(piece)
            if size > most:
                raise too_large(f"the body has more than {most} bytes, the most that is taken", unread=True)
            pieces.append(piece)
    except trio.TooSlowError:
        raise HttpError(408, "too_slow", f"nothing more of the body came for {PATIENCE:g} s") from None
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
    document = parse_body(body)
    if not isinstance(document, dict):
        raise unprocessable(f"$: expected an object, got {json_name(document)}")
    return cast("dict[str, Any]", document)


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
