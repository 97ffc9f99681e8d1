"""The outputs of a turn as the older `item_upsert` objects, for readers that still expect them. One for one.

An object says three things in words of its own: `payloadType` (repeated as `type`), and for items `changeType` and
`itemType`. All else is the output's own, under its own wire names. A call and its output are two item types under one
`itemId`, and both are `completed`: the older readers knew no call that is still going on.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, assert_never

from turnwire.messages.output_codec import unstructure_output
from turnwire.messages.outputs import (
    Content,
    ContentStatus,
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnStarted,
)

ChangeType: TypeAlias = Literal["created", "updated", "completed"]
ItemType: TypeAlias = Literal["message", "reasoning", "tool_call", "tool_output", "error"]

CHANGES: Final[Mapping[ContentStatus, ChangeType]] = {
    "create": "created",
    "update": "updated",
    "complete": "completed",
    "error": "completed",
}
TURN_EVENTS: Final = {TurnStarted: "turn_started", TurnComplete: "turn_completed", TurnError: "turn_error"}


def outputs_to_upsert(outputs: Iterable[Output]) -> list[dict[str, Any]]:
    """Convert the outputs of a turn, as far as they go."""
    converter = OutputsToUpsert()
    return [upsert for output in outputs for upsert in converter.push(output)]


class OutputsToUpsert:
    """Converts one turn for one reader. Keeps nothing: every object says all there is to say of its item."""

    __slots__ = ()

    def push(self, output: Output) -> list[dict[str, Any]]:
        """Take the next output; gives the one object that it is."""
        wire = unstructure_output(output)
        del wire["type"]
        match output:
            case TurnStarted() | TurnComplete() | TurnError():
                name = TURN_EVENTS[type(output)]
                return [{"type": name, "payloadType": name, **wire}]
            case Message() | Thinking() | ToolCall():
                item_type = _item_type(output)
                change = "completed" if isinstance(output, ToolCall) else CHANGES[output.status]
                del wire["status"]
                name = "item_upsert"
                return [{"type": name, "payloadType": name, "changeType": change, "itemType": item_type, **wire}]
            case _:
                assert_never(output)

    def finish(self) -> list[dict[str, Any]]:
        """Take the end of a log that has no terminal: there is nothing open that would have to be closed."""
        return []


def _item_type(output: Content) -> ItemType:
    if output.status == "error":
        return "error"
    match output:
        case Message():
            return "message"
        case Thinking():
            return "reasoning"
        case ToolCall():
            return "tool_output" if output.status == "complete" else "tool_call"
        case _:
            assert_never(output)
