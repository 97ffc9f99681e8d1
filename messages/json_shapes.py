"""Reading JSON that may be anything: each function gives what was asked for, or the empty value of its kind.

Providers leave fields out, send null for them, and change their types without notice. A stream must not die of
that, so nobody indexes into JSON of somebody else's: adapters, dialects and shells ask here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

JsonObject: TypeAlias = Mapping[str, Any]

NOTHING: JsonObject = {}
MAX_COUNT = 2**53  # beyond it a JSON number is no exact count any more, so it is no count at all


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)  # as every parser makes it; asking for Mapping takes six times as long


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


def text_at(source: JsonObject, key: str) -> str:
    """Give the text under a key, "" for anything that is none."""
    value = source.get(key)
    return value if isinstance(value, str) else ""


def object_at(source: JsonObject, key: str) -> JsonObject:
    """Give the object under a key, an empty one for anything that is none."""
    value = source.get(key)
    return value if is_object(value) else NOTHING


def list_at(source: JsonObject, key: str) -> list[Any]:
    """Give the array under a key, an empty one for anything that is none."""
    value = source.get(key)
    return value if is_list(value) else []


def objects_at(source: JsonObject, key: str) -> Iterator[JsonObject]:
    """Give the objects of the array under a key; whatever else stands in it is passed over."""
    return (value for value in list_at(source, key) if is_object(value))


def count_at(source: JsonObject, key: str) -> int | None:
    """Give the count under a key; None for what is absent, null, negative or no whole number."""
    value = source.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT else None


def index_at(source: JsonObject, key: str) -> int | None:
    """Give the index under a key; None if there is none. Negative ones are as good as any."""
    value = source.get(key)
    return value if type(value) is int else None  # a bool is an int too, but no index


def bare_text(value: object) -> str:
    """Give a text or a number as text: an error's code comes as either."""
    if isinstance(value, bool):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""
