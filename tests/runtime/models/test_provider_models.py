"""The three providers as models, against a server on loopback that plays recorded tool calls over two iterations."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from tests.kit.loopback import Answer, Loopback, open_loopback
from tests.kit.model_calls import ask, ask_twice, make_call
from tests.kit.recordings import recording_named, sse_body, told
from tests.kit.sdk_types import check_request
from turnwire.actors.core.toolset import Tool
from turnwire.actors.engine_ports import Model
from turnwire.messages.events import FinalFunctionCall, ResponseDone, StreamEvent
from turnwire.messages.providers.contract import check_contract
from turnwire.messages.ui import TextPart, UIMessage
from turnwire.runtime.models.provider import ProviderModel
from turnwire.runtime.providers import Endpoint, anthropic_messages, openai_chat, openai_responses
from turnwire.runtime.providers.http import ConnectRetry, open_client

KEY = "sk-planted-0123456789"
ENDPOINTS = {"openai-responses": openai_responses, "openai-chat": openai_chat, "anthropic-messages": anthropic_messages}
TOOL_TYPES: dict[str, Any] = {
    "openai-responses": FunctionToolParam,
    "openai-chat": ChatCompletionToolParam,
    "anthropic-messages": ToolParam,
}


def calculator(a: float, b: float, op: str = "add") -> float:
    """Calculate."""
    return a + b


SPEC = Tool.of(calculator).spec
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "op": {"type": "string", "default": "add"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def endpoint(provider: str, url: str) -> Endpoint:
    return ENDPOINTS[provider](api_key=KEY, base_url=url)


@asynccontextmanager
async def playing(provider: str, *answers: Answer, **options: Any) -> AsyncGenerator[tuple[Model, Loopback], None]:
    async with open_loopback(lambda number: answers[number]) as server, open_client() as client:
        given: dict[str, Any] = {"retry": ConnectRetry(attempts=3, base=0.001), **options}
        yield ProviderModel(endpoint(provider, server.url), model_id="m", client=client, **given), server


def bodies(server: Loopback) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in server.requests]


def check_run(*iterations: list[StreamEvent]) -> None:
    """Check the run as its turn sees it: without the terminals of inner iterations."""
    inner = [event for events in iterations[:-1] for event in events if not isinstance(event.payload, ResponseDone)]
    check_contract([*inner, *iterations[-1]])


def output(call: FinalFunctionCall) -> Any:
    return f"{call.name} says 19"


async def test_the_second_request_to_anthropic_has_the_signed_thought_before_the_call() -> None:
    """And the result in a user's message, as the Messages API demands."""
    recording = recording_named("anthropic-messages", "anomaly-spliced-message-start")
    restart = [n for n, event in enumerate(recording.events) if event["type"] == "message_start"][1]
    body = sse_body(recording.provider, recording.events[restart:])
    final = recording_named("anthropic-messages", "text-hello")
    async with playing(recording.provider, Answer(body=[body]), Answer(body=[final.body()])) as (model, server):
        first, second = await ask_twice(model, output, tools=[SPEC], instructions="Be exact.")
    check_run(first, second)
    request = bodies(server)[1]
    check_request(recording.provider, request)
    call = {"type": "tool_use", "id": "toolu_second", "name": "test-tool", "input": {"value": "Sparkle Day"}}
    thought = {"type": "thinking", "thinking": "Let me call the tool.", "signature": "sig-second"}
    result = {"type": "tool_result", "tool_use_id": "toolu_second", "content": "test-tool says 19"}
    assert request["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Please."}]},
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [result]},
    ]
    assert request["system"] == [{"type": "text", "text": "Be exact."}]
    assert request["max_tokens"] == 4096


