"""Events as they stand on the wire: one complete example of each kind, and what each of their fields must be.

A kind that ends in `?` may be absent or null. `json` takes any value at all.
"""

import copy
from typing import Any

Wire = dict[str, Any]

ERROR: Wire = {"code": "E42", "message": "went wrong", "stack": "line 1", "details": {"tries": 3, "big": 10**30}}
USAGE: Wire = {
    "prompt_tokens": 10,
    "completion_tokens": 3,
    "total_tokens": 13,
    "cached_tokens": 4,
    "cache_write_tokens": 0,
    "reasoning_tokens": 1,
}
COMMON: Wire = {"id": "item-1", "correlation_id": "corr-1", "provider_data": {"seen": [1, None, "x"]}}

FINAL_ITEMS: dict[str, Wire] = {
    "message": {**COMMON, "content": "Hello", "origin": "system", "annotations": [{"at": 1}, "note"]},
    "reasoning": {**COMMON, "content": "Let me think", "origin": "agent"},
    "function_call": {**COMMON, "name": "add", "arguments": '{"a":1}', "call_id": "call-1", "origin": "agent"},
    "function_call_output": {**COMMON, "call_id": "call-1", "output": "[2]", "success": True, "origin": "tool"},
    "error": {**COMMON, "code": "E1", "message": "no", "details": [1], "origin": "agent"},
    "cancelled": {**COMMON, "reason": "not wanted", "origin": "agent"},
    "script_execution": {**COMMON, "code": "print(1)", "origin": "agent"},
    "script_execution_output": {
        **COMMON,
        "script_id": "script-1",
        "result": {"out": 1},
        "success": False,
        "error": "boom",
        "origin": "agent",
    },
}

PAYLOADS: dict[str, Wire] = {
    "response_start": {
        "response_id": "resp-1",
        "turn_id": "turn-1",
        "thread_id": "thread-1",
        "agent_id": "agent-1",
        "model_id": "model-1",
        "provider_id": "provider-1",
        "created_at": 1700000000000,
    },
    "item_start": {
        "item_id": "item-1",
        "item_type": "function_call",
        "origin": "agent",
        "initial_content": "He",
        "name": "add",
        "arguments": "{",
        "call_id": "call-1",
        "code": "print(1)",
    },
    "item_delta": {"item_id": "item-1", "delta_content": "llo"},
    "item_done": {"item_id": "item-1", "final_item": {"type": "message", **FINAL_ITEMS["message"]}},
    "item_error": {"item_id": "item-1", "error": ERROR},
    "item_cancelled": {"item_id": "item-1", "reason": "not wanted"},
    "response_done": {
        "response_id": "resp-1",
        "status": "complete",
        "usage": USAGE,
        "finish_reason": "stop",
        "raw_finish_reason": "end_turn",
        "provider_response_id": "theirs-1",
        "served_model": "model-1-large",
    },
    "response_error": {"response_id": "resp-1", "error": ERROR},
    "usage_update": {"response_id": "resp-1", "usage": USAGE},
    "heartbeat": {},
    "turn_aborted_by_user": {"turn_id": "turn-1", "reason": "stop button"},
    "script_execution_start": {"item_id": "item-1", "code": "print(1)"},
    "script_execution_done": {"item_id": "item-1", "result": [1], "success": True},
    "script_execution_error": {"item_id": "item-1", "error": {"why": "boom"}},
}

ERROR_FIELDS = {"error": "object", "error.code": "text", "error.message": "text"}
ERROR_OPTIONS = {"error.stack": "text?", "error.details": "json?"}
USAGE_FIELDS = {f"usage.{name}": "count?" for name in USAGE}
COMMON_FIELDS = {"id": "id", "correlation_id": "id?", "provider_data": "json?"}

