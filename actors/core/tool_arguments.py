"""What a model sent as arguments, made into what the hints of a tool say: strictly, with a path for each misfit.

cattrs puts the classes together; it coerces by default, so every other hint has a hook of ours that looks and refuses:
"5" is no integer, true is no number, null is no text. A whole number may come as 5.0 and a float as 5: in JSON these
are the same.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias, assert_never, cast

from cattrs import Converter
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn

from turnwire.actors.core.hints import (
    Anything,
    Array,
    Choice,
    Field,
    Hint,
    OneOf,
    Plain,
    Record,
    Row,
    Table,
    fields_of,
    is_typed_dict,
    kind_of,
)
from turnwire.actors.core.misfits import MisfitError, Problem, describe, expected, missing, unknown
from turnwire.messages.json_shapes import is_list

Hook: TypeAlias = Callable[[Any, Any], Any]


def structure(value: object, hint: Hint) -> Any:
    """Make of a JSON value what a hint asks for. Raises MisfitError with all that does not fit.

    >>> structure([1, 2.0], list[int])
    [1, 2]
    """
    try:
        return _CONVERTER.structure(value, hint)
    except Exception as exc:  # noqa: BLE001 - cattrs raises many kinds, and so do a class's own checks
        raise MisfitError(*_problems(exc)) from None


def structure_fields(value: object, fields: Iterable[Field]) -> dict[str, Any]:
    """Make what the fields of an object ask for, by name; those that may be absent are left out if they are."""
    if not isinstance(value, dict):
        raise expected("an object", value)
    given = cast("dict[str, Any]", value)
    known = {field.name: field for field in fields}
    made: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, field in known.items():
        if name in given:
            _collect(given[name], field.hint, f".{name}", partial(made.__setitem__, name), problems)
        elif field.required:
            problems.append(missing(field))
    problems += [unknown(name, known) for name in given if name not in known]
    if problems:
        raise MisfitError(*problems)
    return made


def _hook_for(hint: Hint, converter: Converter) -> Hook:
    kind = kind_of(hint)
    match kind:
        case Plain(type=cls):
            return lambda value, _: _plain(value, cls)
        case Anything():
            return lambda value, _: value
        case Choice():
            return lambda value, _: _chosen(value, kind)
        case Array(of=inner, make=make):
            return lambda value, _: make(_items(value, kind, lambda _place: inner))
        case Row(of=inner):
            return lambda value, _: tuple(_items(value, kind, lambda place: inner[place]))
        case Table():
            return lambda value, _: _entries(value, kind)
        case Record(cls=cls):
            return _record_hook(cls, converter)
        case OneOf(of=inner):
            return lambda value, _: _first_that_fits(value, inner)
        case _:
            assert_never(kind)


def _plain(value: Any, cls: type) -> Any:
    if type(value) is cls:
        return value
    if cls is float and type(value) is int and math.isfinite(wide := _widened(value)):
        return wide
    if cls is int and type(value) is float and value.is_integer():
        return int(value)
    raise expected(describe(Plain(cls)), value)


def _widened(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _chosen(value: Any, kind: Choice) -> Any:
    for said, meant in kind.values:
        if value == said and isinstance(value, bool) == isinstance(said, bool):
            return meant
    raise expected(describe(kind), value)


def _items(value: Any, kind: Array | Row, hint_at: Callable[[int], Hint]) -> list[Any]:
    if not is_list(value) or (isinstance(kind, Row) and len(value) != len(kind.of)):
        raise expected(describe(kind), value)
    made: list[Any] = []
    problems: list[Problem] = []
    for place, item in enumerate(value):
        _collect(item, hint_at(place), f"[{place}]", made.append, problems)
    if problems:
        raise MisfitError(*problems)
    return made


def _entries(value: Any, kind: Table) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise expected(describe(kind), value)
    made: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, item in cast("dict[str, Any]", value).items():
        _collect(item, kind.of, f".{name}", partial(made.__setitem__, name), problems)
    if problems:
        raise MisfitError(*problems)
    return made


def _collect(value: Any, hint: Hint, at: str, take: Callable[[Any], None], problems: list[Problem]) -> None:
    try:
        take(structure(value, hint))
    except MisfitError as misfit:
        problems += [(at + path, problem) for path, problem in misfit.problems]


def _record_hook(cls: type, converter: Converter) -> Hook:
    if is_typed_dict(cls):
        return lambda value, _: structure_fields(value, fields_of(cls))
    options: Any = {  # typed as overrides of fields only
        "_cattrs_forbid_extra_keys": True,
        "_cattrs_detailed_validation": True,
        "_cattrs_use_alias": True,
    }
    build = cast("Hook", make_dict_structure_fn(cast("type[Any]", cls), converter, **options))

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise expected("an object", cast("object", value))
        return build(cast("dict[str, Any]", value), cls)

    return hook


def _first_that_fits(value: Any, hints: tuple[Hint, ...]) -> Any:
    likely = [hint for hint in hints if _could_be(value, hint)]
    likely.sort(key=lambda hint: kind_of(hint) == Plain(float))  # behind int: a whole number stays one
    misfits: list[MisfitError] = []
    for hint in likely:
        try:
            return structure(value, hint)
        except MisfitError as misfit:
            misfits.append(misfit)
    if not misfits:
        raise expected(" or ".join(describe(kind_of(hint)) for hint in hints), value)
    raise min(misfits, key=lambda misfit: len(misfit.problems))  # the nearest says most


def _could_be(value: Any, hint: Hint) -> bool:
    kind = kind_of(hint)
    match kind:
        case Anything():
            return True
        case OneOf(of=inner):
            return any(_could_be(value, each) for each in inner)
        case Array() | Row():
            return isinstance(value, list)
        case Table() | Record():
            return isinstance(value, dict)
        case Plain() | Choice():
            try:
                structure(value, hint)
            except MisfitError:
                return False
            return True
        case _:
            assert_never(kind)


def _problems(exc: Exception) -> list[Problem]:
    """Put what cattrs raises into our words."""
    match exc:
        case MisfitError(problems=problems):
            return list(problems)
        case ClassValidationError(cl=cls):
            return _record_problems(exc, cls)
        case _:  # a class's own check refused what fits its hints
            return [("", f"{type(exc).__name__}: {exc}")]


def _record_problems(exc: ClassValidationError, cls: type) -> list[Problem]:
    fields = {field.attribute: field for field in fields_of(cls)}
    noted, others = exc.group_exceptions()
    found: list[Problem] = []
    for inner, note in noted:
        field = fields[note.name]
        if isinstance(inner, KeyError):
            found.append(missing(field))
        else:
            found += [(f".{field.name}{path}", problem) for path, problem in _problems(inner)]
    for other in others:
        if isinstance(other, ForbiddenExtraKeysError):
            known = [field.name for field in fields.values()]
            found += [unknown(name, known) for name in sorted(other.extra_fields)]
        else:
            found += _problems(other)
    return found


def _make_converter() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True, use_alias=True)
    converter.register_structure_hook_factory(lambda _: True, _hook_for)
    for cls in (str, int, float, bool, bytes):  # these, and enums that are one of them, never ask a factory
        converter.register_structure_hook(cls, lambda value, hint: _hook_for(hint, converter)(value, hint))
    return converter


_CONVERTER: Final = _make_converter()
