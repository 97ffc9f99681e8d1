"""The two AG-UI events that come all the time, from their bytes by the shortest road.

Fields that we do not know, and whatever else this road refuses, are left to the general one (codec.py).
"""

from collections.abc import Callable

import msgspec

from turnwire.messages.agui.events import TextMessageContent, ToolCallArgs
from turnwire.messages.particulars import Id


class _Text(
    msgspec.Struct,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="type",
    tag="TEXT_MESSAGE_CONTENT",
):
    message_id: Id
    delta: str
    timestamp: int | float | None = None
    content: str | None = None


class _Args(
    msgspec.Struct,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="type",
    tag="TOOL_CALL_ARGS",
):
    tool_call_id: Id
    delta: str
    timestamp: int | float | None = None


_decode: Callable[[bytes | str], _Text | _Args] = msgspec.json.Decoder(_Text | _Args).decode


def try_decode_agui_delta(data: bytes | str) -> TextMessageContent | ToolCallArgs | None:
    """Decode a TEXT_MESSAGE_CONTENT or a TOOL_CALL_ARGS; None if this is another event, or no event at all."""
    try:
        wire = _decode(data)
    except (ValueError, RecursionError):
        return None  # the general road finds out what is wrong, or that nothing is
    if isinstance(wire, _Text):
        return TextMessageContent(
            message_id=wire.message_id, delta=wire.delta, timestamp=wire.timestamp, content=wire.content
        )
    return ToolCallArgs(tool_call_id=wire.tool_call_id, delta=wire.delta, timestamp=wire.timestamp)
