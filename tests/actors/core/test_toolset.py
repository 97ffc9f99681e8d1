"""Tools as they are made: names, descriptions and schemas from functions, and sets of them."""

import functools
import logging
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest

from turnwire.actors.core.docstrings import read_docstring
from turnwire.actors.core.misfits import MisfitError
from turnwire.actors.core.tool_results import as_json, cut, result_text
from turnwire.actors.core.toolset import Tool, ToolSet, tool
from turnwire.messages.runs import ToolSpec


async def weather(city: str, days: Annotated[int, "one to ten"] = 1, *, exact: bool = False) -> str:
    """Say what the weather will be.

    It does not know the past.

    Args:
        city (str): its name in English,
            for example Oslo
        days: the hint says more
        exact: with decimals

    Returns:
        words: what it will be

    """
    return f"{city} {days} {exact}"


def test_a_function_tells_its_own_name_description_and_schema() -> None:
    """From its name, its docstring and its signature; a hint's own description goes before the docstring's."""
    made = Tool.of(weather)
    assert made.spec == ToolSpec(
        name="weather",
        description="Say what the weather will be.\n\nIt does not know the past.",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "its name in English, for example Oslo"},
                "days": {"type": "integer", "description": "one to ten", "default": 1},
                "exact": {"type": "boolean", "description": "with decimals", "default": False},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )
    assert (made.timeout, made.needs_approval, made.runs_at, made.is_async) == (30.0, False, "server", True)


def test_all_of_it_can_be_said_otherwise() -> None:
    """By the decorator as well as by `Tool.of`."""
    made = tool(name="forecast", description="Look ahead.", timeout=None, needs_approval=True, runs_at="client")(
        weather
    )
    assert (made.name, made.spec.description) == ("forecast", "Look ahead.")
    assert (made.timeout, made.needs_approval, made.runs_at) == (None, True, "client")


class Shop:
    """Things to buy."""

    def buy(self, thing: str) -> str:
        """Buy a thing."""
        return thing

    async def __call__(self, count: int) -> int:
        return count


def test_methods_instances_and_partials_are_functions_too() -> None:
    """What is bound already is nothing that a model gives."""
    assert list(Tool.of(Shop().buy).spec.parameters["properties"]) == ["thing"]
    called = Tool.of(Shop(), name="shop")
    assert (list(called.spec.parameters["properties"]), called.is_async) == (["count"], True)
    bound = Tool.of(functools.partial(weather, exact=True), name="exactly")
    assert (bound.spec.parameters["required"], bound.is_async) == (["city"], True)


def no_hint(city) -> None:  # type: ignore[no-untyped-def]  # that is the point
    """A function without a hint."""


def many(*cities: str) -> None:
    """A function that takes any number."""


def any_name(**cities: str) -> None:
    """A function that takes any name."""


def by_place(city: str, /) -> None:
    """A function that takes no names."""


def bad_hint(city: bytes) -> None:
    """A function that takes no JSON."""


def lost_hint(city: "Town") -> None:  # type: ignore[name-defined]  # noqa: F821 - that is the point
    """A function whose hint is nowhere."""


async def steps(city: str) -> AsyncIterator[str]:
    """A generator."""
    yield city


NO_TOOLS: list[tuple[Any, str]] = [
    (no_hint, "tool no_hint: parameter city has no type hint"),
    (many, r"tool many: \*cities: str cannot be given by name"),
    (any_name, r"tool any_name: \*\*cities: str cannot be given by name"),
    (by_place, "tool by_place: city: str cannot be given by name"),
    (bad_hint, r"tool bad_hint: \$\.city: bytes stands for no JSON"),
    (lost_hint, "tool lost_hint: a type hint of lost_hint names 'Town', which is not known there"),
    (steps, "tool steps: a generator is no tool"),
]


@pytest.mark.parametrize(("function", "said"), NO_TOOLS)
def test_a_function_that_can_be_no_tool_is_refused_when_it_is_made(function: Any, said: str) -> None:
    """With the tool, the parameter, and what is wrong with it."""
    with pytest.raises(TypeError, match=said):
        Tool.of(function)


