"""Words for what does not fit: where in the JSON, what was expected, and what came. For the model that sent it."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from turnwire.actors.core.hints import Array, Choice, Field, Kind, OneOf, Plain, Record, Row, Table, kind_of
from turnwire.messages.errors import TurnwireError
from turnwire.messages.json_shapes import is_list
from turnwire.messages.json_text import dump_json
from turnwire.messages.wire import json_name

Problem: TypeAlias = tuple[str, str]
"""Where (a path without its `$`) and what."""

_SHOWN = 60  # characters of a wrong value that are repeated: enough to find it again
_WORDS: Final[dict[type, str]] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


class MisfitError(TurnwireError):
    """A JSON value is not what a hint asks for. For the model that sent it; each problem says where and what."""

    def __init__(self, *problems: Problem):
        self.problems = problems
        super().__init__("; ".join(f"${path}: {problem}" for path, problem in problems))


def say_misfit(tool: str, misfit: MisfitError) -> str:
    """Say to the model that a call of this tool cannot be taken, and why."""
    return f"the arguments of {tool} do not fit: {misfit}"


def describe(kind: Kind) -> str:
    """Say what a kind of JSON is, as an error does."""
    match kind:
        case Plain(type=cls):
            return _WORDS[cls]
        case Choice(values=values):
            said = ", ".join(dump_json(value).decode() for value, _ in values)
            return f"one of {said}" if len(values) > 1 else said
        case Row(of=inner):
            return f"an array of {len(inner)}"
        case Array():
            return "an array"
        case Table() | Record():
            return "an object"
        case OneOf(of=inner):
            return " or ".join(describe(kind_of(each)) for each in inner)
        case _:
            return "any value"


def expected(what: str, value: object) -> MisfitError:
    """Say that a value is something else than was expected."""
    got = json_name(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        shown = dump_json(value).decode()
        got += f" ({shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'})"
    elif is_list(value):
        got += f" of {len(value)}"
    return MisfitError(("", f"expected {what}, got {got}"))


def missing(field: Field) -> Problem:
    """Say that a field is not there, and what it would be."""
    return f".{field.name}", f"missing, expected {describe(kind_of(field.hint))}"


def unknown(name: str, known: Iterable[str]) -> Problem:
    """Say that a name is none of the known ones."""
    return f".{name}", f"unknown, expected {', '.join(known) or 'nothing'}"
