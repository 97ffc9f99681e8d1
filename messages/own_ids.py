"""Calls that we had to name anew, because their provider uses its ids again, under the names that it gave them.

Some hosts number their calls anew in each reply ("call_0" every time). In a conversation a call's id names one call,
so later ones get another name; what the provider called it is kept with the call, in its provider data. A provider is
told its own names: what it has sealed may speak of them.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from turnwire.messages.json_shapes import is_object, text_at
from turnwire.messages.particulars import Json
from turnwire.messages.ui import Part, ToolCallPart, ToolResultPart, UIMessage

OWN_CALL_ID: Final = "ownCallId"
"""The key under which a call's provider data has the id that its provider gave it."""


def keep_own_id(data: Json, own_id: str) -> Json:
    """Put the provider's own id of a call into its provider data.

    >>> keep_own_id({"format": "f"}, "call_0")
    {'format': 'f', 'ownCallId': 'call_0'}
    """
    return {**(data if is_object(data) else {}), OWN_CALL_ID: own_id}


def with_own_ids(messages: Iterable[UIMessage]) -> tuple[UIMessage, ...]:
    """Give a conversation as its provider knows it: each call, and its result, under the provider's own id."""
    return tuple(_with_own_ids(message) for message in messages)


def _with_own_ids(message: UIMessage) -> UIMessage:
    own = _own_ids(message)
    if not own:
        return message

    def named(part: Part) -> Part:
        if isinstance(part, ToolCallPart) and part.id in own:
            data = {key: value for key, value in (part.provider_data or {}).items() if key != OWN_CALL_ID}
            return attrs.evolve(part, id=own[part.id], provider_data=data or None)
        if isinstance(part, ToolResultPart) and part.tool_call_id in own:
            return attrs.evolve(part, tool_call_id=own[part.tool_call_id])
        return part

    return attrs.evolve(message, parts=tuple(map(named, message.parts)))


def _own_ids(message: UIMessage) -> dict[str, str]:
    """Find the calls of a message that have another name at their provider.

    Two calls that wait at the same time cannot share a name: there the later one keeps ours.
    """
    own: dict[str, str] = {}
    waiting: dict[str, str] = {}
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            name = text_at(part.provider_data or {}, OWN_CALL_ID)
            if name and name not in waiting.values():
                own[part.id] = name
            waiting[part.id] = own.get(part.id, part.id)
        elif isinstance(part, ToolResultPart):
            waiting.pop(part.tool_call_id, None)
    return own
