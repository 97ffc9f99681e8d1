"""The JSON schema of each hint that tools may have, and that it says just what is accepted."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict, Union, cast

import attrs
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.actors.core.hints import Hint
from turnwire.actors.core.misfits import MisfitError
from turnwire.actors.core.tool_arguments import structure
from turnwire.actors.core.tool_schema import schema_of


class Colour(enum.StrEnum):
    """An enum of texts."""

    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    """An enum of this and that."""

    LOW = 1
    NAMED = "named"


class Place(TypedDict):
    """A TypedDict."""

    city: str
    country: NotRequired[Annotated[str, "two letters"]]


class Loose(TypedDict, total=False):
    """A TypedDict of which little is demanded."""

    a: Required[int]
    b: int


@attrs.frozen
class Point:
    """An attrs class; its first name is private in Python and not in JSON."""

    _x: int
    y: float = 2.5
    tags: list[str] = attrs.field(factory=list[str])
    kept: int = attrs.field(default=0, init=False)


@dataclasses.dataclass
class Trip:
    """A dataclass that holds others."""

    stops: list[Point]
    colour: Colour = Colour.RED
    place: Place | None = None
    notes: dict[str, str] = dataclasses.field(default_factory=dict[str, str])


@attrs.define
class Tree:
    """A class that holds itself."""

    value: int
    children: "list[Tree]" = attrs.field(factory=list["Tree"])
    left: "Tree | None" = None


UserId = NewType("UserId", str)
POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "y": {"type": "number", "default": 2.5},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["x"],
    "additionalProperties": False,
}
PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string", "description": "two letters"}},
    "required": ["city"],
    "additionalProperties": False,
}
NULL = {"type": "null"}
SCHEMAS: list[tuple[Hint, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, NULL),
    (Any, {}),
    (UserId, {"type": "string"}),
    (Optional[int], {"anyOf": [{"type": "integer"}, NULL]}),  # noqa: UP045 - the older way is a hint too
    (Union[str, bool], {"anyOf": [{"type": "string"}, {"type": "boolean"}]}),  # noqa: UP007 - as above
    (int | list[str], {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, "b", None, True], {"type": ["integer", "string", "null", "boolean"], "enum": [1, "b", None, True]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": ["integer", "string"], "enum": [1, "named"]}),
    (list, {"type": "array"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[bool], {"type": "array", "items": {"type": "boolean"}}),
    (tuple, {"type": "array"}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
    ),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (dict, {"type": "object"}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    (Mapping[str, Any], {"type": "object"}),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
    (list[Annotated[str, "a word"]], {"type": "array", "items": {"type": "string", "description": "a word"}}),
    (Place, PLACE),
    (
        Loose,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    ),
    (Point, POINT),
    (
        Trip,
        {
            "type": "object",
            "properties": {
                "stops": {"type": "array", "items": POINT},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "place": {"anyOf": [PLACE, NULL], "default": None},
                "notes": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["stops"],
            "additionalProperties": False,
        },
    ),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS, ids=[str(hint) for hint, _ in SCHEMAS])
def test_each_hint_has_its_schema(hint: Hint, schema: dict[str, Any]) -> None:
    """As it is told to a model, and a schema by the rules of JSON Schema itself."""
    assert schema_of(hint) == schema
    jsonschema_rs.Draft202012Validator(schema)


def test_a_class_that_holds_itself_is_written_once() -> None:
    """Under `$defs`, and referred to by name."""
    schema = schema_of(Tree)
    assert schema["$ref"] == "#/$defs/Tree"
    children = schema["$defs"]["Tree"]["properties"]["children"]
    assert children == {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    assert jsonschema_rs.is_valid(schema, {"value": 1, "children": [{"value": 2}], "left": {"value": 3}})
    assert not jsonschema_rs.is_valid(schema, {"value": 1, "children": [{"value": "2"}]})


class Opaque:
    """No JSON."""


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (bytes, r"^\$: bytes stands for no JSON; what does: str, int"),
        (set[int], r"^\$: set\[int\] stands"),
        (dict[int, str], r"^\$: dict\[int, str\] stands"),
        (list[tuple[int, Opaque]], r"^\$\[\]\[1\]: Opaque stands"),
        (Literal[b"x"], r"^\$: typing.Literal\[b'x'\] stands"),
        (enum.Enum("Odd", {"A": (1, 2)}), r"^\$: Odd stands"),
        (type, r"^\$: type stands"),
    ],
)
def test_a_hint_that_stands_for_no_json_is_refused_with_its_place(hint: Hint, said: str) -> None:
    """When the schema is made, long before a model calls anything."""
    with pytest.raises(TypeError, match=said):
        schema_of(hint)


PLAIN_HINTS = st.sampled_from(
    [str, int, float, bool, None, Any, Colour, Level, Literal["a", 1, True], Literal[1.5, None], Place, Point, Tree]
)
LIST, TUPLE, DICT, UNION, ANNOTATED = (
    cast("Any", each) for each in (list, tuple, dict, Union, Annotated)
)  # made at run time
HINTS: st.SearchStrategy[Hint] = st.recursive(
    PLAIN_HINTS,
    lambda inner: st.one_of(
        inner.map(lambda hint: LIST[hint]),
        inner.map(lambda hint: TUPLE[hint, ...]),
        st.lists(inner, min_size=1, max_size=3).map(lambda hints: TUPLE[tuple(hints)]),
        inner.map(lambda hint: DICT[str, hint]),
        st.lists(inner, min_size=2, max_size=3).map(lambda hints: UNION[tuple(hints)]),
        inner.map(lambda hint: ANNOTATED[hint, "words"]),
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(["x", "y", "tags", "city", "country", "value", "children", "left", "other"])
NUMBERS = st.integers(-3, 3) | st.floats(-3, 3, allow_nan=False, width=16)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from(["a", "red", "named", "5", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


def fitting(schema: dict[str, Any], root: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Make values that fit a schema of the kinds we write."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of([fitting(each, root, depth) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return st.text(max_size=5)
        case "integer":
            return st.integers() | st.integers(-9, 9).map(float)
        case "number":
            return st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array" if "maxItems" in schema:
            return st.tuples(*[fitting(each, root, depth) for each in schema.get("prefixItems", ())]).map(list)
        case "array":
            return st.lists(fitting(schema.get("items", {}), root, depth + 1), max_size=0 if depth > 2 else 2)
        case "object" if "properties" in schema:
            made = {
                name: fitting(each, root, depth + 1)
                for name, each in schema["properties"].items()
                if depth < 3 or name in schema.get("required", ())
            }
            needed = {name: made.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=made)
        case "object":
            return st.dictionaries(NAMES, fitting(schema.get("additionalProperties", {}), root, depth + 1), max_size=2)
        case _:
            return ANY_JSON


@given(st.data())
def test_what_fits_the_schema_is_accepted(data: st.DataObject) -> None:
    """A model that keeps to what it was told is never refused."""
    hint = data.draw(HINTS)
    schema = schema_of(hint)
    structure(data.draw(fitting(schema, schema)), hint)


def is_accepted(value: Any, hint: Hint) -> bool:
    try:
        structure(value, hint)
    except MisfitError:
        return False
    return True


SAMPLES: list[Any] = [
    None, True, False, 0, 1, 5.0, 5.5, -1, "", "5", "a", "b", "red", "named", [], [1], [1, "x"], [True], [None],
    {}, {"x": 1}, {"x": True}, {"x": 1, "z": 0}, {"city": "Oslo"}, {"city": None}, {"a": 1}, {"a": "1"}, {"stops": []},
    {"stops": [{"x": 1.0, "y": 2}]}, {"stops": [{"x": "1"}]}, {"stops": [], "colour": "green"}, {"stops": [], "place": None},
]  # fmt: skip


@pytest.mark.parametrize("hint", [hint for hint, _ in SCHEMAS], ids=str)
def test_each_hint_accepts_what_its_schema_does(hint: Hint) -> None:
    """Of many near misses an independent validator takes the same ones."""
    validator = jsonschema_rs.Draft202012Validator(schema_of(hint))
    differ = [value for value in SAMPLES if is_accepted(value, hint) != validator.is_valid(value)]
    assert differ == []


@given(HINTS, ANY_JSON)
def test_what_is_accepted_is_what_fits_the_schema(hint: Hint, value: Any) -> None:
    """For any JSON at all our reading and an independent validator agree."""
    assert is_accepted(value, hint) == jsonschema_rs.Draft202012Validator(schema_of(hint)).is_valid(value)
