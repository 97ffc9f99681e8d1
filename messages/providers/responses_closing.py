"""How an output item of a response ends: by its own payload, or early, with what there is."""

from turnwire.messages.json_shapes import JsonObject, text_at
from turnwire.messages.providers.endings import incomplete_arguments
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.responses_items import (
    Slot,
    native_part,
    payload_annotations,
    payload_text,
    server_arguments,
    server_result,
    wrap_custom_input,
)
from turnwire.messages.providers.transcript import Transcript


def close_by_payload(transcript: Transcript, slot: Slot, payload: JsonObject) -> None:
    """Close an item by its own payload, which wins over what was streamed (C5)."""
    slot.closed = True
    item, kind = slot.item, slot.kind
    if item is None:
        if text_at(payload, "encrypted_content"):
            transcript.carry(dict(payload))
        return
    item.native = native_part(kind, payload)
    text = payload_text(kind, payload)
    match kind:
        case "message":
            item.annotations = payload_annotations(payload) or item.annotations
            transcript.done(item, slot.reconciled_text if text is None else text)
        case "reasoning":
            _close_reasoning(transcript, slot, item, payload, text)
        case "server":
            _close_server_tool(transcript, item, payload)
        case _:
            _close_call(transcript, slot, item, text, whole=text_at(payload, "status") != "incomplete")


def close_early(transcript: Transcript, slot: Slot) -> None:
    """Close what is still open at the response's end with what there is; a call only if it is whole (C11)."""
    item = slot.item
    if slot.closed or item is None:
        return
    slot.closed = True
    if slot.kind in ("call", "custom_call"):
        announced = bool(slot.part_texts)  # its arguments were said to be complete
        whole = announced or (slot.kind == "call" and item.is_whole_call)
        _close_call(transcript, slot, item, None, whole=whole)
    elif slot.kind == "reasoning" and not item.started and not slot.reconciled_text:
        transcript.drop(item)
    else:
        transcript.done(item, slot.reconciled_text)


def _close_reasoning(transcript: Transcript, slot: Slot, item: Item, payload: JsonObject, text: str | None) -> None:
    text = text or slot.reconciled_text
    if item.started or text:
        transcript.done(item, text)
    elif text_at(payload, "encrypted_content"):
        transcript.drop(item, dict(payload))
    else:
        transcript.drop(item)


def _close_call(transcript: Transcript, slot: Slot, item: Item, text: str | None, *, whole: bool) -> None:
    arguments = slot.reconciled_text or item.text if text is None else text
    if not whole:
        transcript.fail(item, incomplete_arguments())
    elif slot.kind == "custom_call":
        transcript.done(item, wrap_custom_input(arguments))
    else:
        transcript.done(item, arguments)


def _close_server_tool(transcript: Transcript, item: Item, payload: JsonObject) -> None:
    transcript.done(item, server_arguments(payload))
    result = server_result(payload)
    if result is not None:
        output = transcript.notice("function_call_output", call_id=item.call_id or item.item_id)
        output.origin = item.origin
        failed = text_at(payload, "status") in ("failed", "incomplete") or bool(payload.get("error"))
        transcript.done(output, result, success=not failed)
