"""The body of a request, in each provider's own words: conversation, instructions, tools, settings. No I/O."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.events import Json
from turnwire.messages.model_messages import Unsendable, make_request
from turnwire.messages.runs import ToolSpec

ANTHROPIC_MAX_TOKENS: Final = 4096
"""Anthropic demands a bound; this one is taken by every model it has. Set `max_tokens` for longer answers."""

_DEFAULTS: Final[Mapping[str, Mapping[str, Json]]] = {"anthropic-messages": {"max_tokens": ANTHROPIC_MAX_TOKENS}}


def request_body(
    data_format: str, model_id: str, call: ModelCall, settings: Mapping[str, Json], unsendable: Unsendable
) -> dict[str, Any]:
    """Give the body of one request. The call's settings go over the model's, what the call itself says over both.

    Tools in the settings are the provider's own (web search, ...); they stand before ours. Raises UnsendableError if
    the provider has no place for something in the conversation.
    """
    body = {**_DEFAULTS.get(data_format, {}), **settings, **call.settings, "model": model_id}
    body |= _told(data_format, call, unsendable)
    tools = [*body.get("tools", ()), *map(_TOOLS[data_format], call.tools)]
    return {**body, "tools": tools} if tools else body


def _told(data_format: str, call: ModelCall, unsendable: Unsendable) -> dict[str, Any]:
    """Give the conversation, with the instructions where the provider looks for them."""
    told = make_request(data_format, call.messages, unsendable=unsendable)
    if not call.instructions:
        return told
    match data_format:
        case "openai-responses":
            return {"instructions": call.instructions, **told}
        case "anthropic-messages":
            return {**told, "system": [{"type": "text", "text": call.instructions}, *told.get("system", ())]}
        case _:
            return {**told, "messages": [{"role": "system", "content": call.instructions}, *told["messages"]]}


def _responses_tool(tool: ToolSpec) -> dict[str, Any]:
    # Not strict, and said so: the API's own choice would be to demand every optional parameter.
    fields = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **fields, "strict": False}


def _chat_tool(tool: ToolSpec) -> dict[str, Any]:
    fields = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": fields}


def _anthropic_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


_TOOLS: Final[Mapping[str, Callable[[ToolSpec], dict[str, Any]]]] = {
    "openai-responses": _responses_tool,
    "openai-chat": _chat_tool,
    "anthropic-messages": _anthropic_tool,
}


def known_formats() -> Iterable[str]:
    """Give the names of the formats for which there are requests."""
    return _TOOLS.keys()
