"""JSON text in and out: strict, with exact integers, and never a half surrogate in what leaves us.

msgspec and orjson do the work; what they refuse although it is legal (a lone surrogate escape, an integer past 64
bits) takes the slow road through the standard library.
"""

import json
import math
import re
from typing import Any, cast

import msgspec
import orjson

MAX_DEPTH = 200
"""Deeper JSON is refused: what one stack could just read, another could not write. orjson's own bound is 254."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(text: bytes | str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse JSON text. Raises ValueError for all that is not JSON: NaN, Infinity, numbers past a float's range.

    >>> parse_json('{"n": 123456789012345678901234567890}')
    {'n': 123456789012345678901234567890}
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        # Half of a surrogate pair as an escape is legal JSON that msgspec refuses; bad text fails here again.
        value = _parse_slowly(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    brackets = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if sum(map(cast("Any", text).count, brackets)) > max_depth and _is_deep(value, max_depth):
        raise ValueError(f"JSON is nested deeper than {max_depth} levels")
    return value


def parse_json_or_text(text: str) -> Any:
    """Parse JSON text; what is no JSON comes back as it is.

    >>> parse_json_or_text("[1, 2]"), parse_json_or_text("plain words")
    ([1, 2], 'plain words')
    """
    try:
        return parse_json(text)
    except ValueError:
        return text


def parse_json_or_none(text: str) -> Any:
    """Parse JSON text; None for what is no JSON.

    >>> parse_json_or_none("{}"), parse_json_or_none("plain words")
    ({}, None)
    """
    try:
        return parse_json(text)
    except ValueError:
        return None


def dump_json(value: object) -> bytes:
    """Write compact JSON; half surrogates become U+FFFD. The caller hands over builtins only, made by a codec.

    NaN would come out as null: a codec that writes values it did not parse itself calls `refuse_nan` first.
    """
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):  # an integer past 64 bits, half a surrogate, nesting past 254 levels
        return _dump_slowly(value)


def refuse_nan(value: object) -> None:
    """Raise ValueError if a NaN or an Infinity is anywhere in this value: they are not JSON."""
    match value:
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} is not JSON")
        case dict():
            for inner in cast("dict[object, object]", value).values():
                refuse_nan(inner)
        case list() | tuple():
            for inner in cast("list[object]", value):
                refuse_nan(inner)
        case _:
            pass


def mend_surrogates(text: str) -> str:
    """Join pairs that stand as two halves and put U+FFFD in place of each half that has no partner.

    >>> mend_surrogates(chr(0xD83D) + chr(0xDE00) + "!" + chr(0xD83D)) == chr(0x1F600) + "!" + chr(0xFFFD)
    True
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def split_waiting_half(text: str) -> tuple[str, str]:
    """Cut off a first half at the very end, which the next delta may complete.

    >>> split_waiting_half("a" + chr(0xD83D)) == ("a", chr(0xD83D))
    True
    """
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return text.removesuffix(half), half


def _is_deep(value: object, max_depth: int) -> bool:
    """Tell, without recursion, whether a value is nested deeper than this."""
    level = [value]
    for _ in range(max_depth + 1):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: object) -> "list[object]":
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _parse_slowly(text: bytes | str) -> Any:
    try:
        if isinstance(text, bytes):
            text = text.decode()  # json.loads would also take UTF-16, UTF-32 and encoded surrogates
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is out of range")
    return number


def _dump_slowly(value: object) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("the value is nested too deeply for JSON") from None
    return mend_surrogates(text).encode()
