"""What a tool came to, as text for the model: JSON or plain words, never longer than was asked for."""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import date, time
from enum import Enum
from typing import Final, cast

import attrs

from turnwire.messages.json_text import MAX_DEPTH, dump_json, mend_surrogates, refuse_nan
from turnwire.messages.particulars import Json

MAX_RESULT_CHARS: Final = 100_000
"""How long a result may be if nobody says otherwise: some 25,000 tokens, a good part of what a model can hold."""


@attrs.frozen(kw_only=True)
class ToolResult:
    """What one call of a tool came to. `text` is for the model; `error` says why it failed, if it did."""

    text: str
    success: bool = True
    error: str | None = None


def failed(problem: str, *, limit: int = MAX_RESULT_CHARS) -> ToolResult:
    """Make the result of a call that came to nothing."""
    text = cut(mend_surrogates(problem), limit)
    return ToolResult(text=text, success=False, error=text)


def result_text(value: object, *, limit: int = MAX_RESULT_CHARS) -> str:
    """Give what a tool returned as text: a text as it is, everything else as JSON.

    Raises TypeError for a value that is no JSON, ValueError for a number that is none.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return cut(mend_surrogates(value), limit)
    document = as_json(value)
    refuse_nan(document)
    return cut(dump_json(document).decode(), limit)


def cut(text: str, limit: int) -> str:
    r"""Give the first `limit` characters of a text, and a note if that is not all.

    >>> cut("abcdef", 4)
    'abcd\n[2 of 6 characters were left out]'
    """
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit} of {len(text)} characters were left out]"


def as_json(value: object, path: str = "$", depth: int = 0) -> Json:
    """Give a value as builtins that JSON knows. Raises TypeError that says where it has none."""
    if depth > MAX_DEPTH:
        raise TypeError(f"{path[:60]}…: nested deeper than {MAX_DEPTH} levels")
    match value:
        case Enum():
            return as_json(value.value, path, depth)
        case None | bool() | int() | float() | str():
            return value
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case Mapping():
            return {
                _name(name, path): as_json(inner, f"{path}.{name}", depth + 1)
                for name, inner in cast("Mapping[object, object]", value).items()
            }
        case list() | tuple() | set() | frozenset():
            items = enumerate(cast("Iterable[object]", value))
            return [as_json(inner, f"{path}[{place}]", depth + 1) for place, inner in items]
        case _:
            return {name: as_json(inner, f"{path}.{name}", depth + 1) for name, inner in _fields(value, path)}


def _fields(value: object, path: str) -> list[tuple[str, object]]:
    cls = type(value)
    if attrs.has(cls):
        return [(field.alias or field.name, getattr(value, field.name)) for field in attrs.fields(cls)]
    if dataclasses.is_dataclass(cls):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(cls)]
    raise TypeError(f"{path}: {cls.__qualname__} is no JSON")


def _name(name: object, path: str) -> str:
    if isinstance(name, Enum):
        name = name.value
    if isinstance(name, str | int) and not isinstance(name, bool):
        return str(name)
    raise TypeError(f"{path}: a name in an object must be text, not {type(name).__qualname__}")
