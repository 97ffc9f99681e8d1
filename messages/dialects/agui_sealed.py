"""What AG-UI events carry for the provider alone: on its way from their metadata into the parts of a message.

AG-UI has no field for it, so our events have it among their metadata, under these names. A part keeps it in its
`provider_data`: the provider's own data as it is, with what else has to be known to send it back beside it.
"""

from typing import Any, Final

from turnwire.messages.agui.events import AguiEvent
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.json_shapes import is_object, list_at, text_at
from turnwire.messages.json_text import parse_json_or_none
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ProviderData

STEP_DATA: Final = "providerData"
"""Under this name a step of thinking has its provider's data, beside its signature."""
ENCRYPTED: Final = "encryptedValue"
"""Under this name AG-UI 1.0 carries what a provider has sealed."""


def sealed_data(event: AguiEvent) -> ProviderData | None:
    """Give what a part has to keep of this event for the provider; None if that is nothing.

    >>> from turnwire.messages.agui.events import TextMessageEnd
    >>> sealed_data(TextMessageEnd(message_id="m", metadata={words.PROVIDER_DATA: {"format": "f"}}))
    {'format': 'f'}
    """
    metadata = event.metadata
    if not metadata:
        return None
    data = metadata.get(words.PROVIDER_DATA)
    kept: dict[str, Any] = dict(data) if is_object(data) else {}
    if notes := list_at(metadata, words.ANNOTATIONS):
        kept["annotations"] = notes
    if origin := text_at(metadata, words.ORIGIN):
        kept["origin"] = origin
    return kept or None


def opened_value(holder: ProviderData) -> ProviderData | None:
    """Give the provider data that came as AG-UI 1.0's encrypted value, if it is ours; anybody else's stays shut.

    >>> opened_value({"encryptedValue": '{"format":"f"}'}), opened_value({"encryptedValue": "c2VjcmV0"})
    ({'format': 'f'}, None)
    """
    data = parse_json_or_none(text_at(holder, ENCRYPTED))
    return data if is_object(data) and text_at(data, "format") else None


def kept_value(value: str) -> ProviderData:
    """Give what a part keeps of such a value: ours as it was before AG-UI 1.0 had to carry it, others' as they are."""
    shut = {ENCRYPTED: value}
    return opened_value(shut) or shut


def step_seal(value: str) -> tuple[str, Json]:
    """Give the same for a step of thinking: under which name, and what."""
    data = kept_value(value)
    return (ENCRYPTED, value) if ENCRYPTED in data else (STEP_DATA, data)
