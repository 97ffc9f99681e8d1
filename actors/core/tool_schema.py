"""The JSON schema of a type hint, as a model is told what a tool takes.

A class is written where it is used, and takes no other names than its own. Only one that holds itself is written once,
under `$defs`, and referred to.
"""

import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias, assert_never

from msgspec import UNSET

from turnwire.actors.core.hints import (
    Anything,
    Array,
    Choice,
    Field,
    Hint,
    Kind,
    OneOf,
    Plain,
    Record,
    Row,
    Table,
    fields_of,
    kind_of,
    strip,
)
from turnwire.messages.particulars import Json

Schema: TypeAlias = dict[str, Json]

_NAMES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def schema_of(hint: Hint) -> Schema:
    """Give the JSON schema of a hint. Raises TypeError, with a path, for one that stands for no JSON.

    >>> schema_of(list[int])
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    writer = _Writer()
    return writer.whole(writer.write(hint, "$"))


def object_schema(fields: Iterable[Field], descriptions: Mapping[str, str]) -> Schema:
    """Give the schema of an object with these fields; `descriptions` are for those that have none in their hints."""
    writer = _Writer()
    return writer.whole(writer.write_object(fields, "$", descriptions))


class _Writer:
    def __init__(self) -> None:
        self._open: list[type] = []
        self._names: dict[type, str] = {}
        """The classes that hold themselves."""
        self._definitions: dict[str, Schema] = {}

    def whole(self, schema: Schema) -> Schema:
        return {**schema, "$defs": self._definitions} if self._definitions else schema

    def write(self, hint: Hint, path: str) -> Schema:
        bare, description = strip(hint)
        try:
            kind = kind_of(bare)
        except TypeError as exc:
            raise TypeError(f"{path}: {exc}") from None
        schema = self._write_kind(kind, path)
        return {**schema, "description": description} if description else schema

    def _write_kind(self, kind: Kind, path: str) -> Schema:
        match kind:
            case Plain(type=cls):
                return {"type": _NAMES[cls]}
            case Anything():
                return {}
            case Choice(values=values):
                said = [value for value, _ in values]
                names = list(dict.fromkeys(_NAMES[type(value)] for value in said))
                return {"type": names[0] if len(names) == 1 else names, "enum": said}
            case Array(of=inner):
                items = self.write(inner, f"{path}[]")
                return {"type": "array", "items": items} if items else {"type": "array"}
            case Row(of=inner):
                each_place = [self.write(each, f"{path}[{place}]") for place, each in enumerate(inner)]
                places = {"prefixItems": each_place} if each_place else {}
                return {"type": "array", **places, "minItems": len(inner), "maxItems": len(inner)}
            case Table(of=inner):
                named = self.write(inner, f"{path}.*")
                return {"type": "object", "additionalProperties": named} if named else {"type": "object"}
            case Record(cls=cls):
                return self._write_record(cls, path)
            case OneOf(of=inner):
                return {"anyOf": [self.write(each, path) for each in inner]}
            case _:
                assert_never(kind)

    def _write_record(self, cls: type, path: str) -> Schema:
        if cls in self._open:
            return {"$ref": f"#/$defs/{self._name(cls)}"}
        self._open.append(cls)
        schema = self.write_object(fields_of(cls), path, {})
        self._open.pop()
        if cls not in self._names:
            return schema
        self._definitions[self._names[cls]] = schema
        return {"$ref": f"#/$defs/{self._names[cls]}"}

    def _name(self, cls: type) -> str:
        if cls not in self._names:
            taken = set(self._names.values())
            number = 1
            while (name := cls.__name__ if number == 1 else f"{cls.__name__}{number}") in taken:
                number += 1
            self._names[cls] = name
        return self._names[cls]

    def write_object(self, fields: Iterable[Field], path: str, descriptions: Mapping[str, str]) -> Schema:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for field in fields:
            schema = self.write(field.hint, f"{path}.{field.name}")
            if field.name in descriptions and "description" not in schema:
                schema = {**schema, "description": descriptions[field.name]}
            properties[field.name] = {**schema, **_default(field)}
            if field.required:
                required.append(field.name)
        needed = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _default(field: Field) -> Schema:
    """Tell a default that is plain; whatever else it is, the field is just not required."""
    value: Any = field.default
    if isinstance(value, Enum):
        value = value.value
    if value is UNSET or type(value) not in _NAMES or (isinstance(value, float) and not math.isfinite(value)):
        return {}
    return {"default": value}
