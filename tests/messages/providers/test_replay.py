"""What a provider must get back comes back byte for byte."""

import json
from typing import Any

from tests.kit.recordings import Recording, adapt, each_recording, recording_named
from tests.kit.streams import (
    Event,
    added,
    block_start,
    block_stop,
    call_piece,
    chunk,
    completed,
    done,
    message_end,
    message_start,
    output_text,
    text_block,
)
from turnwire.messages import decode_event, encode_event
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
)
from turnwire.messages.providers.replay import anthropic_messages, chat_messages, items_to_replay, responses_input

REPLAYS = {"anthropic-messages": anthropic_messages, "openai-responses": responses_input, "openai-chat": chat_messages}


def replayed(provider: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give what goes back, after a trip of the events over the wire, as a log would make it."""
    told = [decode_event(encode_event(event)) for event in adapt(provider, events)]
    return REPLAYS[provider](items_to_replay(told))


def opaque_strings(provider: str, events: list[dict[str, Any]]) -> set[str]:
    """Find the signatures, sealed thoughts and encrypted reasoning of a finished stream."""
    found: set[str] = set()
    for event in events:
        match provider, event:
            case "anthropic-messages", {"delta": {"type": "signature_delta", "signature": str(value)}}:
                found.add(value)
            case "anthropic-messages", {"content_block": {"type": "redacted_thinking", "data": str(value)}}:
                found.add(value)
            case "openai-responses", {"type": "response.output_item.done", "item": {"encrypted_content": str(value)}}:
                found.add(value)
            case _:
                pass
    return found


@each_recording
def test_c16_opaque_data_of_every_recording_comes_back(recording: Recording) -> None:
    """Signatures, redacted thinking and encrypted reasoning are in the next request as they were received.

    All but one: `sig-first` seals the thinking of an attempt that its provider has abandoned.
    """
    sent = json.dumps(replayed(recording.provider, recording.events))
    for value in opaque_strings(recording.provider, recording.events):
        assert (json.dumps(value)[1:-1] in sent) == (value != "sig-first")


def test_c16_some_recordings_do_have_opaque_data() -> None:
    """The test above is not empty."""
    redacted = recording_named("anthropic-messages", "thinking-redacted")
    encrypted = recording_named("openai-responses", "reasoning-encrypted")
    assert len(opaque_strings(redacted.provider, redacted.events)) == 2
    assert len(opaque_strings(encrypted.provider, encrypted.events)) == 1


def test_anthropic_blocks_come_back_in_their_order() -> None:
    """Sealed thinking stands before the call it led to; the tool's result is the user's next message."""
    redacted = {"type": "redacted_thinking", "data": "x"}
    events = [message_start(), {"type": "content_block_start", "index": 0, "content_block": redacted}, block_stop(0),
              *text_block(1, "Let me look."), block_start(2, "tool_use", id="t1", name="look", input={"a": 1}), block_stop(2),
              *message_end("tool_use")]  # fmt: skip
    items: list[FinalItem] = [
        FinalMessage(id="u", content="Hello", origin="user"),
        *items_to_replay(adapt("anthropic-messages", events)),
        FinalFunctionCallOutput(id="o", call_id="t1", output="42", success=False),
    ]
    assert anthropic_messages(items) == [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {
            "role": "assistant",
            "content": [
                redacted,
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "42", "is_error": True}]},
    ]


def test_cited_text_comes_back_in_its_blocks() -> None:
    """A message that was joined from cited blocks is cut again where they met."""
    recording = recording_named("anthropic-messages", "web-search")
    (message,) = replayed("anthropic-messages", recording.events)
    given = [
        (event["content_block"]["type"], place)
        for place, event in enumerate(recording.events)
        if event["type"] == "content_block_start"
    ]
    assert [block["type"] for block in message["content"]] == [kind for kind, _ in given]
    cited = sum(event.get("delta", {}).get("type") == "citations_delta" for event in recording.events)
    assert sum(len(block.get("citations", [])) for block in message["content"]) == cited > 0


def test_responses_items_come_back_with_their_ids_and_reasoning() -> None:
    """Reasoning, messages and calls go back as the items they were, phase and ids included."""
    sealed: Event = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"}
    events = [{"type": "response.output_item.done", "output_index": 0, "item": sealed},
              done(1, "message", id="m1", phase="commentary", content=output_text("Looking.")),
              done(2, "function_call", id="f1", call_id="c1", name="look", arguments="{}"),
              added(3, "custom_tool_call", id="x1", call_id="c2", name="sql"),
              done(3, "custom_tool_call", id="x1", call_id="c2", name="sql", input="SELECT 1"), completed()]  # fmt: skip
    items = [
        *items_to_replay(adapt("openai-responses", events)),
        FinalFunctionCallOutput(id="o", call_id="c1", output="42"),
        FinalFunctionCallOutput(id="p", call_id="c2", output="1 row"),
    ]
    assert responses_input(items) == [
        sealed,
        {"type": "message", "role": "assistant", "status": "completed", "id": "m1", "phase": "commentary",
         "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "custom_tool_call", "id": "x1", "call_id": "c2", "name": "sql", "input": "SELECT 1"},
        {"type": "function_call_output", "call_id": "c1", "output": "42"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "1 row"},
    ]  # fmt: skip


def test_a_refusal_comes_back_as_one() -> None:
    """Its text alone would make the model say what it refused to say."""
    refusal = [{"type": "refusal", "refusal": "No."}]
    (message,) = replayed("openai-responses", [done(0, "message", id="m1", content=refusal), completed()])
    assert message["content"] == refusal


def test_what_a_call_says_of_its_caller_comes_back() -> None:
    """Anthropic marks the calls that a program of its own has made."""
    caller = {"type": "code_execution_20250825", "tool_id": "s1"}
    events = [message_start(), block_start(0, "tool_use", id="t1", name="look", input={}, caller=caller), block_stop(0),
              *message_end("tool_use")]  # fmt: skip
    (message,) = replayed("anthropic-messages", events)
    assert message["content"] == [{"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": caller}]


def test_several_texts_of_one_chat_message_stay_apart() -> None:
    """One is a plain string, which every host takes; two are a list."""
    first, second = FinalMessage(id="a", content="One."), FinalMessage(id="b", content="Two.")
    assert chat_messages([first]) == [{"role": "assistant", "content": "One."}]
    assert chat_messages([first, second]) == [
        {"role": "assistant", "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]}
    ]


def test_sealed_reasoning_alone_still_makes_a_message() -> None:
    """With the empty content that a message without calls must have; thoughts that nobody sealed make none."""
    sealed = {"format": "openai-chat", "reasoning_details": [{"type": "reasoning.encrypted", "data": "ZZ"}]}
    items = [FinalReasoning(id="a", content="Hm"), FinalReasoning(id="b", content="Hm", provider_data=sealed)]
    assert chat_messages(items) == [
        {"role": "assistant", "reasoning_details": sealed["reasoning_details"], "content": ""}
    ]


def test_chat_items_of_one_response_share_a_message() -> None:
    """Text and calls are one assistant message; sealed reasoning and thought signatures are on it."""
    sealed = {"type": "reasoning.encrypted", "data": "ZZ"}
    piece = call_piece("{}", name="look", call_id="c1")
    piece["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "sig"}}
    events = [chunk(reasoning_details=[sealed]), chunk(content="Hm"), piece, chunk("tool_calls")]
    items = [*items_to_replay(adapt("openai-chat", events)), FinalFunctionCallOutput(id="o", call_id="c1", output="42")]
    assert chat_messages(items) == [
        {
            "role": "assistant",
            "reasoning_details": [sealed],
            "content": "Hm",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "sig"}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]


def test_items_of_another_provider_go_back_as_plain_text() -> None:
    """Opaque data is opened only by the format that sealed it."""
    foreign: list[FinalItem] = [
        FinalReasoning(
            id="r", content="Hm", provider_data={"format": "anthropic-messages", "block": {"signature": "s"}}
        ),
        FinalMessage(id="m", content="Hi", provider_data={"format": "anthropic-messages", "before": [{"x": 1}]}),
        FinalFunctionCall(id="f", name="look", call_id="c", arguments="not JSON"),
    ]
    assert [entry["type"] for entry in responses_input(foreign)] == ["message", "function_call"]
    assert "signature" not in json.dumps(chat_messages(foreign))
    assert anthropic_messages(foreign[2:])[0]["content"][0]["input"] == {}