async def test_a_recorded_signature_goes_back_to_anthropic_byte_for_byte() -> None:
    """A long one, of a real thought, before two calls that were made in parallel."""
    thinking = recording_named("anthropic-messages", "thinking-118")
    calls = recording_named("anthropic-messages", "tool-parallel-2")
    thought = [event for event in thinking.events if event.get("index") == 0]
    later = [{**event, "index": event["index"] + 1} if "index" in event else event for event in calls.events[1:]]
    body = sse_body(calls.provider, [calls.events[0], *thought, *later])
    final = recording_named("anthropic-messages", "text-hello")
    async with playing(calls.provider, Answer(body=[body]), Answer(body=[final.body()])) as (model, server):
        first, second = await ask_twice(model, output)
    check_run(first, second)
    _, spoken, answers = bodies(server)[1]["messages"]
    signature = "".join(event["delta"].get("signature", "") for event in thought if "delta" in event)
    assert len(signature) > 100
    assert [block["type"] for block in spoken["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert spoken["content"][0]["signature"] == signature
    expected = [each["id"] for each in calls.final["tool_calls"]]
    assert [block["tool_use_id"] for block in answers["content"]] == expected
    assert {block["type"] for block in answers["content"]} == {"tool_result"}


async def test_the_second_request_to_responses_has_the_sealed_reasoning_before_the_call() -> None:
    """The reasoning item with its encrypted content, the call, its output: as they were said."""
    one, two = (recording_named("openai-responses", f"encrypted-loop-p{part}") for part in (1, 2))
    async with playing(
        one.provider,
        Answer(body=[one.body()]),
        Answer(body=[two.body()]),
        settings={"store": False, "include": ["reasoning.encrypted_content"]},
    ) as (model, server):
        first, second = await ask_twice(model, lambda _call: 19, tools=[SPEC], instructions="Be exact.")
    check_run(first, second)
    request = bodies(server)[1]
    check_request(one.provider, request)
    said = [event["item"] for event in one.events if event["type"] == "response.output_item.done"]
    prompt, reasoning, call, result = request["input"]
    assert prompt == {"type": "message", "role": "user", "content": "Please."}
    assert (reasoning["type"], reasoning["id"], reasoning["encrypted_content"], reasoning["summary"]) == (
        "reasoning", said[0]["id"], said[0]["encrypted_content"], said[0]["summary"]
    )  # fmt: skip
    assert {name: call[name] for name in ("type", "call_id", "name", "arguments")} == {
        "type": "function_call",
        "call_id": said[1]["call_id"],
        "name": "calculator",
        "arguments": said[1]["arguments"],
    }
    assert result == {"type": "function_call_output", "call_id": said[1]["call_id"], "output": "19"}
    assert (request["store"], request["include"]) == (False, ["reasoning.encrypted_content"])
    assert request["instructions"] == "Be exact."
    usage = told(second).usage
    assert usage is not None
    assert usage.total_tokens == one.final["usage"]["total"] + two.final["usage"]["total"]


async def test_the_second_request_to_chat_has_the_calls_and_a_message_for_each_tool() -> None:
    """Two calls in one message of the assistant's, then their answers, in order."""
    one = recording_named("openai-chat", "tool-parallel-2")
    final = recording_named("openai-chat", "text-gpt4o")
    async with playing(one.provider, Answer(body=[one.body()]), Answer(body=[final.body()])) as (model, server):
        first, second = await ask_twice(model, output, tools=[SPEC], instructions="Be exact.")
    check_run(first, second)
    request = bodies(server)[1]
    check_request(one.provider, request)
    made = one.final["tool_calls"]
    calls = [
        {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
        for each in made
    ]
    answers = [{"role": "tool", "tool_call_id": each["id"], "content": f"{each['name']} says 19"} for each in made]
    assert request["messages"] == [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "Please."},
        {"role": "assistant", "tool_calls": calls},
        *answers,
    ]
    assert request["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("provider", "tool"),
    [
        (
            "openai-responses",
            {
                "type": "function",
                "name": "calculator",
                "description": "Calculate.",
                "parameters": SCHEMA,
                "strict": False,
            },
        ),
        (
            "openai-chat",
            {"type": "function", "function": {"name": "calculator", "description": "Calculate.", "parameters": SCHEMA}},
        ),
        ("anthropic-messages", {"name": "calculator", "description": "Calculate.", "input_schema": SCHEMA}),
    ],
)
async def test_tools_are_told_in_the_providers_own_form(provider: str, tool: dict[str, Any]) -> None:
    """Behind the provider's own tools, if the settings have any; without tools nothing is said of them."""
    own = {"type": "web_search_20250305", "name": "web_search"}
    async with playing(provider, Answer(), Answer(), settings={"temperature": 1, "top_p": 0.5}) as (model, server):
        await ask(model, make_call(tools=[SPEC], settings={"tools": [own], "temperature": 0}))
        await ask(model, make_call())
    one, other = bodies(server)
    assert one["tools"] == [own, tool]
    TypeAdapter(TOOL_TYPES[provider]).validate_python(tool)
    assert (one["model"], one["stream"], one["temperature"], one["top_p"]) == ("m", True, 0, 0.5)
    assert "tools" not in other
    assert other["temperature"] == 1


async def test_the_systems_words_stand_behind_the_instructions() -> None:
    """Both are kept: the instructions are ours, the others belong to the conversation."""
    system = UIMessage(id="s", role="system", parts=(TextPart(content="Be brief."),))
    history = (system, *make_call().messages)
    async with playing("anthropic-messages", Answer()) as (model, server):
        await ask(model, make_call(messages=history, instructions="Be exact."))
    assert [block["text"] for block in bodies(server)[0]["system"]] == ["Be exact.", "Be brief."]


async def test_the_first_event_says_who_is_asked() -> None:
    """With the run's own ids, the model's and the provider's names, and the prompt as an item."""
    async with playing("openai-chat", Answer(), provider_id="groq") as (model, _server):
        events, _ = await ask(model, make_call(prompt="Please."))
    start: Any = events[0].payload
    assert (start.response_id, start.turn_id, start.thread_id) == ("run", "turn", "thread")
    assert (start.model_id, start.provider_id, model.data_format) == ("m", "groq", "openai-chat")
    assert [type(event.payload).__name__ for event in events[1:3]] == ["ItemStart", "ItemDone"]
