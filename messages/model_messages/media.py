"""Media of a message: what a provider has no place for, and the forms that several of them share."""

import base64
import binascii
import re
from typing import Literal, TypeAlias

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.errors import UnsendableError
from turnwire.messages.json_shapes import is_object, text_at
from turnwire.messages.model_messages.model import ModelMessage
from turnwire.messages.ui import MediaPart

Unsendable: TypeAlias = Literal["refuse", "say"]
"""What becomes of a medium that a provider does not take: an error, or a line of text in its place."""

_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def stand_in(part: MediaPart, provider: str, message: ModelMessage, unsendable: Unsendable) -> str:
    """Give the words that stand for a medium which cannot be sent. Raises UnsendableError unless words will do."""
    kind = part.source.mime_type or part.kind
    problem = f"{provider} takes no {kind} from a {_SOURCES[part.source.type]}"
    if unsendable == "refuse":
        raise UnsendableError(f"{problem} in a message of the {message.role}", message_id=message.message_id)
    return f"[an attachment that could not be shown: {kind}]"


_SOURCES = {"data": "base64 text", "url": "URL", "file": "file store"}


def data_url(source: MediaSource) -> str | None:
    """Give a source as a URL: its own, or one that holds the data; None if there is none."""
    if source.type == "url":
        return source.value
    return f"data:{source.mime_type};base64,{source.value}" if source.type == "data" and source.mime_type else None


def source_of_url(url: str) -> MediaSource:
    """Make a source of a URL; one that holds its data becomes just that."""
    found = _DATA_URL.fullmatch(url)
    if found is None or not found[1]:
        return MediaSource(type="url", value=url)
    return MediaSource(type="data", value=found[2], mime_type=found[1])


def inline(source: MediaSource) -> MediaSource:
    """Give a source whose URL holds its data as that data; any other as it is."""
    return source_of_url(source.value) if source.type == "url" and source.value.startswith("data:") else source


def is_stored_at(source: MediaSource, provider: str) -> bool:
    """Tell whether a source is a file in this provider's store, as far as it says."""
    return source.type == "file" and source.provider in (None, provider)


def decoded_text(source: MediaSource) -> str | None:
    """Give plain text that came as base64; None if it is neither."""
    try:
        return base64.b64decode(source.value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def encoded_text(text: str) -> str:
    """Give text as base64."""
    return base64.b64encode(text.encode()).decode()


def note_of(part: MediaPart, name: str) -> str:
    """Give a text among the metadata of a medium: its filename, its level of detail."""
    return text_at(part.metadata, name) if is_object(part.metadata) else ""
