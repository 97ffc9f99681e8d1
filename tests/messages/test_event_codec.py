"""StreamEvents and their JSON: what is taken, what is refused, and how the refusal is worded."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages.wire import PAYLOADS, WRONG, Wire, all_events, drop, field_kinds, put, wire_done, wire_event
from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import (
    FINAL_ITEM_TYPES,
    PAYLOAD_TYPES,
    check_event,
    decode_event,
    encode_event,
    structure_event,
)
from turnwire.messages.events import (
    ErrorInfo,
    FinalMessage,
    Heartbeat,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ResponseDone,
    StreamEvent,
    TraceContext,
    UnknownPayload,
    Usage,
    UsageUpdate,
)

EVENTS = all_events()
FIELDS = [(name, path, kind) for name in EVENTS for path, kind in field_kinds(name).items()]
REQUIRED = [(name, path) for name, path, kind in FIELDS if not kind.endswith("?")]
OPTIONAL = [(name, path) for name, path, kind in FIELDS if kind.endswith("?")]
MISTYPED: list[tuple[str, str, object]] = [
    (name, path, wrong)
    for name, path, kind in FIELDS
    for wrong in [*WRONG[kind.rstrip("?")], *([] if kind.endswith("?") or kind == "json" else [None])]
]


def decode(event: object) -> StreamEvent:
    return decode_event(json.dumps(event))


def refusal(event: object) -> InvalidEventError:
    with pytest.raises(InvalidEventError) as caught:
        decode(event)
    return caught.value


def made(payload: Any = None, **changes: Any) -> StreamEvent:
    fields: dict[str, Any] = {
        "event_id": "event-1",
        "timestamp": 1,
        "run_id": "run-1",
        "trace_context": TraceContext(traceparent="00-aa-bb-01"),
        "payload": Heartbeat() if payload is None else payload,
        **changes,
    }
    return StreamEvent(**fields)


def test_the_examples_name_every_type_there_is() -> None:
    """The tables of these tests cover the tables of the codec."""
    assert set(PAYLOADS) == set(PAYLOAD_TYPES)
    assert {name.partition(" ")[2] for name in EVENTS if " " in name} == set(FINAL_ITEM_TYPES)


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_comes_back_as_it_was(name: str) -> None:
    """Decoding and encoding a complete event changes nothing in it."""
    assert json.loads(encode_event(decode(EVENTS[name]))) == EVENTS[name]


@pytest.mark.parametrize("name", EVENTS)
def test_an_encoded_event_decodes_to_itself(name: str) -> None:
    """Encoding and decoding is the identity on events."""
    event = decode(EVENTS[name])
    assert decode_event(encode_event(event)) == event


@pytest.mark.parametrize("name", EVENTS)
def test_the_payload_has_the_class_of_its_type(name: str) -> None:
    """The wire type decides about the class of a payload and of a final item."""
    payload = decode(EVENTS[name]).payload
    tag, _, final_tag = name.partition(" ")
    assert type(payload) is PAYLOAD_TYPES[tag]
    if isinstance(payload, ItemDone):
        assert type(payload.final_item) is FINAL_ITEM_TYPES[final_tag]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_without_its_optional_fields_comes_back(name: str) -> None:
    """Optional fields may all be absent at once."""
    bare = all_events()[name]
    for path, kind in field_kinds(name).items():
        if kind.endswith("?") and not path.startswith("payload.usage."):
            bare = drop(bare, path)
    event = decode(bare)
    assert decode_event(encode_event(event)) == event


@pytest.mark.parametrize(("name", "path"), REQUIRED)
def test_a_missing_field_is_refused_by_its_path(name: str, path: str) -> None:
    """An event without a required field is an error that says which event and which field."""
    error = refusal(drop(all_events()[name], path))
    assert error.path == f"$.{path}"
    assert error.event == (None if path == "event_id" else "event-1")
    assert "missing" in error.problem


@pytest.mark.parametrize(("name", "path", "wrong"), MISTYPED)
def test_a_mistyped_field_is_refused_by_its_path(name: str, path: str, wrong: object) -> None:
    """Nothing is coerced: a value of the wrong type is an error that says which event and which field."""
    error = refusal(put(all_events()[name], path, wrong))
    assert error.path == f"$.{path}"
    if path != "event_id":
        assert error.event == "event-1"
        assert "event-1" in str(error)
    assert error.path in str(error)


@pytest.mark.parametrize(("name", "path"), OPTIONAL)
def test_null_for_an_optional_field_is_the_same_as_none(name: str, path: str) -> None:
    """An explicit null means that the field is absent."""
    assert decode(put(all_events()[name], path, None)) == decode(drop(all_events()[name], path))


@pytest.mark.parametrize("name", EVENTS)
def test_unknown_fields_are_passed_over(name: str) -> None:
    """Fields that this version does not know change nothing, wherever they stand."""
    event = all_events()[name]
    for inner in (event, event["trace_context"], event["payload"], event["payload"].get("final_item", {})):
        inner["field_of_tomorrow"] = {"deep": [1, 2, None]}
    assert decode(event) == decode(EVENTS[name])


@pytest.mark.parametrize("name", EVENTS)
def test_a_type_that_contradicts_its_payload_is_refused(name: str) -> None:
    """The envelope's type repeats the payload's; two types are no type."""
    error = refusal(put(all_events()[name], "type", "something_else"))
    assert error.path == "$.type"
    assert error.event == "event-1"


def test_an_unknown_payload_type_is_kept_whole() -> None:
    """A payload of a later version is not an error; it is kept as it came."""
    event = decode(wire_event("poem_written", {"lines": [1, 2], "item_id": 7}))
    assert event.payload == UnknownPayload(type="poem_written", fields={"lines": [1, 2], "item_id": 7})
    assert decode_event(encode_event(event)) == event


def test_an_unknown_final_item_type_is_named() -> None:
    """A final item that nobody knows is an error that says its type."""
    error = refusal(wire_event("item_done", {"item_id": "i", "final_item": {"type": "poem", "id": "i"}}))
    assert error.path == "$.payload.final_item.type"
    assert "poem" in error.problem
    assert error.event == "event-1"


def test_the_origin_of_a_final_message_is_agent_unless_said() -> None:
    """Messages without an origin are the agent's."""
    payload = decode(drop(wire_done("message"), "payload.final_item.origin")).payload
    assert isinstance(payload, ItemDone)
    assert isinstance(payload.final_item, FinalMessage)
    assert payload.final_item.origin == "agent"


