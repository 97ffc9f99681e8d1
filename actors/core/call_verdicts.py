"""What becomes of a call: is it run, does the client run it, must somebody allow it, or can nobody run it? No await."""

from typing import Literal, TypeAlias

import attrs

from turnwire.actors.core.misfits import MisfitError, say_misfit
from turnwire.actors.core.toolset import Tool, ToolSet, read_object
from turnwire.messages.particulars import Json

VerdictKind: TypeAlias = Literal["run", "client_tool", "approval", "refuse"]


@attrs.frozen(kw_only=True)
class Verdict:
    """What is to be done with a call. `why` says why it is refused, in words for the model."""

    kind: VerdictKind
    input: Json = None
    why: str = ""


def judge_call(tools: ToolSet, name: str, arguments: str) -> Verdict:
    """Say what is to be done with a call.

    Nobody is asked to allow, or to run, what does not fit. What runs here is checked when it is run.
    """
    tool = tools.get(name)
    if tool is None:
        return Verdict(kind="refuse", why=say_unknown(tools, name))
    try:
        given = read_object(arguments)
        if tool.runs_at == "client":
            tool.read(arguments)
            return Verdict(kind="client_tool", input=given)
        if not tool.asks_approval(given):
            return Verdict(kind="run", input=given)
        tool.read(arguments)
    except MisfitError as misfit:
        return Verdict(kind="refuse", why=say_misfit(name, misfit))
    return Verdict(kind="approval", input=given)


def say_unknown(tools: ToolSet, name: str) -> str:
    """Say that there is no such tool, and which there are."""
    there = f"the tools are: {', '.join(tool.name for tool in tools)}" if len(tools) else "there are no tools"
    return f"there is no tool named {name!r}; {there}"


def server_tool(tools: ToolSet, name: str) -> Tool | None:
    """Find a tool that runs here."""
    tool = tools.get(name)
    return None if tool is None or tool.runs_at == "client" else tool
