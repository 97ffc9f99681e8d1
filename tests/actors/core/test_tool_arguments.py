"""Arguments as a model sends them, made into what a tool's hints say: strictly, each misfit with its place."""

import dataclasses
import enum
from typing import Any, Literal, TypedDict

import attrs
import pytest

from turnwire.actors.core.hints import Hint
from turnwire.actors.core.misfits import MisfitError
from turnwire.actors.core.tool_arguments import structure


class Colour(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


class Place(TypedDict, total=False):
    """A TypedDict."""

    city: str


@attrs.frozen
class Point:
    """An attrs class with a private name."""

    _x: int
    y: float = 0.5


@dataclasses.dataclass
class Trip:
    """A dataclass that holds others."""

    stops: list[Point]
    places: dict[str, Place] = dataclasses.field(default_factory=dict[str, Place])


@attrs.frozen
class Even:
    """A class with a rule of its own."""

    number: int

    def __attrs_post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(f"{self.number} is odd")


@attrs.frozen
class Cat:
    """One kind of animal."""

    kind: Literal["cat"]
    lives: int


@attrs.frozen
class Dog:
    """Another kind."""

    kind: Literal["dog"]
    name: str


@pytest.mark.parametrize(
    ("value", "hint", "made"),
    [
        ("x", str, "x"),
        (5.0, int, 5),
        (5, float, 5.0),
        (5, float | int, 5),
        (None, int | None, None),
        ("red", Colour, Colour.RED),
        (1.0, Literal[1], 1),
        ([1, "a"], tuple[int, str], (1, "a")),
        ([1, 2], tuple[int, ...], (1, 2)),
        ({"a": [1]}, dict[str, list[int]], {"a": [1]}),
        ({"x": 1}, Point, Point(1)),
        ({"stops": [{"x": 1, "y": 2}]}, Trip, Trip([Point(1, 2.0)])),
        ({"places": {"here": {}}, "stops": []}, Trip, Trip([], {"here": Place()})),
        ({"kind": "dog", "name": "Rex"}, Cat | Dog, Dog("dog", "Rex")),
        ({"anything": [None]}, Any, {"anything": [None]}),
    ],
)
def test_what_fits_becomes_what_the_hint_says(value: Any, hint: Hint, made: Any) -> None:
    """Classes and enums are made, numbers have the type that was asked for."""
    result = structure(value, hint)
    assert (result, type(result)) == (made, type(made))


@pytest.mark.parametrize(
    ("value", "hint", "said"),
    [
        ("5", int, '$: expected an integer, got a string ("5")'),
        (True, int, "$: expected an integer, got a boolean"),
        (1, bool, "$: expected a boolean, got a number (1)"),
        (5.5, int, "$: expected an integer, got a number (5.5)"),
        (10**400, float, f"$: expected a number, got a number ({'1' + '0' * 59}…)"),
        (None, str, "$: expected a string, got null"),
        (5, str, "$: expected a string, got a number (5)"),
        ("abc", list[str], '$: expected an array, got a string ("abc")'),
        ({}, list[str], "$: expected an array, got an object"),
        ([["a", 1]], dict[str, int], "$: expected an object, got an array of 1"),
        ("x" * 100, int, f'$: expected an integer, got a string ("{"x" * 59}…)'),
        ("green", Colour, '$: expected one of "red", "blue", got a string ("green")'),
        (1, Literal[True], "$: expected true, got a number (1)"),
        ([1], tuple[int, str], "$: expected an array of 2, got an array of 1"),
        ([1, 2], tuple[int, str], "$[1]: expected a string, got a number (2)"),
        ({"y": "n", "z": 1}, Point, '$.x: missing, expected an integer; $.y: expected a number, got a string ("n"); '
         "$.z: unknown, expected x, y"),
        ({"_x": 1}, Point, "$.x: missing, expected an integer; $._x: unknown, expected x, y"),
        ("s", Point, '$: expected an object, got a string ("s")'),
        ({"stops": [{"x": 1}, {"x": None}], "places": {"here": {"town": "Oslo"}}}, Trip,
         "$.stops[1].x: expected an integer, got null; $.places.here.town: unknown, expected city"),
        ("x", int | None, '$: expected an integer or null, got a string ("x")'),
        ({"y": 1}, Point | None, "$.x: missing, expected an integer"),
        ({"kind": "cow", "lives": 9}, Cat | Dog, '$.kind: expected "cat", got a string ("cow")'),
        ({"number": 3}, Even, "$: ValueError: 3 is odd"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_place(value: Any, hint: Hint, said: str) -> None:
    """Nothing is coerced; the words say what came and what was expected, so that a model can mend it."""
    with pytest.raises(MisfitError) as caught:
        structure(value, hint)
    assert str(caught.value) == said
