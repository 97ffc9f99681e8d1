"""Model messages → a request of OpenAI Chat Completions and hosts like it: `messages`.

The format cannot say that a text came behind a call of the same segment: calls stand last. Thinking goes back only
where a host has sealed it.
"""

from collections.abc import Iterable
from typing import Any

from turnwire.messages.model_messages.answers import Pending, answer_calls
from turnwire.messages.model_messages.media import Unsendable, data_url, inline, is_stored_at, note_of
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.model_messages.spoken import contents_of, items_of, plain_text
from turnwire.messages.providers.replay import chat_messages
from turnwire.messages.ui import MediaPart

FORMAT = "openai-chat"
PROVIDER = "openai"
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""The formats of sound that there are, by their MIME types; the first type of each is the one we give back."""


def chat_request(
    messages: Iterable[ModelMessage], *, pending: Pending = "answer", unsendable: Unsendable = "refuse"
) -> dict[str, Any]:
    """Give the conversation as `messages`."""
    told = answer_calls(messages, pending=pending, at_once=True)
    return {"messages": [entry for message in told for entry in _entries(message, unsendable)]}


def _entries(message: ModelMessage, unsendable: Unsendable) -> list[dict[str, Any]]:
    if message.role in ("assistant", "tool"):
        return chat_messages(items_of(message, FORMAT, unsendable))
    content = plain_text(contents_of(message, FORMAT, "text", media_part, unsendable))
    return [{"role": message.role, "content": content}] if content else []


def media_part(part: MediaPart) -> dict[str, Any] | None:
    """Give a medium as a content part; None for what the API has no place for."""
    source = inline(part.source)
    url = data_url(source)
    if part.kind == "image" and url is not None:
        detail = note_of(part, "detail")
        return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}
    if part.kind == "audio" and source.type == "data" and source.mime_type in SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": source.value, "format": SOUNDS[source.mime_type]}}
    if part.kind == "document" and is_stored_at(source, PROVIDER):
        return {"type": "file", "file": {"file_id": source.value}}
    if part.kind == "document" and source.type == "data" and url is not None:
        return {"type": "file", "file": {"file_data": url, "filename": note_of(part, "filename") or "document"}}
    return None