@pytest.mark.parametrize("stamp", [0, 1700000000000, 1.5, -3])
@pytest.mark.parametrize("tag", ["heartbeat", "item_delta"])
def test_a_timestamp_keeps_its_number(tag: str, stamp: float) -> None:
    """Whole milliseconds stay whole, parts stay parts."""
    event = decode(wire_event(tag, timestamp=stamp))
    assert event.timestamp == stamp
    assert type(event.timestamp) is type(stamp)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"hello",
        b"{'event_id': 1}",
        b'{"event_id":"e"',
        b"\x00",
        b"nul",
        b'{"a":1}{"a":1}',
        b'{"a":01}',
        b'{"a":"\x01"}',
    ],
)
def test_what_is_not_json_is_refused_at_the_root(text: bytes) -> None:
    """Text that is no JSON is an invalid event, whose path is the whole of it."""
    with pytest.raises(InvalidEventError) as caught:
        decode_event(text)
    assert caught.value.path == "$"


@pytest.mark.parametrize("document", [None, True, 1, 1.5, "event", [], [{}]])
def test_json_that_is_no_object_is_refused(document: object) -> None:
    """An event is an object."""
    assert refusal(document).path == "$"


NOT_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]


@pytest.mark.parametrize("word", NOT_NUMBERS)
@pytest.mark.parametrize("tag", ["heartbeat", "item_delta", "item_error"])
def test_numbers_that_are_none_are_refused(tag: str, word: str) -> None:
    """NaN, Infinity and what no float can hold are not JSON."""
    text = json.dumps(wire_event(tag, timestamp="@")).replace('"@"', word)
    with pytest.raises(InvalidEventError):
        decode_event(text)


@pytest.mark.parametrize("word", NOT_NUMBERS)
@pytest.mark.parametrize("tag", ["heartbeat", "item_delta"])
def test_numbers_that_are_none_are_refused_in_fields_nobody_reads(tag: str, word: str) -> None:
    """What is not JSON is not an event, wherever in it that stands and whichever road it takes."""
    text = json.dumps(wire_event(tag, tomorrow="@")).replace('"@"', word)
    with pytest.raises(InvalidEventError):
        decode_event(text)


