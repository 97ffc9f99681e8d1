"""StreamEvents ⇄ JSON: strict, and the only room that knows their wire names.

Strict means: no value is coerced, every error names the event and the place in the JSON (`$.payload.item_id`),
unknown fields are passed over, an unknown payload type becomes an UnknownPayload.

`item_delta` is 95 % of all events and has a road of its own, in delta_codec.py.
Whatever that road refuses is looked at again on the general one, which also words the error; so the two cannot
disagree about what is valid, only about how fast it is found.
"""

from collections.abc import Mapping
from typing import Any, cast

import attrs

from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import (
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    FinalScriptExecution,
    FinalScriptExecutionOutput,
    Heartbeat,
    Id,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    ScriptExecutionDone,
    ScriptExecutionError,
    ScriptExecutionStart,
    StreamEvent,
    TraceContext,
    TurnAbortedByUser,
    UnknownPayload,
    UsageUpdate,
)
from turnwire.messages.json_text import dump_json, refuse_nan
from turnwire.messages.wire import convert, json_name, parse_document

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Larger events are refused unread: one event must not be able to take the process's memory."""

PAYLOAD_TYPES: Mapping[str, type] = {
    "response_start": ResponseStart,
    "item_start": ItemStart,
    "item_delta": ItemDelta,
    "item_done": ItemDone,
    "item_error": ItemError,
    "item_cancelled": ItemCancelled,
    "response_done": ResponseDone,
    "response_error": ResponseError,
    "usage_update": UsageUpdate,
    "heartbeat": Heartbeat,
    "turn_aborted_by_user": TurnAbortedByUser,
    "script_execution_start": ScriptExecutionStart,
    "script_execution_done": ScriptExecutionDone,
    "script_execution_error": ScriptExecutionError,
}
"""Wire name of each payload. Written out, so that renaming a class never changes the wire."""

FINAL_ITEM_TYPES: Mapping[str, type] = {
    "message": FinalMessage,
    "reasoning": FinalReasoning,
    "function_call": FinalFunctionCall,
    "function_call_output": FinalFunctionCallOutput,
    "error": FinalError,
    "cancelled": FinalCancelled,
    "script_execution": FinalScriptExecution,
    "script_execution_output": FinalScriptExecutionOutput,
}
"""Wire name of each final item."""

_PAYLOAD_TAGS: Mapping[type, str] = {cls: tag for tag, cls in PAYLOAD_TYPES.items()}
_FINAL_ITEM_TAGS: Mapping[type, str] = {cls: tag for tag, cls in FINAL_ITEM_TYPES.items()}


def decode_event(data: bytes | str, *, max_bytes: int = MAX_EVENT_BYTES) -> StreamEvent:
    """Decode one event from its JSON text. Raises InvalidEventError for anything that is none."""
    size = len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise InvalidEventError(f"{size} bytes; at most {max_bytes} are taken")
    delta = try_decode_delta(data)
    if delta is not None:
        return StreamEvent(
            event_id=delta.event_id,
            timestamp=delta.timestamp,
            run_id=delta.run_id,
            trace_context=TraceContext(
                traceparent=delta.trace_context.traceparent, tracestate=delta.trace_context.tracestate
            ),
            payload=ItemDelta(item_id=delta.payload.item_id, delta_content=delta.payload.delta_content),
        )
    return structure_event(parse_document(data))


def structure_event(document: object) -> StreamEvent:
    """Make an event of what a JSON parser gave. Raises InvalidEventError, as `decode_event` does."""
    if not isinstance(document, dict):
        raise InvalidEventError(f"expected an object, got {json_name(document)}")
    fields = cast("dict[str, Any]", document)
    event_id = fields.get("event_id")
    name = event_id if isinstance(event_id, str) else None
    wire = convert(fields, _Envelope, "$", name)
    tag = wire.payload.get("type")
    if not isinstance(tag, str):
        problem = "missing" if "type" not in wire.payload else f"expected a string, got {json_name(tag)}"
        raise InvalidEventError(problem, path="$.payload.type", event=name)
    if wire.type != tag:
        raise InvalidEventError(f"is {wire.type!r}, but the payload's is {tag!r}", path="$.type", event=name)
    return StreamEvent(
        event_id=wire.event_id,
        timestamp=wire.timestamp,
        run_id=wire.run_id,
        trace_context=wire.trace_context,
        payload=_structure_payload(wire.payload, tag, name),
    )