def test_names_and_timeouts_that_no_provider_takes_are_refused() -> None:
    """A lambda has no name that a model could call."""
    with pytest.raises(ValueError, match="'<lambda>' is no name for a tool: expected 1 to 64"):
        Tool.of(lambda: None)
    with pytest.raises(ValueError, match="tool weather: the timeout must be more than 0 seconds, not 0"):
        Tool.of(weather, timeout=0)


def test_a_set_has_its_tools_in_order_and_names_once() -> None:
    """Models are told in that order; two of one name could not be told apart."""
    tools = ToolSet.of(weather, Tool.client("ask_user", "Ask.", {"type": "object"}))
    assert [each.name for each in tools] == ["weather", "ask_user"]
    assert (len(tools), tools.specs()) == (2, tuple(each.spec for each in tools))
    assert (tools.get("weather"), tools.get("nothing")) == (tools.tools[0], None)
    with pytest.raises(ValueError, match="two tools are called 'weather'"):
        ToolSet.of(weather, weather)


def test_a_client_adds_tools_and_replaces_none() -> None:
    """A client that announces a name of ours gets ours: it must not take over what runs here."""
    ours = ToolSet.of(weather)
    both = ours.with_client_tools(
        [ToolSpec(name="weather", description="false"), ToolSpec(name="ask"), ToolSpec(name="ask")]
    )
    assert [(each.name, each.runs_at) for each in both] == [("weather", "server"), ("ask", "client")]


def test_whether_a_call_needs_approval_may_depend_on_its_input(caplog: pytest.LogCaptureFixture) -> None:
    """A rule that breaks lets nothing through."""
    made = Tool.of(weather, needs_approval=lambda given: given["days"] > 5)
    assert (made.asks_approval({"days": 6}), made.asks_approval({"days": 1})) == (True, False)
    with caplog.at_level(logging.ERROR):
        assert made.asks_approval({})
    assert "tool weather: whether it needs approval could not be told" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "$.city: missing, expected a string"),
        ("{", "$: expected a JSON object, got text that is no JSON"),
        ("[]", "$: expected an object, got an array of 0"),
        ('{"city": "Oslo", "town": 1}', "$.town: unknown, expected city, days, exact"),
    ],
)
def test_arguments_can_be_judged_without_a_call(arguments: str, problem: str) -> None:
    """Before a user is asked to allow a call that could not run."""
    assert Tool.of(weather).read('{"city": "Oslo"}') == {"city": "Oslo"}
    with pytest.raises(MisfitError, match=re.escape(problem)):
        Tool.of(weather).read(arguments)


def test_a_tool_known_by_its_schema_alone_takes_any_object() -> None:
    """Its client checks the rest."""
    client = Tool.client("ask")
    assert client.read('{"a": 1}') == {"a": 1}
    with pytest.raises(MisfitError):
        client.read("1")


def test_docstrings_of_the_other_style_are_read() -> None:
    """Lines of `:param name:`, with or without a type."""
    about, each = read_docstring("Do it.\n\n:param str city: where\n    it is\n:param days: how many\n:return: words")
    assert (about, each) == ("Do it.", {"city": "where it is", "days": "how many"})
    assert read_docstring(None) == ("", {})
    assert read_docstring("Just: words.") == ("Just: words.", {})


def test_a_result_that_is_too_long_is_cut_with_a_note() -> None:
    """The model is told that there was more, and how much."""
    assert cut("x" * 10, 10) == "x" * 10
    assert result_text(["xx"] * 3, limit=6) == '["xx",\n[10 of 16 characters were left out]'


def test_what_is_no_json_is_named_with_its_place() -> None:
    """In a result as in arguments."""
    with pytest.raises(TypeError, match=r"^\$\.a\[1\]: object is no JSON$"):
        as_json({"a": [1, object()]})
    with pytest.raises(TypeError, match=r"^\$: a name in an object must be text, not tuple$"):
        as_json({(1, 2): 3})
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    with pytest.raises(TypeError, match="nested deeper than 200 levels"):
        as_json(round_and_round)
