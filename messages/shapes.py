"""Nouns with snake_case attributes ⇄ JSON objects with camelCase names, strictly, one shape for each class.

msgspec checks the plain fields. It tells no union of attrs classes apart and knows no second names, so fields that
hold other nouns have a pair of functions of their own, and second names are written into the shape.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, cast

import attrs
from msgspec import UNSET

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.wire import camel, convert, json_name

Structure: TypeAlias = Callable[[Any, str, str | None], Any]
"""Takes (value, path, event): makes a noun of a JSON value, or raises InvalidEventError."""
Unstructure: TypeAlias = Callable[[Any], Any]
Nested: TypeAlias = tuple[Structure, Unstructure]

_T = TypeVar("_T")
_NAME = re.compile(r"\w+")


class Shape(Generic[_T]):
    """How one class stands on the wire."""

    __slots__ = ("_cls", "_fields", "_names", "_nested", "_plain", "_spelling", "_wants_value")

    def __init__(
        self,
        cls: type[_T],
        *,
        names: Mapping[str, str | tuple[str, ...]] | None = None,
        nested: Mapping[str, Nested] | None = None,
    ) -> None:
        """Derive a shape. `names` gives attributes other names than camelCase ones: the first is written."""
        self._cls = cls
        self._nested = dict(nested or {})
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", cls))
        spelled = {field.name: _as_tuple((names or {}).get(field.name, camel(field.name))) for field in fields}
        self._spelling = {attribute: words[0] for attribute, words in spelled.items()}
        self._names = {word: attribute for attribute, words in spelled.items() for word in words}
        # A null is an absent value, unless null is a value of its own there or something must be.
        self._wants_value = {f.name for f in fields if f.default not in (None, UNSET, attrs.NOTHING)}
        self._fields = tuple((f.name, self._spelling[f.name], f.default is None) for f in fields)
        self._plain = _without(cls, self._nested)

    def structure(self, document: object, path: str, event: str | None) -> _T:
        """Make the noun of an object; unknown fields are passed over. Raises InvalidEventError that says where."""
        if not isinstance(document, dict):
            raise InvalidEventError(f"expected an object, got {json_name(document)}", path=path, event=event)
        named: dict[str, Any] = {}
        spelling: dict[str, str] = {}
        for word, value in cast("dict[str, Any]", document).items():
            attribute = self._names.get(word)
            if attribute is None or (value is None and attribute in self._wants_value):
                continue
            if named.get(attribute) is None:
                named[attribute], spelling[attribute] = value, word
        nested = {
            name: structure(named.pop(name), f"{path}.{spelling[name]}", event)
            for name, (structure, _) in self._nested.items()
            if named.get(name) is not None
        }
        try:
            plain = convert(named, self._plain, path, event)
            if plain.__class__ is self._cls:
                return plain
            values = {name: getattr(plain, name) for name in _names_of(self._plain)}
            return self._cls(**values, **nested)
        except TypeError:  # what the nested fields need and was not there
            missing = next(name for name in self._nested if name not in nested and self._is_required(name))
            problem = f"expected a value, got {json_name(named[missing])}" if missing in named else "missing"
            raise InvalidEventError(problem, path=f"{path}.{self._spelling[missing]}", event=event) from None
        except InvalidEventError as exc:
            where = _spell(exc.path.removeprefix(f"{path}."), {**self._spelling, **spelling})
            at = f"{path}.{where}" if exc.path != path else path
            raise InvalidEventError(exc.problem, path=at, event=event) from None

    def unstructure(self, noun: _T) -> dict[str, Any]:
        """Give the noun as builtins under its wire names; what is absent is left out."""
        document: dict[str, Any] = {}
        for name, word, may_be_absent in self._fields:
            value = getattr(noun, name)
            if value is UNSET or (value is None and may_be_absent):
                continue
            if name in self._nested and value is not None:
                value = self._nested[name][1](value)
            document[word] = value
        return document

    def _is_required(self, name: str) -> bool:
        return any(field == name and default is attrs.NOTHING for field, default in _defaults_of(self._cls))

    @property
    def nested(self) -> Nested:
        """The pair of functions for a field that holds such a noun."""
        return self.structure, self.unstructure


def each(item: Nested) -> Nested:
    """Make the pair of functions for an array of such nouns, which is a tuple in Python."""
    structure, unstructure = item

    def structure_all(value: Any, path: str, event: str | None) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise InvalidEventError(f"expected an array, got {json_name(value)}", path=path, event=event)
        items = enumerate(cast("Iterable[Any]", value))
        return tuple(structure(inner, f"{path}[{number}]", event) for number, inner in items)

    return structure_all, lambda nouns: [unstructure(noun) for noun in nouns]


def tagged(tag: str, shapes: Mapping[str, Shape[Any]], tag_of: Callable[[Any], str]) -> Nested:
    """Make the pair of functions for nouns of several classes, told apart by the field `tag`."""

    def structure(value: Any, path: str, event: str | None) -> Any:
        if not isinstance(value, dict):
            raise InvalidEventError(f"expected an object, got {json_name(value)}", path=path, event=event)
        fields = cast("dict[str, Any]", value)
        word = fields.get(tag)
        shape = shapes.get(word) if isinstance(word, str) else None
        if shape is None:
            problem = f"{word!r} is none of {', '.join(shapes)}" if tag in fields else "missing"
            raise InvalidEventError(problem, path=f"{path}.{tag}", event=event)
        return shape.structure(fields, path, event)

    def unstructure(noun: Any) -> dict[str, Any]:
        word = tag_of(noun)
        return {tag: word, **shapes[word].unstructure(noun)}

    return structure, unstructure


def _as_tuple(words: str | tuple[str, ...]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def _names_of(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(cast("type[attrs.AttrsInstance]", cls)))


def _defaults_of(cls: type) -> tuple[tuple[str, object], ...]:
    fields = attrs.fields(cast("type[attrs.AttrsInstance]", cls))
    return tuple((field.name, cast("object", field.default)) for field in fields)


def _without(cls: type, nested: Mapping[str, object]) -> type[Any]:
    """Make a class with just the plain fields of this one, for msgspec to check."""
    if not nested:
        return cls
    fields: dict[str, Any] = {
        field.name: attrs.field(type=field.type, default=field.default)
        for field in attrs.fields(cast("type[attrs.AttrsInstance]", cls))
        if field.name not in nested
    }
    return attrs.make_class(cls.__name__, fields, frozen=True, kw_only=True, slots=True)


def _spell(path: str, spelling: Mapping[str, str]) -> str:
    found = _NAME.match(path)
    return path if found is None else spelling.get(found[0], found[0]) + path[found.end() :]