@pytest.mark.parametrize("depth", [2_000, 100_000])
@pytest.mark.parametrize("tag", ["heartbeat", "item_delta", "item_error"])
def test_deep_nesting_is_refused(tag: str, depth: int) -> None:
    """An event nested past all reason is an InvalidEventError, not a RecursionError."""
    event = wire_event(tag, tomorrow="@")
    text = json.dumps(event).replace('"@"', "[" * depth + "]" * depth)
    with pytest.raises(InvalidEventError):
        decode_event(text)


@pytest.mark.parametrize("junk", [b"\xff", b"\xc3", b"\xed\xa0\xbd", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"])
@pytest.mark.parametrize("where", ["@text", "@spare"])
@pytest.mark.parametrize("tag", ["item_delta", "item_start"])
def test_invalid_utf8_is_refused(tag: str, where: str, junk: bytes) -> None:
    """Bytes that are no UTF-8 (encoded surrogates among them) are no JSON, in fields nobody reads as well."""
    event = wire_event(tag, spare="@spare")
    event["payload"]["item_id"] = "@text"
    with pytest.raises(InvalidEventError):
        decode_event(json.dumps(event).encode().replace(where.encode(), junk))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_json_is_utf8_only(encoding: str) -> None:
    """JSON between systems is UTF-8; nothing is guessed."""
    with pytest.raises(InvalidEventError):
        decode_event(json.dumps(wire_event("item_delta")).encode(encoding))


def test_an_event_with_too_many_bytes_is_refused_unread() -> None:
    """The limit holds for bytes, and the bytes it names are taken."""
    text = json.dumps(wire_event("item_delta")).encode()
    assert decode_event(text, max_bytes=len(text)).event_id == "event-1"
    with pytest.raises(InvalidEventError, match=str(len(text))):
        decode_event(text, max_bytes=len(text) - 1)


def test_the_limit_counts_bytes_of_text_too() -> None:
    """A string is as large as its UTF-8, not as its number of characters."""
    text = json.dumps(wire_event("item_delta", {"item_id": "i", "delta_content": "é" * 500}), ensure_ascii=False)
    with pytest.raises(InvalidEventError):
        decode_event(text, max_bytes=len(text.encode()) - 1)


def test_the_default_limit_is_sixteen_mebibytes() -> None:
    """One event may hold 16 MiB and not a byte more."""
    empty = len(json.dumps(wire_event("item_delta", {"item_id": "i", "delta_content": ""})))
    room = 16 * 1024 * 1024 - empty
    full = json.dumps(wire_event("item_delta", {"item_id": "i", "delta_content": "x" * room}))
    assert decode_event(full).event_id == "event-1"
    with pytest.raises(InvalidEventError):
        decode_event(full + " ")


@pytest.mark.parametrize("half", ["\ud83d", "a\ud83d", "\ude00b"])
@pytest.mark.parametrize(
    ("tag", "path"),
    [
        ("item_delta", "payload.delta_content"),
        ("item_start", "payload.initial_content"),
        ("item_start", "payload.item_id"),
        ("item_done", "payload.final_item.content"),
        ("item_error", "payload.error.message"),
        ("response_start", "payload.created_at"),
    ],
)
def test_half_surrogates_as_escapes_decode(tag: str, path: str, half: str) -> None:
    """Half of a pair as an escape is legal JSON; it comes through for the turn to join."""
    event = decode(put(wire_event(tag), path, half))
    inner: Any = event
    for name in path.split("."):
        inner = getattr(inner, name)
    assert inner == half


@pytest.mark.parametrize(
    ("tag", "path"), [("item_start", "payload.item_type"), ("item_done", "payload.final_item.origin")]
)
def test_half_surrogates_where_a_word_is_expected_are_refused_by_path(tag: str, path: str) -> None:
    """A half surrogate among words of a closed list is one more wrong word."""
    error = refusal(put(wire_event(tag), path, "\ud83d"))
    assert error.path == f"$.{path}"


@pytest.mark.parametrize("parent", ["", "trace_context", "payload", "payload.final_item"])
def test_half_surrogates_in_unknown_names_are_passed_over(parent: str) -> None:
    """An unknown field is ignored whatever its name is made of."""
    event = wire_event("item_done")
    inner = event
    for name in filter(None, parent.split(".")):
        inner = inner[name]
    inner["\ud83d"] = 1
    assert decode(event) == decode(wire_event("item_done"))


def test_a_value_that_looks_like_a_path_does_not_move_the_path() -> None:
    """The path of an error comes from us, not from what the producer sent."""
    error = refusal(put(wire_event("item_start"), "payload.item_type", "x' - at `$.elsewhere`"))
    assert error.path == "$.payload.item_type"


@pytest.mark.parametrize("number", [2**53 + 1, 2**64, -(2**64), 10**30, 10**400])
def test_big_integers_in_details_survive(number: int) -> None:
    """Integers keep all their digits on the way in and on the way out."""
    event = decode(put(wire_event("item_error"), "payload.error.details", {"n": [number]}))
    assert isinstance(event.payload, ItemError)
    assert event.payload.error.details == {"n": [number]}
    assert json.loads(encode_event(event))["payload"]["error"]["details"] == {"n": [number]}


def test_absent_optionals_are_left_out() -> None:
    """What has no value is not sent as null."""
    event = made(ItemStart(item_id="i", item_type="message"))
    assert json.loads(encode_event(event)) == {
        "event_id": "event-1",
        "timestamp": 1,
        "trace_context": {"traceparent": "00-aa-bb-01"},
        "run_id": "run-1",
        "type": "item_start",
        "payload": {"type": "item_start", "item_id": "i", "item_type": "message"},
    }


def test_a_usage_that_knows_little_says_little() -> None:
    """Unknown counts are left out, a zero is not unknown."""
    event = made(UsageUpdate(response_id="r", usage=Usage(prompt_tokens=0)))
    assert json.loads(encode_event(event))["payload"]["usage"] == {"prompt_tokens": 0}


def test_a_finish_reason_is_null_when_there_is_none() -> None:
    """The one nullable field is sent as null."""
    event = made(ResponseDone(response_id="r", status="complete"))
    assert json.loads(encode_event(event))["payload"] == {
        "type": "response_done",
        "response_id": "r",
        "status": "complete",
        "finish_reason": None,
    }


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("payload", [Heartbeat(), ItemDelta(item_id="i", delta_content="x")])
def test_encoding_refuses_a_timestamp_that_is_no_number(payload: Any, number: float) -> None:
    """NaN is not JSON, and null is not a timestamp."""
    with pytest.raises(ValueError, match="JSON"):
        encode_event(made(payload, timestamp=number))


def test_encoding_refuses_a_nan_deep_inside() -> None:
    """NaN is refused however deep it stands in data that we only carry."""
    error = ErrorInfo(code="c", message="m", details={"a": [{"b": math.nan}]})
    with pytest.raises(ValueError, match="JSON"):
        encode_event(made(ItemError(item_id="i", error=error)))


def test_encoding_mends_half_surrogates() -> None:
    """What leaves us is UTF-8: a half that has no partner is U+FFFD."""
    event = made(ItemDelta(item_id="i", delta_content="a\ud83d"))
    assert json.loads(encode_event(event))["payload"]["delta_content"] == "a\ufffd"


@pytest.mark.parametrize("name", EVENTS)
def test_check_event_passes_what_is_right(name: str) -> None:
    """An event that is valid as bytes is valid as an object."""
    event = decode(EVENTS[name])
    assert check_event(event) == event


def untyped(cls: Any, **fields: Any) -> Any:
    """Make an object as code without type checks may make it."""
    return cls(**fields)


BAD_MESSAGE = untyped(FinalMessage, id="i", content=5)
HANDMADE: list[tuple[str, StreamEvent, str]] = [
    ("no item id", made(ItemDelta(item_id="", delta_content="x")), "$.payload.item_id"),
    ("null text", made(untyped(ItemDelta, item_id="i", delta_content=None)), "$.payload.delta_content"),
    ("text is bytes", made(untyped(ItemDelta, item_id="i", delta_content=b"x")), "$.payload.delta_content"),
    ("item id is a number", made(untyped(ItemStart, item_id=7, item_type="message")), "$.payload.item_id"),
    ("no such item type", made(untyped(ItemStart, item_id="i", item_type="poem")), "$.payload.item_type"),
    ("no final item", made(untyped(ItemDone, item_id="i", final_item=None)), "$.payload.final_item"),
    ("final item is text", made(untyped(ItemDone, item_id="i", final_item="x")), "$.payload.final_item"),
    ("content is a number", made(ItemDone(item_id="i", final_item=BAD_MESSAGE)), "$.payload.final_item.content"),
    ("no error", made(untyped(ItemError, item_id="i", error=None)), "$.payload.error"),
    ("usage is text", made(untyped(UsageUpdate, response_id="r", usage="x")), "$.payload.usage"),
    (
        "negative count",
        made(UsageUpdate(response_id="r", usage=Usage(prompt_tokens=-1))),
        "$.payload.usage.prompt_tokens",
    ),
    ("no payload", made(payload=0), "$.payload"),
    ("payload is a dict", made({"type": "heartbeat"}), "$.payload"),
    ("run id is a number", made(run_id=5), "$.run_id"),
    ("no run id", made(run_id=""), "$.run_id"),
    ("timestamp is text", made(timestamp="now"), "$.timestamp"),
    ("no trace context", made(trace_context=None), "$.trace_context"),
    (
        "traceparent is a number",
        made(trace_context=untyped(TraceContext, traceparent=1)),
        "$.trace_context.traceparent",
    ),
]
DELTA = ItemDelta(item_id="i", delta_content="x")
HANDMADE_DELTAS: list[tuple[str, StreamEvent, str]] = [
    ("run id is a number", made(DELTA, run_id=5), "$.run_id"),
    ("no run id", made(DELTA, run_id=""), "$.run_id"),
    ("timestamp is text", made(DELTA, timestamp="now"), "$.timestamp"),
    ("no trace context", made(DELTA, trace_context=None), "$.trace_context"),
    ("event id is a number", made(DELTA, event_id=5), "$.event_id"),
    ("no event id", made(DELTA, event_id=""), "$.event_id"),
]


@pytest.mark.parametrize(("event", "path"), [row[1:] for row in HANDMADE], ids=[row[0] for row in HANDMADE])
def test_check_event_refuses_wrong_objects_by_path(event: StreamEvent, path: str) -> None:
    """An event that Python code made badly is refused with the path its JSON would have had."""
    with pytest.raises(InvalidEventError) as caught:
        check_event(event)
    assert caught.value.path == path
    assert caught.value.event == "event-1"


@pytest.mark.parametrize(
    ("event", "path"), [row[1:] for row in HANDMADE_DELTAS], ids=[row[0] for row in HANDMADE_DELTAS]
)
def test_check_event_holds_a_delta_to_the_same_rules(event: StreamEvent, path: str) -> None:
    """A delta is checked as fully as any other event, quickly or not."""
    with pytest.raises(InvalidEventError) as caught:
        check_event(event)
    assert caught.value.path == path


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None, categories=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DELTA_PATHS = ["event_id", "timestamp", "run_id", "type", "trace_context", "payload", "tomorrow"] + [
    f"{parent}.{name}"
    for parent, names in {
        "trace_context": ["traceparent", "tracestate", "tomorrow"],
        "payload": ["type", "item_id", "delta_content", "tomorrow"],
    }.items()
    for name in names
]


def outcome(decoded: Any) -> object:
    """What a decoder came to: its event, or where it stumbled."""
    try:
        return decoded()
    except InvalidEventError as exc:
        return exc.path


@settings(max_examples=400, deadline=None)
@given(changes=st.lists(st.tuples(st.sampled_from(DELTA_PATHS), st.none() | st.just("drop") | JSON_VALUES), max_size=3))
def test_both_roads_of_a_delta_agree_about_its_fields(changes: list[tuple[str, Any]]) -> None:
    """Decoding the bytes and structuring the parsed JSON come to the same event or to the same refusal."""
    event: Wire = wire_event("item_delta")
    for path, value in changes:
        try:
            event = drop(event, path) if value == "drop" else put(event, path, value)
        except (KeyError, TypeError):
            continue  # an earlier change has taken the parent away
    text = json.dumps(event).encode()
    assert outcome(lambda: decode_event(text)) == outcome(lambda: structure_event(json.loads(text)))


@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_both_roads_of_a_delta_agree_about_its_bytes(data: st.DataObject) -> None:
    """What the fast road takes is valid JSON, and says what a plain JSON parser says that it says."""
    text = bytearray(json.dumps(wire_event("item_delta", tomorrow=["é\ud83d", -1.5e3, 12])).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"", b"0", b"9", b"e9", b"E+", b".", b"-", b'"', b",", b"{", b"]", b"\\", b"\xff", b"\x00"]
            )
            | st.binary(max_size=2)
        )
    if try_decode_delta(bytes(text)) is not None:
        expected = structure_event(json.loads(bytes(text).decode(), parse_constant=pytest.fail))
        assert decode_event(bytes(text)) == expected
