"""Tools: plain functions with type hints and a docstring, told to a model by name, description and schema.

    @tool(timeout=5.0)
    async def weather(city: Annotated[str, "its name in English"], days: int = 1) -> Forecast:
        "Say what the weather will be."

What a tool takes is read from its signature when it is made, so a hint without a JSON schema is refused there. Running
one is `actors/tool_call.py`.
"""

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from turnwire.actors.core.docstrings import read_docstring
from turnwire.actors.core.hints import Field, hints_of
from turnwire.actors.core.misfits import MisfitError
from turnwire.actors.core.tool_arguments import structure_fields
from turnwire.actors.core.tool_schema import Schema, object_schema
from turnwire.messages.json_text import parse_json
from turnwire.messages.particulars import Json
from turnwire.messages.runs import ToolSpec

ToolFunction: TypeAlias = Callable[..., Any]
RunsAt: TypeAlias = Literal["server", "client"]
NeedsApproval: TypeAlias = bool | Callable[[Mapping[str, Json]], bool]

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds that a tool may take: a user watches, and a model waits with all its context."""

_NAME: Final = re.compile(r"^[A-Za-z0-9_-]{1,64}$")  # what all three providers take
_log = logging.getLogger("turnwire.tool")


@attrs.frozen(kw_only=True, eq=False)
class Tool:
    """Something that a model can ask for."""

    spec: ToolSpec
    function: ToolFunction | None = attrs.field(default=None, repr=False)
    """What is called; None for a tool that only the client has."""
    fields: tuple[Field, ...] | None = attrs.field(default=None, repr=False)
    """What the function takes, by name; None if only a schema is known."""
    timeout: float | None = DEFAULT_TIMEOUT
    """Seconds; None for a tool that ends by itself."""
    needs_approval: NeedsApproval = False
    runs_at: RunsAt = "server"

    @staticmethod
    def of(
        function: ToolFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        needs_approval: NeedsApproval = False,
        runs_at: RunsAt = "server",
    ) -> "Tool":
        """Make a tool of a function, async or not. Raises TypeError if a parameter has no hint that JSON knows."""
        called = name or str(getattr(function, "__name__", type(function).__name__))
        about, about_each = read_docstring(inspect.getdoc(function))
        try:
            fields = _fields_of(function)
            parameters = object_schema(fields, about_each)
        except TypeError as exc:
            raise TypeError(f"tool {called}: {exc}") from exc
        return Tool(
            spec=_spec(called, about if description is None else description, parameters),
            function=function,
            fields=fields,
            timeout=_checked_timeout(called, timeout),
            needs_approval=needs_approval,
            runs_at=runs_at,
        )

    @staticmethod
    def client(name: str, description: str = "", parameters: Mapping[str, Json] | None = None) -> "Tool":
        """Make a tool that the client runs, known by a JSON schema alone."""
        return Tool(spec=_spec(name, description, parameters), runs_at="client")

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.spec.name

    @property
    def is_async(self) -> bool:
        """Whether its function is awaited; one that is not runs in a thread."""
        function = self.function
        return function is not None and inspect.iscoroutinefunction(_hinted(function))

    def read(self, arguments: str) -> dict[str, Any]:
        """Make of the arguments' text what the function takes, by name. Raises MisfitError that says what is wrong."""
        document = read_object(arguments)
        return document if self.fields is None else structure_fields(document, self.fields)

    def asks_approval(self, arguments: Mapping[str, Json]) -> bool:
        """Tell whether a user must agree to this call. If that cannot be told, one must."""
        if isinstance(self.needs_approval, bool):
            return self.needs_approval
        try:
            return bool(self.needs_approval(arguments))
        except Exception:  # noqa: BLE001 - a rule that breaks must not let a call through
            _log.exception("tool %s: whether it needs approval could not be told, so it does", self.name)
            return True


