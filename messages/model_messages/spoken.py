"""What a message holds, on its way into a request: as final items, or as the contents that people send."""

from collections.abc import Callable
from typing import Any, TypeAlias

from turnwire.messages.events import FinalItem
from turnwire.messages.json_shapes import object_at
from turnwire.messages.model_messages.items import item_of
from turnwire.messages.model_messages.media import Unsendable, stand_in
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.providers.replay import data_of
from turnwire.messages.ui import MediaPart, TextPart

WriteMedium: TypeAlias = Callable[[MediaPart], dict[str, Any] | None]
"""Gives a medium in a provider's words; None if it has none."""


def items_of(message: ModelMessage, data_format: str, unsendable: Unsendable) -> list[FinalItem]:
    """Give what an assistant or the tools said as final items.

    No provider takes media there: words stand for them. An empty text says nothing, unless it carries sealed data.
    """
    items: list[FinalItem | None] = []
    for part in message.parts:
        if isinstance(part, MediaPart):
            items.append(item_of(TextPart(content=stand_in(part, data_format, message, unsendable))))
        elif not isinstance(part, TextPart) or part.content or data_of(part.provider_data, data_format):
            items.append(item_of(part))
    return [item for item in items if item is not None]


def contents_of(
    message: ModelMessage, data_format: str, text_type: str, write_medium: WriteMedium, unsendable: Unsendable
) -> list[dict[str, Any]]:
    """Give what people or the system said. Empty text is left out, providers refuse it; media are the user's alone."""
    contents: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart | MediaPart):
            content = content_of(part, data_format, text_type, write_medium)
            if isinstance(part, MediaPart) and (content is None or message.role != "user"):
                content = {"type": text_type, "text": stand_in(part, data_format, message, unsendable)}
            if content is not None and content.get("text") != "":
                contents.append(content)
    return contents


def content_of(
    part: TextPart | MediaPart, data_format: str, text_type: str, write_medium: WriteMedium
) -> dict[str, Any] | None:
    """Give one text or medium, as it was read from a request of the same format if it was."""
    native = object_at(data_of(part.provider_data, data_format), "block")
    if native:
        return dict(native)
    return {"type": text_type, "text": part.content} if isinstance(part, TextPart) else write_medium(part)


def plain_text(contents: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Give a single text as a plain string, which every host takes; anything else as it is."""
    if len(contents) == 1 and contents[0].keys() == {"type", "text"}:
        text = contents[0]["text"]
        return text if isinstance(text, str) else contents
    return contents


def keep_native(
    part: TextPart | MediaPart, given: dict[str, Any], data_format: str, text_type: str, write_medium: WriteMedium
) -> TextPart | MediaPart:
    """Give a part that was read, with its original beside it if it could not be written again from the part alone."""
    if content_of(part, data_format, text_type, write_medium) == given:
        return part
    data = {"format": data_format, "block": given}
    if isinstance(part, TextPart):
        return TextPart(content=part.content, provider_data=data)
    return MediaPart(kind=part.kind, source=part.source, metadata=part.metadata, provider_data=data)