ENVELOPE_FIELDS: dict[str, str] = {
    "event_id": "id",
    "timestamp": "number",
    "run_id": "id",
    "trace_context": "object",
    "trace_context.traceparent": "text",
    "trace_context.tracestate": "text?",
    "type": "text",
    "payload": "object",
    "payload.type": "text",
}
PAYLOAD_FIELDS: dict[str, dict[str, str]] = {
    "response_start": {
        "response_id": "id",
        "turn_id": "id",
        "thread_id": "id",
        "agent_id": "text?",
        "model_id": "text",
        "provider_id": "text",
        "created_at": "moment",
    },
    "item_start": {
        "item_id": "id",
        "item_type": "item type",
        "origin": "text?",
        "initial_content": "text?",
        "name": "text?",
        "arguments": "text?",
        "call_id": "id?",
        "code": "text?",
    },
    "item_delta": {"item_id": "id", "delta_content": "text"},
    "item_done": {"item_id": "id", "final_item": "object", "final_item.type": "text"},
    "item_error": {"item_id": "id", **ERROR_FIELDS, **ERROR_OPTIONS},
    "item_cancelled": {"item_id": "id", "reason": "text?"},
    "response_done": {
        "response_id": "id",
        "status": "text",
        "usage": "object?",
        **USAGE_FIELDS,
        "finish_reason": "text?",
        "raw_finish_reason": "text?",
        "provider_response_id": "text?",
        "served_model": "text?",
    },
    "response_error": {"response_id": "id", **ERROR_FIELDS, **ERROR_OPTIONS},
    "usage_update": {"response_id": "id", "usage": "object", **USAGE_FIELDS},
    "heartbeat": {},
    "turn_aborted_by_user": {"turn_id": "id", "reason": "text"},
    "script_execution_start": {"item_id": "id", "code": "text"},
    "script_execution_done": {"item_id": "id", "result": "json", "success": "bool"},
    "script_execution_error": {"item_id": "id", "error": "json"},
}
FINAL_ITEM_FIELDS: dict[str, dict[str, str]] = {
    "message": {**COMMON_FIELDS, "content": "text", "origin": "speaker?", "annotations": "list?"},
    "reasoning": {**COMMON_FIELDS, "content": "text", "origin": "text?"},
    "function_call": {**COMMON_FIELDS, "name": "text", "arguments": "text?", "call_id": "id", "origin": "text?"},
    "function_call_output": {
        **COMMON_FIELDS,
        "call_id": "id",
        "output": "text",
        "success": "bool?",
        "origin": "text?",
    },
    "error": {**COMMON_FIELDS, "code": "text", "message": "text", "details": "json?", "origin": "text?"},
    "cancelled": {**COMMON_FIELDS, "reason": "text?", "origin": "text?"},
    "script_execution": {**COMMON_FIELDS, "code": "text", "origin": "text?"},
    "script_execution_output": {
        **COMMON_FIELDS,
        "script_id": "id",
        "result": "json",
        "success": "bool",
        "error": "json?",
        "origin": "text?",
    },
}

WRONG: dict[str, list[Any]] = {
    "id": ["", 5, 0.5, True, [], {}],
    "text": [5, 0.5, True, ["x"], {"x": 1}],
    "bool": [1, 0, "true", [], {}],
    "count": [-1, 1.5, True, "7", [], {}],
    "number": ["1", True, [], {}],
    "moment": [True, [], {}],
    "object": ["x", 5, True, [], [{}]],
    "list": ["x", 5, True, {}],
    "item type": ["poem", "", 5, True, [], {}],
    "speaker": ["robot", "", 5, True, [], {}],
    "json": [],
}
"""Values that a field of this kind must refuse; null comes on top where the field is required and not `json`."""


def wire_event(tag: str, payload: Wire | None = None, **changes: Any) -> Wire:
    """Make one whole event, all its own: changing it changes no other."""
    fields = PAYLOADS[tag] if payload is None else payload
    event: Wire = {
        "event_id": "event-1",
        "timestamp": 1700000000000.5,
        "trace_context": {"traceparent": "00-aa-bb-01", "tracestate": "k=v"},
        "run_id": "run-1",
        "type": tag,
        "payload": {"type": tag, **fields},
        **changes,
    }
    return copy.deepcopy(event)


def wire_done(final_tag: str, **changes: Any) -> Wire:
    """Make an `item_done` event around a final item of this type."""
    final_item = {"type": final_tag, **FINAL_ITEMS[final_tag], **changes}
    return wire_event("item_done", {"item_id": "item-1", "final_item": final_item})


def all_events() -> dict[str, Wire]:
    """Make one complete event of each payload type and of each final item type, by name."""
    events = {tag: wire_event(tag) for tag in PAYLOADS if tag != "item_done"}
    return events | {f"item_done {tag}": wire_done(tag) for tag in FINAL_ITEMS}


def field_kinds(name: str) -> dict[str, str]:
    """Give the kind of every field of the event with this name, by its path from the top."""
    kinds = dict(ENVELOPE_FIELDS)
    tag, _, final_tag = name.partition(" ")
    kinds |= {f"payload.{path}": kind for path, kind in PAYLOAD_FIELDS[tag].items()}
    if final_tag:
        kinds |= {f"payload.final_item.{path}": kind for path, kind in FINAL_ITEM_FIELDS[final_tag].items()}
    return kinds


def put(event: Wire, path: str, value: object) -> Wire:
    """Change the field at this path."""
    *parents, last = path.split(".")
    inner = event
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return event


def drop(event: Wire, path: str) -> Wire:
    """Take the field at this path out."""
    *parents, last = path.split(".")
    inner = event
    for parent in parents:
        inner = inner[parent]
    del inner[last]
    return event
