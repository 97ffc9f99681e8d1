"""AG-UI events ⇄ JSON: both dialects, strictly, and as the official models have it."""

import json
import re
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from ag_ui.core import EventType
from ag_ui.core.events import Event
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.kit.agui_events import ONE_OF_EACH
from turnwire.actors.core import conversation_effects
from turnwire.messages import decode_agui, encode_agui
from turnwire.messages.agui import events as agui
from turnwire.messages.agui import more_events
from turnwire.messages.agui.codec import EVENT_TYPES, structure_agui, unstructure_agui
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import Usage

OFFICIAL: TypeAdapter[Any] = TypeAdapter(Event)


def test_we_know_every_event_of_ag_ui() -> None:
    assert set(EVENT_TYPES) == {event.value for event in EventType} == set(ONE_OF_EACH)
    assert len(EVENT_TYPES) == 31


def test_every_event_has_a_stated_effect() -> None:
    assert set(conversation_effects._EFFECTS) == {*EVENT_TYPES.values(), agui.UnknownAguiEvent}


@pytest.mark.parametrize("tag", ONE_OF_EACH)
def test_what_ag_ui_sends_comes_back_as_it_was(tag: str) -> None:
    """Decoded by us and encoded again, the official models find in it what was in the original."""
    wire = {
        "type": tag,
        "timestamp": 1_700_000_000_000,
        "metadata": {"k": "v"},
        "rawEvent": {"x": 1},
        **ONE_OF_EACH[tag],
    }
    official = OFFICIAL.validate_python(wire)
    event = structure_agui(json.loads(json.dumps(wire)))
    assert type(event) is EVENT_TYPES[tag]
    assert OFFICIAL.validate_json(encode_agui(event)).model_dump() == official.model_dump()
    assert decode_agui(official.model_dump_json(by_alias=True)) == event


@pytest.mark.parametrize("tag", ONE_OF_EACH)
def test_both_dialects_decode_to_the_same(tag: str) -> None:
    event = structure_agui({"type": tag, **ONE_OF_EACH[tag]})
    assert decode_agui(encode_agui(event)) == event
    assert decode_agui(encode_agui(event, dialect="canonical").decode()) == event


@pytest.mark.parametrize(
    ("canonical", "one_zero"),
    [
        ({"type": "TOOL_CALL_START", "toolCallId": "c", "toolName": "x"}, {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "x"}),
        ({"type": "CUSTOM", "name": "n", "data": {"a": 1}}, {"type": "CUSTOM", "name": "n", "value": {"a": 1}}),
        ({"type": "RUN_ERROR", "error": {"message": "m", "code": "c"}}, {"type": "RUN_ERROR", "message": "m", "code": "c"}),
        ({"type": "STEP_STARTED", "stepId": "s"}, {"type": "STEP_STARTED", "stepName": "s"}),
        (
            {"type": "RUN_FINISHED", "runId": "r", "usage": {"promptTokens": 3, "totalTokens": 5}, "finishReason": None},
            {"type": "RUN_FINISHED", "runId": "r", "usage": [{"inputTokens": 3, "totalTokens": 5}]},
        ),
    ],
)  # fmt: skip
def test_where_the_dialects_differ(canonical: dict[str, Any], one_zero: dict[str, Any]) -> None:
    event = structure_agui(canonical)
    assert structure_agui(one_zero) == event
    assert unstructure_agui(event) == one_zero
    assert unstructure_agui(event, dialect="canonical") == canonical


def test_canonical_fields_that_ag_ui_lacks_are_written_beside() -> None:
    end = agui.ToolCallEnd(tool_call_id="c", tool_name="n", input={"a": 1}, result="", error="no")
    assert decode_agui(encode_agui(end)) == end
    step = agui.StepFinished(step_id="s", delta="", signature="sig", content="so far")
    assert decode_agui(encode_agui(step)) == step
    assert OFFICIAL.validate_json(encode_agui(step)).step_name == "s"


def test_usage_of_several_models_is_added_up() -> None:
    usage = [{"inputTokens": 1, "provider": "a"}, {"inputTokens": 2, "outputTokens": 5, "cachedInputTokens": 1}]
    event = structure_agui({"type": "RUN_FINISHED", "runId": "r", "usage": usage})
    assert isinstance(event, agui.RunFinished)
    assert event.usage == Usage(prompt_tokens=3, completion_tokens=5, cached_tokens=1)
    nothing = structure_agui({"type": "RUN_FINISHED", "runId": "r", "usage": []})
    assert isinstance(nothing, agui.RunFinished)
    assert nothing.usage == Usage()