def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = DEFAULT_TIMEOUT,
    needs_approval: NeedsApproval = False,
    runs_at: RunsAt = "server",
) -> Callable[[ToolFunction], Tool]:
    """Make a decorator that makes a tool of a function: see `Tool.of`."""

    def decorate(function: ToolFunction) -> Tool:
        return Tool.of(
            function,
            name=name,
            description=description,
            timeout=timeout,
            needs_approval=needs_approval,
            runs_at=runs_at,
        )

    return decorate


@attrs.frozen
class ToolSet:
    """Tools in the order in which a model is told them. Names are used once."""

    tools: tuple[Tool, ...] = ()

    def __attrs_post_init__(self) -> None:
        seen: set[str] = set()
        for each in self.tools:
            if each.name in seen:
                raise ValueError(f"two tools are called {each.name!r}")
            seen.add(each.name)

    @staticmethod
    def of(*tools: Tool | ToolFunction) -> "ToolSet":
        """Make a set of tools and of functions that become tools with the defaults."""
        return ToolSet(tuple(each if isinstance(each, Tool) else Tool.of(each) for each in tools))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def get(self, name: str) -> Tool | None:
        """Find a tool by its name."""
        return next((each for each in self.tools if each.name == name), None)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Give what a model is told."""
        return tuple(each.spec for each in self.tools)

    def with_client_tools(self, specs: Iterable[ToolSpec]) -> "ToolSet":
        """Add tools that a client has announced. Where we have one of that name ours stands: a client replaces none."""
        added = {spec.name: Tool.client(spec.name, spec.description, spec.parameters) for spec in specs}
        return ToolSet((*self.tools, *(each for name, each in added.items() if self.get(name) is None)))


Tools: TypeAlias = ToolSet | Iterable[Tool | ToolFunction]
"""What an engine takes as its tools: a set of them, or tools and plain functions."""


def read_object(arguments: str) -> dict[str, Any]:
    """Read the text of a call's arguments; no text is an empty object. Raises MisfitError if it is no JSON object."""
    try:
        document: object = parse_json(arguments) if arguments.strip() else {}
    except ValueError as exc:
        raise MisfitError(("", f"expected a JSON object, got text that is no JSON ({exc})")) from None
    if not isinstance(document, dict):
        structure_fields(document, ())  # raises, with the words for it
    return cast("dict[str, Any]", document)


def _fields_of(function: ToolFunction) -> tuple[Field, ...]:
    hinted = _hinted(function)
    if inspect.isgeneratorfunction(hinted) or inspect.isasyncgenfunction(hinted):
        raise TypeError("a generator is no tool: what a tool returns is one value")
    hints = hints_of(hinted)
    fields: list[Field] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{parameter} cannot be given by name, as a model gives what a tool takes")
        if parameter.name not in hints:
            raise TypeError(f"parameter {parameter.name} has no type hint")
        required = parameter.default is parameter.empty
        default = {} if required else {"default": parameter.default}
        name = parameter.name
        fields.append(Field(name=name, attribute=name, hint=hints[name], required=required, **default))
    return tuple(fields)


def _hinted(function: ToolFunction) -> ToolFunction:
    """Find where the hints of a callable stand: a partial's on its function, an instance's on its `__call__`."""
    while hasattr(function, "func") and hasattr(function, "keywords"):
        function = cast("Any", function).func
    return function if inspect.isroutine(function) else type(function).__call__


def _spec(name: str, description: str, parameters: Mapping[str, Json] | Schema | None) -> ToolSpec:
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is no name for a tool: expected 1 to 64 letters, digits, _ or -")
    if parameters is None:
        return ToolSpec(name=name, description=description)
    return ToolSpec(name=name, description=description, parameters=parameters)


def _checked_timeout(name: str, timeout: float | None) -> float | None:
    if timeout is not None and not timeout > 0:
        raise ValueError(f"tool {name}: the timeout must be more than 0 seconds, not {timeout}")
    return timeout