def check_event(event: StreamEvent) -> StreamEvent:
    """Hold an event that Python code made to the same rules as one that came as bytes."""
    payload = event.payload
    if (
        type(payload) is ItemDelta
        and type(payload.delta_content) is str
        and type(payload.item_id) is str
        and type(event.event_id) is str
        and payload.item_id
        and event.event_id
        and type(event.run_id) is str
        and event.run_id
        and type(event.timestamp) is int
        and type(event.trace_context) is TraceContext
        and type(event.trace_context.traceparent) is str
        and event.trace_context.tracestate is None
    ):
        return event
    if type(payload) not in _PAYLOAD_TAGS and type(payload) is not UnknownPayload:
        raise InvalidEventError(
            f"expected a payload, got {json_name(payload)}", path="$.payload", event=str(event.event_id)
        )
    if type(payload) is ItemDone and type(payload.final_item) not in _FINAL_ITEM_TAGS:
        problem = f"expected a final item, got {json_name(payload.final_item)}"
        raise InvalidEventError(problem, path="$.payload.final_item", event=str(event.event_id))
    if type(event.trace_context) is not TraceContext:
        problem = f"expected a trace context, got {json_name(event.trace_context)}"
        raise InvalidEventError(problem, path="$.trace_context", event=str(event.event_id))
    try:
        refuse_nan(event.timestamp)
        return structure_event(unstructure_event(event))
    except (TypeError, AttributeError, ValueError) as exc:
        raise InvalidEventError(str(exc), event=str(getattr(event, "event_id", None))) from exc


def unstructure_event(event: StreamEvent) -> dict[str, Any]:
    """Give the event as builtins with wire names; absent optionals are left out."""
    payload = _unstructure_payload(event.payload)
    return {
        "event_id": event.event_id,
        "timestamp": event.timestamp,
        "trace_context": _present(event.trace_context),
        "run_id": event.run_id,
        "type": payload["type"],
        "payload": payload,
    }


def encode_event(event: StreamEvent) -> bytes:
    """Encode one event as compact JSON. Raises ValueError if a NaN is in it."""
    wire = unstructure_event(event)
    refuse_nan(event.timestamp if type(event.payload) is ItemDelta else wire)
    return dump_json(wire)


# The general road


@attrs.frozen
class _Envelope:
    event_id: Id
    timestamp: int | float
    run_id: Id
    trace_context: TraceContext
    type: str
    payload: dict[str, Any]


@attrs.frozen
class _ItemDoneFields:
    item_id: Id
    final_item: dict[str, Any]


def _structure_payload(fields: dict[str, Any], tag: str, event: str | None) -> Payload:
    cls = PAYLOAD_TYPES.get(tag)
    if cls is None:
        return UnknownPayload(type=tag, fields={key: fields[key] for key in fields if key != "type"})
    if cls is ItemDone:  # msgspec tells no union of attrs classes apart, so its final_item is done by our table
        done = convert(fields, _ItemDoneFields, "$.payload", event)
        return ItemDone(item_id=done.item_id, final_item=_structure_final_item(done.final_item, event))
    return cast("Payload", convert(fields, cls, "$.payload", event))


def _structure_final_item(fields: dict[str, Any], event: str | None) -> FinalItem:
    path = "$.payload.final_item"
    tag = fields.get("type")
    if not isinstance(tag, str):
        problem = "missing" if "type" not in fields else f"expected a string, got {json_name(tag)}"
        raise InvalidEventError(problem, path=f"{path}.type", event=event)
    cls = FINAL_ITEM_TYPES.get(tag)
    if cls is None:
        known = ", ".join(FINAL_ITEM_TYPES)
        raise InvalidEventError(f"{tag!r} is none of {known}", path=f"{path}.type", event=event)
    if cls is FinalMessage and fields.get("origin", "") is None:  # null means absent here as everywhere
        fields = {key: fields[key] for key in fields if key != "origin"}
    return cast("FinalItem", convert(fields, cls, path, event))


def _unstructure_payload(payload: Payload) -> dict[str, Any]:
    match payload:
        case ItemDelta():
            return {"type": "item_delta", "item_id": payload.item_id, "delta_content": payload.delta_content}
        case ItemDone():
            final = payload.final_item
            tagged = {"type": _FINAL_ITEM_TAGS[type(final)], **_present(final)}
            return {"type": "item_done", "item_id": payload.item_id, "final_item": tagged}
        case UnknownPayload():
            return {"type": payload.type, **payload.fields}
        case _:
            return {"type": _PAYLOAD_TAGS[type(payload)], **_present(payload)}


def _present(noun: object) -> dict[str, Any]:
    """Give a noun's fields as builtins, without optional ones that are None (finish_reason is nullable)."""
    fields: dict[str, Any] = {}
    for attribute in attrs.fields(cast("type[attrs.AttrsInstance]", type(noun))):
        value = getattr(noun, attribute.name)
        if value is not None or attribute.default is attrs.NOTHING or attribute.name == "finish_reason":
            fields[attribute.name] = _present(value) if attrs.has(cast("type", type(value))) else value
    return fields
