"""Parts as the final items they came from: the replay of provider data knows those, and need not know parts.

What an adapter put into `FinalItem.provider_data` stands in a part's `provider_data` as it was, with the item's
`annotations` beside it. So whatever a provider has sealed is opened in one room, `providers/replay.py`.
"""

from turnwire.messages.dialects.agui_sealed import opened_value
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
)
from turnwire.messages.json_shapes import list_at, object_at, text_at
from turnwire.messages.model_messages.model import ModelPart, Thought
from turnwire.messages.model_messages.thoughts import sealed_data
from turnwire.messages.ui import MediaPart, TextPart, ToolCallPart, ToolResultPart

ANNOTATIONS = "annotations"
_NO_ID = "-"  # replays tell items apart by their order alone


def item_of(part: ModelPart) -> FinalItem | None:
    """Give the item that an assistant's or a tool's part was made of; None for a medium, which is none."""
    match part:
        case TextPart():
            notes = list_at(part.provider_data or {}, ANNOTATIONS)
            return FinalMessage(
                id=_NO_ID, content=part.content, annotations=notes or None, provider_data=part.provider_data
            )
        case Thought():
            return FinalReasoning(id=_NO_ID, content=part.content, provider_data=sealed_data(part))
        case ToolCallPart():
            return FinalFunctionCall(
                id=_NO_ID,
                name=part.name,
                call_id=part.id,
                arguments=part.arguments,
                origin="provider" if ran_at_provider(part) else None,
                provider_data=opened_value(part.provider_data or {}) or part.provider_data,
            )
        case ToolResultPart():
            return FinalFunctionCallOutput(
                id=_NO_ID,
                call_id=part.tool_call_id,
                output=part.content or part.error or "",
                success=part.state != "error",
                origin="provider" if ran_at_provider(part) else None,
                provider_data=part.provider_data,
            )
        case MediaPart():
            return None


def ran_at_provider(part: ToolCallPart | ToolResultPart) -> bool:
    """Tell whether the provider ran this tool itself: then it answers, and we must not."""
    data = part.provider_data or {}
    return text_at(data, "origin") == "provider" or bool(text_at(object_at(data, "block"), "type"))
