"""OpenAI Responses: output items by their place in the output, each with its parts, its deltas and its end.

The same text comes up to four times (deltas, part done, item done, response completed), so most of what is here is
about not saying it twice: the first wins while it streams, the last that says otherwise wins at the end (C5).
Items are found by output_index, which survives hosts that give an item a new id in every event (C6).
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from turnwire.messages.json_shapes import JsonObject, index_at, is_object, object_at, objects_at, text_at
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.endings import (
    RESPONSES_INCOMPLETE_REASONS,
    FinishReason,
    read_error,
)
from turnwire.messages.providers.item import Item, ItemKind
from turnwire.messages.providers.responses_closing import close_by_payload, close_early
from turnwire.messages.providers.responses_items import (
    Slot,
    SlotKind,
    is_refusal,
    is_server_event,
    kind_of,
    server_name,
)
from turnwire.messages.providers.responses_places import Places, is_item_of
from turnwire.messages.providers.usage import newer_usage, read_responses_usage

_ITEM_KINDS: Mapping[SlotKind, ItemKind] = {
    "message": "message",
    "reasoning": "reasoning",
    "call": "function_call",
    "custom_call": "function_call",
    "server": "function_call",
}


class OpenAIResponses(Adapter):
    """One streamed response of the Responses API."""

    FORMAT: ClassVar[str] = "openai-responses"

    def _prepare(self) -> None:
        self._seen: set[int] = set()
        self._places = Places()
        self._refused = False

    def _read(self, event: JsonObject) -> None:
        number = index_at(event, "sequence_number")
        if number is not None:
            if number in self._seen:
                self.counts["duplicate"] += 1
                return
            self._seen.add(number)
        event_type = text_at(event, "type")
        read = self._EVENTS.get(event_type)
        if read is not None:
            read(self, event)
        elif not is_server_event(event_type):
            self.counts["unknown_event"] += 1

    # The response around the items

    def _read_progress(self, event: JsonObject) -> None:
        self._remember(object_at(event, "response"))

    def _remember(self, response: JsonObject) -> None:
        self.provider_response_id = text_at(response, "id") or self.provider_response_id
        self.served_model = text_at(response, "model") or self.served_model
        self._usage = newer_usage(self._usage, read_responses_usage(object_at(response, "usage")))

    def _read_completed(self, event: JsonObject) -> None:
        response = object_at(event, "response")
        self._remember(response)
        self._reconcile_output(response)
        self._close_open()
        called = any(slot.kind in ("call", "custom_call") and slot.item is not None for slot in self._places.slots)
        reason: FinishReason = "refusal" if self._refused else "tool_calls" if called else "stop"
        self._complete(reason, text_at(response, "status") or "completed")

    def _read_incomplete(self, event: JsonObject) -> None:
        response = object_at(event, "response")
        self._remember(response)
        self._close_open()
        raw = text_at(object_at(response, "incomplete_details"), "reason")
        self._complete(RESPONSES_INCOMPLETE_REASONS.get(raw, "other"), raw or "incomplete")

    def _read_failed(self, event: JsonObject) -> None:
        response = object_at(event, "response")
        self._remember(response)
        self._break(read_error(response.get("error")))

    def _read_error(self, event: JsonObject) -> None:
        nested = event.get("error")
        flat = {key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        self._break(read_error(nested if is_object(nested) else flat))

    def _read_cancelled(self, event: JsonObject) -> None:
        self._remember(object_at(event, "response"))
        self._abort("cancelled")

    def _read_end(self) -> None:
        self._truncate()

    # Items

    def _read_added(self, event: JsonObject) -> None:
        payload = object_at(event, "item")
        earlier = self._places.at(event)
        if not payload:  # null happens; its deltas or its end will tell what it is
            return
        if earlier is not None and not earlier.closed and is_item_of(earlier, payload):
            self.counts["duplicate"] += 1
        else:
            self._open_slot(event, payload)

    def _open_slot(self, event: JsonObject, payload: JsonObject) -> Slot:
        kind = kind_of(payload)
        slot = Slot(kind, payload, self._item_for(kind, payload))
        self._places.put(slot, event)
        if kind == "unknown":
            self.counts["unknown_item"] += 1
        return slot

    def _item_for(self, kind: SlotKind, payload: JsonObject) -> Item | None:
        if kind not in _ITEM_KINDS or (kind == "server" and not self._show_server_tools):
            return None
        item = self._transcript.notice(_ITEM_KINDS[kind], text_at(payload, "id"), call_id=text_at(payload, "call_id"))
        if kind == "server":
            item.name, item.origin = server_name(payload), "provider"
            item.call_id = item.call_id or item.wanted_id
        elif item.kind == "function_call":
            item.name = text_at(payload, "name")
        return item if kind == "reasoning" else self._transcript.start(item)

    def _read_item_done(self, event: JsonObject) -> None:
        payload = object_at(event, "item")
        slot = self._places.at(event)
        if not payload:
            self.counts["malformed"] += 1
        elif slot is None or not is_item_of(slot, payload):
            self._close(self._open_slot(event, payload), payload)
        elif slot.closed:
            self.counts["duplicate"] += 1
        else:
            self._close(slot, payload)

    def _close(self, slot: Slot, payload: JsonObject) -> None:
        self._refused = self._refused or (slot.kind == "message" and is_refusal(payload))
        close_by_payload(self._transcript, slot, payload)

    # Deltas

    def _read_text_delta(self, event: JsonObject) -> None:
        slot = self._slot_for(event, "message")
        if slot is not None and slot.item is not None:
            self._transcript.delta(slot.item, text_at(event, "delta"))

    def _read_refusal_delta(self, event: JsonObject) -> None:
        self._refused = True
        self._read_text_delta(event)

    def _read_summary_delta(self, event: JsonObject) -> None:
        slot = self._slot_for(event, "reasoning")
        text = text_at(event, "delta")
        if slot is None or slot.item is None or not text:
            return
        if not slot.summarised:
            slot.summarised = True
            slot.part_texts.clear()
        raw_was_shown = slot.summary_index is None and slot.item.started
        if raw_was_shown:
            return  # it cannot be unsaid; the finished item will hold the summary alone (C5)
        index = index_at(event, "summary_index") or 0
        if slot.summary_index is not None and index != slot.summary_index:
            text = "\n\n" + text
        slot.summary_index = index
        self._transcript.delta(slot.item, text)

    def _read_raw_delta(self, event: JsonObject) -> None:
        slot = self._slot_for(event, "reasoning")
        if slot is not None and slot.item is not None and not slot.summarised:
            self._transcript.delta(slot.item, text_at(event, "delta"))

    def _read_call_delta(self, event: JsonObject) -> None:
        slot = self._places.at(event)
        if slot is None or slot.closed or slot.item is None or slot.kind not in ("call", "custom_call"):
            self.counts["unknown_delta"] += 1
        else:
            self._transcript.delta(slot.item, text_at(event, "delta"))

    def _read_part_done(self, event: JsonObject) -> None:
        slot = self._places.at(event)
        if slot is None or slot.closed:
            return
        summary = text_at(event, "type") == "response.reasoning_summary_text.done"
        if slot.summarised and not summary:
            return
        if summary and not slot.summarised:
            slot.summarised = True
            slot.part_texts.clear()
        for key in ("text", "refusal", "arguments", "input"):
            if isinstance(event.get(key), str):
                index = index_at(event, "summary_index" if summary else "content_index") or 0
                slot.part_texts[index] = event[key]

    def _read_annotation(self, event: JsonObject) -> None:
        slot = self._slot_for(event, "message")
        if slot is not None and slot.item is not None:
            slot.item.annotations.append(event.get("annotation"))

    def _read_quietly(self, _event: JsonObject) -> None:
        """Pass over a part's beginning or end: its text comes, or came, by events of its own."""

    # Finding

    def _slot_for(self, event: JsonObject, kind: SlotKind) -> Slot | None:
        """Find the item of a text delta; made if absent (its `added` may have been null, or lost)."""
        slot = self._places.at(event)
        if slot is None:
            slot = self._open_slot(event, {"type": kind, "id": text_at(event, "item_id")})
        if slot.kind != kind or slot.closed:
            self.counts["unknown_delta"] += 1
            return None
        return slot

    # Ends

    def _reconcile_output(self, response: JsonObject) -> None:
        """Close what the final response has finished, and tell what of it the stream never had."""
        told = list(self._places.slots)
        for number, payload in enumerate(objects_at(response, "output")):
            slot = self._places.find_told(told, number, payload)
            if slot is None:
                slot = self._open_slot({}, payload)
            else:
                told.remove(slot)
            if not slot.closed:
                self._close(slot, payload)

    def _close_open(self) -> None:
        for slot in self._places.slots:
            close_early(self._transcript, slot)

    # `...` stands for (self, event): inside its own body the class has no name that a checker takes for self.
    _EVENTS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "response.output_text.delta": _read_text_delta,
        "response.function_call_arguments.delta": _read_call_delta,
        "response.custom_tool_call_input.delta": _read_call_delta,
        "response.reasoning_summary_text.delta": _read_summary_delta,
        "response.reasoning_text.delta": _read_raw_delta,
        "response.refusal.delta": _read_refusal_delta,
        "response.output_text.annotation.added": _read_annotation,
        "response.output_text.done": _read_part_done,
        "response.refusal.done": _read_part_done,
        "response.reasoning_summary_text.done": _read_part_done,
        "response.reasoning_text.done": _read_part_done,
        "response.function_call_arguments.done": _read_part_done,
        "response.custom_tool_call_input.done": _read_part_done,
        "response.content_part.added": _read_quietly,
        "response.content_part.done": _read_quietly,
        "response.reasoning_part.added": _read_quietly,
        "response.reasoning_part.done": _read_quietly,
        "response.reasoning_summary_part.added": _read_quietly,
        "response.reasoning_summary_part.done": _read_quietly,
        "response.output_item.added": _read_added,
        "response.output_item.done": _read_item_done,
        "response.created": _read_progress,
        "response.queued": _read_progress,
        "response.in_progress": _read_progress,
        "response.completed": _read_completed,
        "response.incomplete": _read_incomplete,
        "response.failed": _read_failed,
        "response.cancelled": _read_cancelled,
        "error": _read_error,
    }
