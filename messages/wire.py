"""What the codecs share: JSON in and out, strict conversion that says where a value is wrong, names in camelCase."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.json_text import MAX_DEPTH, dump_json, mend_surrogates, parse_json, refuse_nan

_T = TypeVar("_T")
_AT = re.compile(r"^(?P<problem>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>.+)`$")


def parse_document(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> object:
    """Parse JSON text. Raises InvalidEventError for what is none."""
    try:
        return cast("object", parse_json(data, max_depth=max_depth))
    except ValueError as exc:
        raise InvalidEventError(f"not JSON: {exc}") from None


def dump_document(document: object) -> bytes:
    """Write compact JSON. Raises ValueError if a NaN is in it."""
    refuse_nan(document)
    return dump_json(document)


def camel(name: str) -> str:
    """Give an attribute's name as it stands on a camelCase wire.

    >>> camel("tool_call_id")
    'toolCallId'
    """
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def convert(fields: dict[str, Any], cls: type[_T], path: str, event: str | None) -> _T:
    """Make a noun of decoded JSON. Raises InvalidEventError that says where it does not fit, under `path`."""
    try:
        return _lenient(fields, cls)
    except msgspec.ValidationError as exc:
        found = _AT.match(str(exc))
        problem = found["problem"] if found else str(exc)
        where = path + (found["path"] or "" if found else "")
        if missing := _MISSING.match(problem):
            where, problem = f"{where}.{missing['field']}", "missing"
        raise InvalidEventError(problem.replace("Expected", "expected"), path=where, event=event) from None


def _lenient(fields: dict[str, Any], cls: type[_T]) -> _T:
    """Convert; msgspec stumbles over half surrogates in names, and in values where it expects something else."""
    try:
        return msgspec.convert(fields, cls)
    except UnicodeEncodeError:
        try:
            return msgspec.convert(_mended(fields, texts=False), cls)
        except UnicodeEncodeError:  # a wrong value then, which is as wrong when it is mended
            return msgspec.convert(_mended(fields, texts=True), cls)


def _mended(value: Any, *, texts: bool) -> Any:
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            return {mend_surrogates(name): _mended(inner, texts=texts) for name, inner in fields.items()}
        case list():
            return list(map(partial(_mended, texts=texts), cast("Iterable[Any]", value)))
        case str() if texts:
            return mend_surrogates(value)
        case _:
            return value


def json_name(value: object) -> str:
    """Say what kind of JSON value this is."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return type(value).__name__
