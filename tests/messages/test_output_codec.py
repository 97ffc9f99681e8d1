"""Outputs and their JSON, character by character."""

import json
import math
from typing import Any

import pytest

from turnwire.messages.output_codec import OUTPUT_TYPES, decode_message, decode_output, encode_message, encode_output
from turnwire.messages.outputs import (
    Message,
    Output,
    StreamMessage,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnUsage,
)

ITEM: dict[str, Any] = {"turn_id": "t", "thread_id": "h", "item_id": "i", "status": "create", "content": "c"}
FAILED: dict[str, Any] = {**ITEM, "status": "error"}
TURN: dict[str, Any] = {"turn_id": "t", "thread_id": "h"}
CALL: dict[str, Any] = {**ITEM, "content": "", "tool_name": "add", "call_id": "k"}
WIRE_ITEM = '"turnId":"t","threadId":"h","itemId":"i"'
WIRE_CALL = f'{{"type":"tool_call",{WIRE_ITEM},"status":"create","content":"","toolName":"add"'

OUTPUTS: list[tuple[Output, str]] = [
    (
        Message(**ITEM, origin="agent"),
        f'{{"type":"message",{WIRE_ITEM},"status":"create","content":"c","origin":"agent"}}',
    ),
    (
        Message(**FAILED, origin="user", error_code="E", error_message="m"),
        f'{{"type":"message",{WIRE_ITEM},"status":"error","content":"c","origin":"user","errorCode":"E","errorMessage":"m"}}',
    ),
    (
        Thinking(**ITEM, provider_id="p"),
        f'{{"type":"thinking",{WIRE_ITEM},"status":"create","content":"c","providerId":"p"}}',
    ),
    (
        Thinking(**ITEM, provider_id="", error_code="E", error_message=""),
        f'{{"type":"thinking",{WIRE_ITEM},"status":"create","content":"c","providerId":"","errorCode":"E","errorMessage":""}}',
    ),
    (ToolCall(**CALL, tool_arguments={}), f'{WIRE_CALL},"toolArguments":{{}},"callId":"k"}}'),
    (
        ToolCall(
            **CALL, tool_arguments={"snake_case": {"in_side": None}}, tool_output=[1, {"a_b": None}], success=False
        ),
        f'{WIRE_CALL},"toolArguments":{{"snake_case":{{"in_side":null}}}},"callId":"k","toolOutput":[1,{{"a_b":null}}],"success":false}}',
    ),
    (
        ToolCall(**CALL, tool_arguments={"n": 10**30}, tool_output="", success=True),
        f'{WIRE_CALL},"toolArguments":{{"n":1{"0" * 30}}},"callId":"k","toolOutput":"","success":true}}',
    ),
    (TurnStarted(**TURN), '{"type":"turn_started","turnId":"t","threadId":"h"}'),
    (
        TurnStarted(**TURN, model_id="m", provider_id=""),
        '{"type":"turn_started","turnId":"t","threadId":"h","modelId":"m","providerId":""}',
    ),
    (TurnComplete(**TURN, status="aborted"), '{"type":"turn_complete","turnId":"t","threadId":"h","status":"aborted"}'),
    (
        TurnComplete(**TURN, status="complete", usage=TurnUsage(prompt_tokens=1, completion_tokens=2, total_tokens=3)),
        '{"type":"turn_complete","turnId":"t","threadId":"h","status":"complete",'
        '"usage":{"promptTokens":1,"completionTokens":2,"totalTokens":3}}',
    ),
    (
        TurnError(**TURN, error=TurnFailure(code="E", message="m")),
        '{"type":"turn_error","turnId":"t","threadId":"h","error":{"code":"E","message":"m"}}',
    ),
]
TEXTS = [text for _, text in OUTPUTS]


@pytest.mark.parametrize(("output", "text"), OUTPUTS)
def test_an_output_has_exactly_this_json(output: Output, text: str) -> None:
    """The type first, camelCase names, nothing that is absent; data inside is left alone."""
    assert encode_output(output) == text


@pytest.mark.parametrize(("output", "text"), OUTPUTS)
def test_the_json_of_an_output_is_read_back(output: Output, text: str) -> None:
    """As text and as bytes."""
    assert decode_output(text) == output
    assert decode_output(text.encode()) == output


def test_every_type_has_an_example() -> None:
    """These tests cover the table of the codec."""
    assert {json.loads(text)["type"] for text in TEXTS} == set(OUTPUT_TYPES)


FULL: dict[str, dict[str, Any]] = {json.loads(text)["type"]: json.loads(text) for text in TEXTS}
OPTIONAL = {"errorCode", "errorMessage", "modelId", "providerId of turn_started", "toolOutput", "success", "usage"}
FIELDS = [(tag, name) for tag, fields in FULL.items() for name in fields if name != "type"]


def is_optional(tag: str, name: str) -> bool:
    return name in OPTIONAL or f"{name} of {tag}" in OPTIONAL


@pytest.mark.parametrize(("tag", "name"), [field for field in FIELDS if not is_optional(*field)])
def test_a_missing_field_is_named(tag: str, name: str) -> None:
    """The error says where."""
    fields = {key: value for key, value in FULL[tag].items() if key != name}
    with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
        decode_output(json.dumps(fields))