@pytest.mark.parametrize(
    ("wire", "path", "problem"),
    [
        ("nonsense", "$", "not JSON"),
        ("[]", "$", "expected an object, got an array"),
        ("{}", "$.type", "missing"),
        ('{"type": 5}', "$.type", "got a number"),
        ('{"type": ""}', "$.type", "got a string"),
        ('{"type": "TOOL_CALL_ARGS", "toolCallId": 5, "delta": ""}', "$.toolCallId", "expected `str`, got `int`"),
        ('{"type": "TOOL_CALL_ARGS", "toolCallId": "", "delta": ""}', "$.toolCallId", "length >= 1"),
        ('{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": null}', "$.delta", "expected `str`, got `null`"),
        ('{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": 5}', "$.toolCallName", "expected `str`"),
        ('{"type": "TOOL_CALL_START", "toolCallId": "c"}', "$.toolName", "missing"),
        ('{"type": "TOOL_CALL_END", "toolCallId": "c", "result": {}}', "$.result", "expected `str | null`"),
        ('{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "tool"}', "$.role", "Invalid enum value 'tool'"),
        ('{"type": "RUN_FINISHED", "runId": "r", "finishReason": "bored"}', "$.finishReason", "Invalid enum value"),
        ('{"type": "RUN_FINISHED", "runId": "r", "usage": 5}', "$.usage", "expected an object or an array"),
        ('{"type": "RUN_FINISHED", "runId": "r", "usage": {"promptTokens": -1}}', "$.usage.promptTokens", ">= 0"),
        ('{"type": "RUN_FINISHED", "runId": "r", "usage": [{}, 3]}', "$.usage[1]", "expected an object, got a number"),
        ('{"type": "RUN_ERROR"}', "$.message", "missing"),
        ('{"type": "RUN_ERROR", "error": "no"}', "$.error", "expected an object, got a string"),
        ('{"type": "RUN_ERROR", "error": {"code": "x"}}', "$.error.message", "missing"),
        ('{"type": "STATE_SNAPSHOT"}', "$.snapshot", "missing"),
        ('{"type": "STATE_DELTA", "delta": [5]}', "$.delta[0]", "expected `object`"),
        ('{"type": "MESSAGES_SNAPSHOT"}', "$.messages", "missing"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": null}', "$.messages", "got null"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": {}}', "$.messages", "expected an array, got an object"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1"}]}', "$.messages[0].role", "missing"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "cat"}]}', "$.messages[0].role", "'cat' is none of"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "user", "content": 5}]}', "$.messages[0].content", "expected a string or an array"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]}', "$.messages[0].content[0].source.value", "missing"),
        ('{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "assistant", "toolCalls": [{"id": "c"}]}]}', "$.messages[0].toolCalls[0]", "`function`"),
    ],
)  # fmt: skip
def test_a_malformed_event_is_an_error_that_says_where(wire: str, path: str, problem: str) -> None:
    for data in (wire, wire.encode()):
        with pytest.raises(InvalidEventError, match=re.escape(problem)) as caught:
            decode_agui(data)
        assert caught.value.path == path


def test_an_event_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(InvalidEventError, match="at most 10"):
        decode_agui(b'{"type": "RAW"}', max_bytes=10)


def test_unknown_fields_are_passed_over_and_null_is_absent() -> None:
    wire = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": None, "name": None, "colour": "red"}
    assert structure_agui(wire) == agui.TextMessageStart(message_id="m")


def test_an_unknown_event_is_kept_as_it_is() -> None:
    event = structure_agui({"type": "LATER", "what": [1]})
    assert event == agui.UnknownAguiEvent(type="LATER", fields={"what": [1]})
    assert unstructure_agui(event) == {"type": "LATER", "what": [1]}


def test_nan_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON"):
        encode_agui(agui.Custom(name="x", data=[float("nan")]))


def test_half_surrogates_pass() -> None:
    event = decode_agui(b'{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\\ud83d"}')
    assert isinstance(event, agui.TextMessageContent)
    assert event.delta == "\ud83d"


JSON = st.recursive(st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=4)  # fmt: skip


@settings(deadline=None)  # a busy machine is no bug
@given(st.sampled_from([*ONE_OF_EACH]), st.data())
def test_whatever_stands_in_a_field_is_taken_or_refused_with_a_path(tag: str, data: st.DataObject) -> None:
    """Never another error, and what is taken is what the fast and the general road both make of it."""
    wire: dict[str, Any] = {"type": tag, **ONE_OF_EACH[tag]}
    for name in data.draw(st.lists(st.sampled_from([*wire, "delta", "content", "usage"]), max_size=2)):
        wire[name] = data.draw(JSON)
    outcomes = [_outcome(structure_agui, json.loads(json.dumps(wire)))]
    outcomes += [_outcome(decode_agui, json.dumps(wire)), _outcome(decode_agui, json.dumps(wire).encode())]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def _outcome(decode: Callable[[Any], Any], wire: object) -> object:
    try:
        return decode(wire)
    except InvalidEventError as exc:
        return exc.path, exc.problem


def test_nouns_are_frozen() -> None:
    for cls in (*EVENT_TYPES.values(), more_events.TextMessageChunk):
        assert attrs.has(cls)
        assert hasattr(cls, "__slots__")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        agui.RunStarted(run_id="r").run_id = "s"  # type: ignore[misc]  # that is the test
