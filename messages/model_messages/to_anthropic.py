"""Model messages → a request of the Anthropic Messages API: `system` and `messages`."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from turnwire.messages.model_messages.answers import Pending, answer_calls
from turnwire.messages.model_messages.media import Unsendable, decoded_text, inline, is_stored_at, note_of
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.model_messages.spoken import contents_of, items_of
from turnwire.messages.providers.replay import anthropic_messages
from turnwire.messages.ui import MediaPart

FORMAT = "anthropic-messages"
PROVIDER = "anthropic"
PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SYSTEM = ("system", "developer")


def anthropic_request(
    messages: Iterable[ModelMessage], *, pending: Pending = "answer", unsendable: Unsendable = "refuse"
) -> dict[str, Any]:
    """Give the conversation as `messages`, and as `system` what is said before anybody else speaks.

    Later words of the system keep their place, as messages with the role `system`: newer models take them.
    """
    told = list(_spoken(answer_calls(messages, pending=pending, at_once=True), unsendable))
    leading = list(takewhile(lambda entry: entry["role"] == "system", told))
    system = [block for entry in leading for block in entry["content"]]
    return {**({"system": system} if system else {}), "messages": told[len(leading) :]}


def _spoken(messages: Iterable[ModelMessage], unsendable: Unsendable) -> Iterator[dict[str, Any]]:
    last: tuple[str | None, dict[str, Any]] = None, {}
    for message in messages:
        for entry in _entries(message, unsendable):
            if message.message_id is not None and last[0] == message.message_id and last[1]["role"] == entry["role"]:
                last[1]["content"] += entry["content"]  # what the provider's own tools answered stood in between
                continue
            if last[1]:
                yield last[1]
            last = message.message_id, entry
    if last[1]:
        yield last[1]


def _entries(message: ModelMessage, unsendable: Unsendable) -> list[dict[str, Any]]:
    if message.role in ("assistant", "tool"):
        return anthropic_messages(items_of(message, FORMAT, unsendable))
    role = "system" if message.role in _SYSTEM else "user"
    blocks = contents_of(message, FORMAT, "text", media_block, unsendable)
    return [{"role": role, "content": blocks}] if blocks else []


def media_block(part: MediaPart) -> dict[str, Any] | None:
    """Give a picture or a document as a content block; None for what the API has no block for."""
    source = inline(part.source)
    given: dict[str, Any] | None = None
    if part.kind in ("image", "document"):
        if source.type == "url":
            given = {"type": "url", "url": source.value}
        elif is_stored_at(source, PROVIDER):
            given = {"type": "file", "file_id": source.value}
        elif source.mime_type in (PICTURES if part.kind == "image" else ("application/pdf",)):
            given = {"type": "base64", "media_type": source.mime_type, "data": source.value}
        elif part.kind == "document" and source.mime_type == "text/plain":
            text = decoded_text(source)
            given = None if text is None else {"type": "text", "media_type": "text/plain", "data": text}
    if given is None:
        return None
    title = note_of(part, "filename") if part.kind == "document" else ""
    return {"type": part.kind, "source": given, **({"title": title} if title else {})}