@pytest.mark.parametrize(("tag", "name"), FIELDS)
def test_a_mistyped_field_is_named(tag: str, name: str) -> None:
    """Nothing is coerced, and the error says where."""
    for wrong in (5, 1.5, [None] if name != "toolOutput" else 7):
        with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
            decode_output(json.dumps({**FULL[tag], name: wrong}))


@pytest.mark.parametrize(("tag", "name"), [field for field in FIELDS if not is_optional(*field)])
def test_null_for_a_required_field_is_named(tag: str, name: str) -> None:
    """A null text does not become the word None."""
    with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
        decode_output(json.dumps({**FULL[tag], name: None}))


@pytest.mark.parametrize(
    ("tag", "inner", "path"),
    [
        (
            "turn_complete",
            {"usage": {"promptTokens": True, "completionTokens": 1, "totalTokens": 1}},
            "usage.promptTokens",
        ),
        ("turn_complete", {"usage": {"promptTokens": 1, "completionTokens": 1}}, "usage.totalTokens"),
        (
            "turn_complete",
            {"usage": {"promptTokens": 1, "completionTokens": "1", "totalTokens": 1}},
            "usage.completionTokens",
        ),
        ("turn_error", {"error": {"code": 5, "message": "m"}}, "error.code"),
        ("turn_error", {"error": {"code": "c"}}, "error.message"),
    ],
)
def test_a_wrong_field_inside_is_named_by_its_wire_path(tag: str, inner: dict[str, Any], path: str) -> None:
    """Paths are those of the JSON, not of the attributes."""
    with pytest.raises(ValueError, match=rf"\$\.{path}\b"):
        decode_output(json.dumps({**FULL[tag], **inner}))


@pytest.mark.parametrize(
    ("tag", "name", "word"),
    [
        ("message", "status", "done"),
        ("message", "origin", "robot"),
        ("turn_complete", "status", "create"),
        ("thinking", "status", ""),
    ],
)
def test_a_word_outside_its_list_is_named(tag: str, name: str, word: str) -> None:
    """Statuses and origins are closed lists."""
    with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
        decode_output(json.dumps({**FULL[tag], name: word}))


@pytest.mark.parametrize("text", ["{}", '{"type":null}', '{"type":[]}', '{"type":"poem"}', '{"type":"item_upsert"}'])
def test_an_unknown_type_is_named(text: str) -> None:
    """No type, no output."""
    with pytest.raises(ValueError, match=r"\$\.type"):
        decode_output(text)


@pytest.mark.parametrize("text", ["", "null", "[]", "5", "{", '{"type":"message","content":NaN}'])
def test_what_is_no_output_is_a_value_error(text: str) -> None:
    """Text that is no object, or no JSON."""
    with pytest.raises(ValueError, match=r"."):
        decode_output(text)


@pytest.mark.parametrize("tag", FULL)
def test_unknown_fields_are_passed_over(tag: str) -> None:
    """A reader of today reads what is sent tomorrow."""
    assert decode_output(json.dumps({**FULL[tag], "tomorrow": {"a": 1}})) == decode_output(json.dumps(FULL[tag]))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_is_refused(number: float) -> None:
    """It would arrive as null."""
    with pytest.raises(ValueError, match="not JSON"):
        encode_output(ToolCall(**CALL, tool_arguments={"a": [number]}))
    with pytest.raises(ValueError, match="not JSON"):
        encode_output(ToolCall(**CALL, tool_arguments={}, tool_output=[{"a": number}]))


def test_half_surrogates_become_marks() -> None:
    """In texts, ids and data alike."""
    halves: dict[str, Any] = {**CALL, "content": "a\ud83d", "item_id": "\ude00"}
    output = ToolCall(**halves, tool_arguments={"\ud83d": "\ud83d\ude00"})
    wire = json.loads(encode_output(output))
    assert (wire["content"], wire["itemId"], wire["toolArguments"]) == ("a\ufffd", "\ufffd", {"\ufffd": "😀"})


ENVELOPE = StreamMessage(event_id="t:1-1", timestamp=1700000000000, turn_id="t", payload='{"type":"turn_started"}')


def test_the_envelope_has_exactly_this_json() -> None:
    """Four fields; the payload is JSON text inside JSON, and says its type itself."""
    expected = rb'{"eventId":"t:1-1","timestamp":1700000000000,"turnId":"t","payload":"{\"type\":\"turn_started\"}"}'
    assert encode_message(ENVELOPE) == expected


@pytest.mark.parametrize(("output", "_text"), OUTPUTS)
def test_the_envelope_is_read_back(output: Output, _text: str) -> None:
    """With whatever payload."""
    envelope = StreamMessage(event_id="e", timestamp=1, turn_id="t", payload=encode_output(output))
    assert decode_message(encode_message(envelope)) == envelope
    assert decode_output(decode_message(encode_message(envelope)).payload) == output


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("eventId", 5), ("timestamp", 1.5), ("timestamp", "1"), ("timestamp", True), ("turnId", None), ("payload", {})],
)
def test_a_wrong_envelope_is_named(name: str, wrong: object) -> None:
    """Missing or mistyped, the error says where."""
    fields = json.loads(encode_message(ENVELOPE))
    with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
        decode_message(json.dumps({**fields, name: wrong}))
    del fields[name]
    with pytest.raises(ValueError, match=rf"\$\.{name}\b"):
        decode_message(json.dumps(fields))
