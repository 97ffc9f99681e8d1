"""How the value of a setting is read by its type, strictly, and how it is said again without telling secrets."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast, get_args, get_origin

import attrs
from cattrs import Converter

NONE = "none"
"""How to say that there is none: TOML has no word for it."""

Field: TypeAlias = "attrs.Attribute[Any]"

_WORDS: Mapping[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def structure(value: object, kind: Any) -> object:
    """Give a value of this type, which is what it was read as. Raises TypeError if it is of another type."""
    return None if value == NONE and _inner(kind) is not kind else _converter.structure(value, kind)


def from_text(text: str, kind: Any) -> object:
    """Read a text by the type it is to have. What cannot be read stays a text, and is refused as one."""
    if get_origin(kind) is tuple:
        return [from_text(part.strip(), get_args(kind)[0]) for part in text.split(",")] if text.strip() else []
    if (inner := _inner(kind)) is not kind:
        return NONE if text.strip() == NONE else from_text(text, inner)
    if kind is bool:
        return {"true": True, "false": False}.get(text.strip(), text)
    try:
        return cast("Callable[[str], object]", kind)(text)
    except ValueError:
        return text


def wanted(kind: Any) -> str:
    """Say what a value of this type is."""
    if get_origin(kind) is tuple:
        return f"a list of {'texts' if get_args(kind)[0] is str else 'numbers'}"
    if (inner := _inner(kind)) is not kind:
        return f"{wanted(inner)} or {NONE}"
    return _WORDS[kind]


def shown(field: Field, value: object) -> str:
    """Say a value as it may be shown, in TOML's words: secrets are hidden."""
    show = field.metadata["shown"]
    return in_toml(value if show is True or not value else show(value))


def shown_raw(field: Field, value: object) -> str:
    """Say a value of the wrong type; of a secret only its type."""
    return repr(value) if field.metadata["shown"] is True else type(value).__name__


def in_toml(value: object) -> str:
    """Say a value as TOML does.

    >>> in_toml(("a", 1.5)), in_toml(None), in_toml(True)
    ('["a", 1.5]', '"none"', 'true')
    """
    match value:
        case None:
            return f'"{NONE}"'
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
        case tuple():
            return f"[{', '.join(map(in_toml, cast('Iterable[object]', value)))}]"
        case _:
            return repr(value)


def _inner(kind: Any) -> Any:
    """Give the type beside None, or the type itself if it does not allow None."""
    return get_args(kind)[0] if type(None) in get_args(kind) else kind


def _exactly(kind: type) -> Callable[[Any, Any], Any]:
    """Structure by looking, not by coercing: cattrs alone would make a text of anything."""

    def check(value: Any, _kind: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
        return value

    return check


def _number(value: Any, _kind: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return cast("float", value)


def _list(value: Any, kind: Any) -> tuple[object, ...]:
    if type(value) is not list:  # a text is a sequence too, of letters
        raise TypeError(f"expected a list, got {type(value).__name__}")
    return tuple(_converter.structure(part, get_args(kind)[0]) for part in cast("list[object]", value))


def _is_list(kind: Any) -> bool:
    return cast("object", get_origin(kind)) is tuple


def _make_converter() -> Converter:
    converter = Converter()
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(_is_list, _list)
    return converter


_converter = _make_converter()
