"""What becomes of a call: is it run, does the client run it, must somebody allow it, or can nobody run it? No await."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.events import FinalFunctionCall, Json
from turnwire.messages.json_text import parse_json
from turnwire.messages.providers.json_shapes import is_object

VerdictKind: TypeAlias = Literal["run", "client_tool", "approval", "refuse"]


@attrs.frozen(kw_only=True)
class Verdict:
    """What is to be done with a call. `why` says why it is refused, in words for the model."""

    kind: VerdictKind
    input: Json = None
    why: str = ""


@attrs.frozen(kw_only=True)
class ServerTool:
    """What the verdict on a call of a server's tool depends on."""

    needs_approval: Callable[[Json], bool] = lambda _input: False
    """Must somebody allow a call with this input?"""
    find_problem: Callable[[str], str | None] = lambda _arguments: None
    """Say what is wrong with these arguments, before anybody is asked to allow a call that cannot run."""


@attrs.frozen(kw_only=True)
class ToolDirectory:
    """Which tools there are. A name that both sides use is the server's: a client cannot take a tool over."""

    server: Mapping[str, ServerTool] = attrs.field(factory=dict[str, ServerTool])
    client: frozenset[str] = frozenset()

    def judge(self, call: FinalFunctionCall) -> Verdict:
        """Say what is to be done with a call."""
        tool = self.server.get(call.name)
        if tool is None and call.name not in self.client:
            return Verdict(kind="refuse", why=self.say_unknown(call.name))
        try:
            given: Json = parse_json(call.arguments or "{}")
        except ValueError as exc:
            given, problem = None, f"they are no JSON: {exc}"
        else:
            problem = "" if is_object(given) else f"expected a JSON object, got {call.arguments}"
        if problem:
            return Verdict(kind="refuse", why=f"The arguments of {call.name} do not fit: {problem}.")
        if tool is None:
            return Verdict(kind="client_tool", input=given)
        if not tool.needs_approval(given):
            return Verdict(kind="run", input=given)
        why = tool.find_problem(call.arguments or "{}")
        return Verdict(kind="approval", input=given) if why is None else Verdict(kind="refuse", why=why)

    def say_unknown(self, name: str) -> str:
        """Say that there is no such tool, and which there are."""
        known = sorted({*self.server, *self.client})
        there = f"The tools are: {', '.join(known)}." if known else "There are no tools."
        return f"There is no tool named {name!r}. {there}"
