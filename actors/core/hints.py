"""What kind of JSON a type hint stands for. One level deep: what stands inside is a hint again.

The schema that a model is told (`tool_schema.py`) and the reading of what it sends (`tool_arguments.py`) both ask here,
so they cannot disagree. A hint that stands for no JSON is a TypeError that names it.
"""

import dataclasses
import types
import typing
from collections import abc
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, TypeAlias, cast

import attrs
from msgspec import UNSET

from turnwire.messages.particulars import Json

Hint: TypeAlias = Any
"""A type hint. They have no common type."""

_PLAIN = (str, int, float, bool, type(None))
_WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"})
_ARRAYS: dict[object, Callable[[list[Any]], Any]] = {list: list, abc.Sequence: list, abc.Iterable: list}
_TABLES = frozenset({dict, abc.Mapping, abc.MutableMapping})


@attrs.frozen
class Plain:
    """A string, an integer, a number, a boolean or null."""

    type: type


@attrs.frozen
class Anything:
    """Any JSON value."""


@attrs.frozen
class Choice:
    """One of some plain values: as JSON says each, and what it is in Python."""

    values: tuple[tuple[Json, Any], ...]


@attrs.frozen
class Array:
    """An array of any length. `make` makes of a list what the hint asks for."""

    of: Hint
    make: Callable[[list[Any]], Any]


@attrs.frozen
class Row:
    """An array with one hint for each place."""

    of: tuple[Hint, ...]


@attrs.frozen
class Table:
    """An object with any names."""

    of: Hint


@attrs.frozen
class Record:
    """An object with known names: an attrs class, a dataclass, a TypedDict."""

    cls: type[Any]


@attrs.frozen
class OneOf:
    """Any of several hints."""

    of: tuple[Hint, ...]


Kind: TypeAlias = Plain | Anything | Choice | Array | Row | Table | Record | OneOf


@attrs.frozen(kw_only=True)
class Field:
    """One name of an object."""

    name: str
    attribute: str
    """What the class calls it."""
    hint: Hint
    required: bool
    default: Any = UNSET
    """What an absent one counts as, if that is a value (and not made anew each time)."""


def kind_of(hint: Hint) -> Kind:
    """Tell what a hint stands for. Raises TypeError for one that stands for no JSON."""
    hint = strip(hint)[0]
    origin: Any = typing.get_origin(hint)
    inside = typing.get_args(hint)
    if hint is Any or hint is object:
        return Anything()
    if hint is None or hint in _PLAIN:
        return Plain(type(None) if hint is None else hint)
    if origin in (typing.Union, types.UnionType):
        return OneOf(inside)
    if origin is Literal:
        return _choice(hint, [(value.value if isinstance(value, Enum) else value, value) for value in inside])
    if origin is None and isinstance(hint, type):
        return _kind_of_class(cast("type[Any]", hint))
    if origin is tuple:
        return Array(inside[0], tuple) if len(inside) == 2 and inside[1] is ... else Row(inside)
    if origin in _ARRAYS:
        return Array(inside[0], _ARRAYS[origin])
    if origin in _TABLES and strip(inside[0])[0] is str:
        return Table(inside[1])
    raise _no_json(hint)


def _kind_of_class(hint: type[Any]) -> Kind:
    if issubclass(hint, Enum):
        return _choice(hint, [(member.value, member) for member in hint])
    if is_typed_dict(hint) or attrs.has(hint) or dataclasses.is_dataclass(hint):
        return Record(hint)
    if hint in _ARRAYS:
        return Array(Any, _ARRAYS[hint])
    if hint is tuple:
        return Array(Any, tuple)
    if hint in _TABLES:
        return Table(Any)
    raise _no_json(hint)


def _choice(hint: Hint, values: list[tuple[Json, Any]]) -> Choice:
    if not values or not all(type(said) in _PLAIN for said, _ in values):
        raise _no_json(hint)
    return Choice(tuple(values))


def _no_json(hint: Hint) -> TypeError:
    name = hint.__qualname__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)
    return TypeError(
        f"{name} stands for no JSON; what does: str, int, float, bool, None, Any, Literal, enums of plain values, "
        "list, tuple, dict with str keys, TypedDict, attrs classes, dataclasses, and unions of these"
    )


def strip(hint: Hint) -> tuple[Hint, str | None]:
    """Take off what says nothing about the JSON: names for a hint, NotRequired, Annotated with its description."""
    description: str | None = None
    while True:
        if _is_annotated(hint):
            texts = [note for note in hint.__metadata__ if isinstance(note, str)]
            description = description or (texts[0] if texts else None)
            hint = hint.__origin__
        elif getattr(typing.get_origin(hint), "_name", None) in _WRAPPERS:
            hint = typing.get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):  # NewType
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # `type X = ...`, of Python 3.12
            hint = hint.__value__
        else:
            return hint, description


def _is_annotated(hint: Hint) -> bool:
    origin: Any = typing.get_origin(hint)
    return origin is typing.Annotated


def is_typed_dict(cls: type[Any]) -> bool:
    """Tell whether a class is a TypedDict; the one of typing_extensions counts too."""
    return all(hasattr(cls, name) for name in ("__required_keys__", "__optional_keys__", "__total__"))


def fields_of(cls: type[Any]) -> tuple[Field, ...]:
    """Give the names that an object of this class may have. Raises TypeError if a hint cannot be resolved."""
    hints = hints_of(cls)
    if is_typed_dict(cls):
        required: frozenset[str] = cast("Any", cls).__required_keys__
        return tuple(
            Field(name=name, attribute=name, hint=hint, required=_is_required(hint, name in required))
            for name, hint in hints.items()
        )
    if attrs.has(cls):
        return tuple(_attrs_field(each, hints) for each in attrs.fields(cls) if each.init)
    return tuple(_dataclass_field(each, hints) for each in dataclasses.fields(cast("Any", cls)) if each.init)


def _attrs_field(field: "attrs.Attribute[Any]", hints: dict[str, Hint]) -> Field:
    return Field(
        name=field.alias or field.name,
        attribute=field.name,
        hint=hints.get(field.name, field.type),
        required=field.default is attrs.NOTHING,
        default=UNSET
        if field.default is attrs.NOTHING or hasattr(field.default, "takes_self")
        else field.default,  # made anew each time
    )


def _dataclass_field(field: "dataclasses.Field[Any]", hints: dict[str, Hint]) -> Field:
    no_value = field.default is dataclasses.MISSING
    return Field(
        name=field.name,
        attribute=field.name,
        hint=hints[field.name],
        required=no_value and field.default_factory is dataclasses.MISSING,
        default=UNSET if no_value else field.default,
    )


def hints_of(what: Any) -> dict[str, Hint]:
    """Give the hints of a function or a class by name. Raises TypeError if one names what is not there."""
    try:
        return typing.get_type_hints(what, include_extras=True)
    except NameError as exc:
        raise TypeError(f"a type hint of {what.__qualname__} names {exc.name!r}, which is not known there") from exc


def _is_required(hint: Hint, otherwise: bool) -> bool:
    while True:
        word = getattr(typing.get_origin(hint), "_name", None)
        if word in ("Required", "NotRequired"):
            return bool(word == "Required")
        if not _is_annotated(hint):
            return otherwise
        hint = hint.__origin__
