"""How blocks of an AG-UI stream end as items: done, failed, cancelled, or with a final text that comes as another one.

What is not just done is said by notes of ours on the end (agui_words.py). A block that was superseded stays open as an
item: its successor's text is its final text, and is told once that is whole.
"""

from collections import Counter

from turnwire.messages.agui.more_events import ReasoningEncryptedValue
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.agui_sealed import ENCRYPTED, kept_value
from turnwire.messages.json_shapes import NOTHING, JsonObject, is_list, is_object, text_at
from turnwire.messages.particulars import Json
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.transcript import Transcript


class BlockEnds:
    """Ends items as their blocks say."""

    def __init__(self, transcript: Transcript, counts: Counter[str]) -> None:
        self._transcript = transcript
        self._counts = counts
        self._superseded: dict[str, Item] = {}
        """Blocks that were closed, and whose final text is still to come."""
        self._successors: dict[str, tuple[Item, list[str]]] = {}
        """Blocks that bring it: which item it belongs to, and what of it is there."""

    def succeeds(self, name: str, metadata: JsonObject | None) -> bool:
        """Tell whether a block that begins brings the final text of one before it."""
        old = self._superseded.pop(text_at(metadata or NOTHING, words.SUPERSEDES), None)
        if old is not None:
            self._successors[name] = (old, [])
        return old is not None

    def grow(self, name: str, delta: str) -> bool:
        """More text of such a block; False if it is none."""
        successor = self._successors.get(name)
        if successor is not None:
            successor[1].append(delta)
        return successor is not None

    def brings(self, name: str) -> bool:
        """Whether this block brings the final text of another."""
        return name in self._successors

    def owner_of(self, name: str) -> Item | None:
        """Give the item whose final text this block brings."""
        return self._successors[name][0] if name in self._successors else None

    def end(self, item: Item | None, name: str, metadata: JsonObject | None, text: str | None = None) -> None:
        """End the item of a block, or the one whose final text this block was."""
        notes = metadata or NOTHING
        if item is None and name in self._successors:
            item, parts = self._successors.pop(name)
            text = "".join(parts)
        if item is None:
            self._counts["unknown_block"] += 1
            return
        claim_data(item, notes.get(words.PROVIDER_DATA))
        annotations = notes.get(words.ANNOTATIONS)
        item.annotations += annotations if is_list(annotations) else []
        error = words.read_error_note(notes)
        if text_at(notes, words.SUPERSEDED_BY):
            self._superseded[name] = item
        elif error is not None:
            self._transcript.fail(item, error)
        elif words.CANCELLED in notes:
            self._transcript.cancel(item, text_at(notes, words.CANCELLED))
        else:
            self._transcript.done(item, text)

    def keep(self, item: Item | None, event: ReasoningEncryptedValue) -> None:
        """Opaque data comes for a block; if that is closed already, the next item takes it along (C16)."""
        name = event.entity_id
        if item is None and name in self._successors:
            item = self._successors[name][0]
        if item is None:
            sealed = {"subtype": event.subtype, "entityId": name, ENCRYPTED: event.encrypted_value}
            self._transcript.carry({"type": "encrypted_value", **sealed})
            return
        claim_data(item, kept_value(event.encrypted_value))

    def close_all(self) -> None:
        """The run ends: what is superseded and whatever of the final text has come are all there is."""
        for item in self._superseded.values():
            self._transcript.done(item)
        for item, parts in self._successors.values():
            self._transcript.done(item, "".join(parts))
        self._superseded.clear()
        self._successors.clear()


def claim_data(item: Item, data: Json) -> None:
    """Let an item carry provider data, if there is any."""
    if is_object(data):
        item.native.update(data)
