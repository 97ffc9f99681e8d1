"""Tool calls whose output has not come yet, found by call id or by item id. No clock, no await.

Two open calls may share one call id (some hosts number calls per message): outputs go to them in the order of the
calls.
"""

from collections import deque

import attrs

from turnwire.messages.outputs import JsonObject


@attrs.frozen(kw_only=True)
class OpenCall:
    """A finished function call that waits for its output."""

    item_id: str
    name: str
    arguments: JsonObject
    call_id: str
    content: str  # the raw text, when it was no JSON object


class ToolCalls:
    """The open calls of one turn."""

    __slots__ = ("_by_call_id", "_by_item_id", "_call_of_output")

    def __init__(self) -> None:
        self._by_item_id: dict[str, OpenCall] = {}
        self._by_call_id: dict[str, deque[str]] = {}
        self._call_of_output: dict[str, str] = {}

    def is_open(self, item_id: str) -> bool:
        """Tell whether this item is a call that waits for its output."""
        return item_id in self._by_item_id

    def knows(self, item_id: str) -> bool:
        """Tell whether this id is in use, by an open call or by an output that has begun."""
        return item_id in self._by_item_id or item_id in self._call_of_output

    def open(self, call: OpenCall) -> None:
        """Remember a call until its output, its error or its end."""
        self._by_item_id[call.item_id] = call
        self._by_call_id.setdefault(call.call_id, deque()).append(call.item_id)

    def expect_output(self, output_item_id: str, call_id: str) -> None:
        """Remember which call an output item said it belongs to: its error is that call's error."""
        self._call_of_output[output_item_id] = call_id

    def close_by_call_id(self, call_id: str) -> OpenCall | None:
        """Forget and give the oldest open call of this call id."""
        waiting = self._by_call_id.get(call_id)
        return self.close_by_item_id(waiting[0]) if waiting else None

    def close_by_item_id(self, item_id: str) -> OpenCall | None:
        """Forget and give the open call that is this item."""
        call = self._by_item_id.pop(item_id, None)
        if call is not None:
            waiting = self._by_call_id[call.call_id]
            waiting.remove(item_id)
            if not waiting:
                del self._by_call_id[call.call_id]
        return call

    def close_by_output(self, output_item_id: str) -> OpenCall | None:
        """Forget and give the open call that this output item belongs to, as its item_start said."""
        call_id = self._call_of_output.pop(output_item_id, None)
        return None if call_id is None else self.close_by_call_id(call_id)
