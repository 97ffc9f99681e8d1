"""Which item an event of a response is about (C6): its place in the output says it, ids only where there is none.

Hosts give an item a new id in every event, leave indices out, let them run backwards, and number the items of the
final response differently from those of the stream.
"""

from collections.abc import Callable

from turnwire.messages.json_shapes import JsonObject, index_at, object_at, text_at
from turnwire.messages.providers.responses_items import Slot, kind_of, payload_text


class Places:
    """The output's places, each with the item that stands there now."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        """All items there have been, in the order in which they were first seen."""
        self._by_index: dict[int, Slot] = {}

    def put(self, slot: Slot, event: JsonObject) -> None:
        """Give an item the place that its first event names; without one, a place that no event can name."""
        index = index_at(event, "output_index")
        self._by_index[-1 - len(self.slots) if index is None else index] = slot
        self.slots.append(slot)

    def at(self, event: JsonObject) -> Slot | None:
        """Find the item that an event is about."""
        index = index_at(event, "output_index")
        if index is not None:
            return self._by_index.get(index)
        wanted = text_at(event, "item_id") or text_at(object_at(event, "item"), "id")
        return next((slot for slot in reversed(self.slots) if wanted and slot.provider_id == wanted), None)

    def find_told(self, told: list[Slot], number: int, payload: JsonObject) -> Slot | None:
        """Find the item of the stream that entry `number` of the final response's output repeats."""
        kind, own_id, call_id = kind_of(payload), text_at(payload, "id"), text_at(payload, "call_id")
        text = payload_text(kind, payload)
        ways: tuple[Callable[[Slot], bool], ...] = (
            lambda slot: bool(own_id) and slot.provider_id == own_id,
            lambda slot: bool(call_id) and slot.call_id == call_id,
            lambda slot: self._by_index.get(number) is slot,
            lambda slot: slot.item is not None and slot.item.text == text,
        )
        alike = [slot for slot in told if slot.kind == kind]
        return next((slot for fits in ways for slot in alike if fits(slot)), None)


def is_item_of(slot: Slot, payload: JsonObject) -> bool:
    """Tell whether a payload at a slot's place is that slot's item: ids rotate, so its kind and its call decide."""
    call_id = text_at(payload, "call_id")
    return slot.kind == kind_of(payload) and (not call_id or not slot.call_id or slot.call_id == call_id)
