"""Model messages → a request of the OpenAI Responses API: `input`.

Answers of tools may stand anywhere behind their calls there, so they stay where they came.
"""

from collections.abc import Iterable
from typing import Any

from turnwire.messages.model_messages.answers import Pending, answer_calls
from turnwire.messages.model_messages.media import Unsendable, data_url, inline, is_stored_at, note_of
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.model_messages.spoken import contents_of, items_of, plain_text
from turnwire.messages.providers.replay import match_outputs, responses_input
from turnwire.messages.ui import MediaPart

FORMAT = "openai-responses"
PROVIDER = "openai"
_DEFAULT_DETAIL = "auto"  # the API wants the word


def responses_request(
    messages: Iterable[ModelMessage], *, pending: Pending = "answer", unsendable: Unsendable = "refuse"
) -> dict[str, Any]:
    """Give the conversation as `input`. What the system says stands among it, not in `instructions`."""
    told = answer_calls(messages, pending=pending, at_once=False)
    return {"input": match_outputs([entry for message in told for entry in _entries(message, unsendable)])}


def _entries(message: ModelMessage, unsendable: Unsendable) -> list[dict[str, Any]]:
    if message.role in ("assistant", "tool"):
        return responses_input(items_of(message, FORMAT, unsendable))
    content = plain_text(contents_of(message, FORMAT, "input_text", media_content, unsendable))
    return [{"type": "message", "role": message.role, "content": content}] if content else []


def media_content(part: MediaPart) -> dict[str, Any] | None:
    """Give a picture or a document as input content; None for what the API has no place for."""
    source = inline(part.source)
    url = data_url(source)
    stored = {"file_id": source.value} if is_stored_at(source, PROVIDER) else None
    if part.kind == "image":
        given = stored or (None if url is None else {"image_url": url})
        detail = note_of(part, "detail") or _DEFAULT_DETAIL
        return None if given is None else {"type": "input_image", "detail": detail, **given}
    if part.kind != "document":
        return None
    if stored or source.type == "url":
        return {"type": "input_file", **(stored or {"file_url": source.value})}
    if url is None:
        return None
    return {"type": "input_file", "file_data": url, "filename": note_of(part, "filename") or "document"}
