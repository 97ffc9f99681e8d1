"""What a tool call of a turn says in plain text: for every dialect that has no place for more."""

from typing import Final

from turnwire.messages.json_text import dump_json
from turnwire.messages.outputs import ToolCall

UNKNOWN_TOOL: Final = "unknown"
"""The name of a tool whose call failed before its name was known; clients want one."""


def arguments_of(call: ToolCall) -> str:
    """Give the arguments of a call as text: as the model wrote them, where they were no JSON object."""
    if not call.tool_arguments and call.content:
        return call.content
    return dump_json(call.tool_arguments).decode()


def output_of(call: ToolCall) -> str:
    """Give what a tool said, as text."""
    output = call.tool_output
    if output is None or isinstance(output, str):
        return output or ""
    return dump_json(output).decode()


def error_of(call: ToolCall) -> str | None:
    """Give why a call or its tool failed; None if it did not."""
    if call.status == "error":
        return call.error_message or call.error_code or "the call failed"
    return output_of(call) or "the tool failed" if call.success is False else None
