"""Whole runs of an engine with Anthropic over HTTP: what is sealed goes back in its place, also after a restart."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.kit.agents import Stage
from tests.kit.loopback import Answer, Loopback, open_loopback
from tests.kit.recordings import sse_body
from tests.kit.sdk_types import check_request
from turnwire.actors.core.toolset import tool
from turnwire.messages.runs import ApprovalAnswer, RunOutcome
from turnwire.messages.ui_codec import decode_saved, encode_saved
from turnwire.runtime.models.provider import ProviderModel
from turnwire.runtime.providers import anthropic_messages
from turnwire.runtime.providers.http import open_client
from turnwire.runtime.threads import MemoryThreads

PROVIDER = "anthropic-messages"


async def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


@tool(needs_approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    begin = {"type": "content_block_start", "index": index, "content_block": start}
    return [begin, *middle, {"type": "content_block_stop", "index": index}]


def thought(index: int, number: int) -> list[dict[str, Any]]:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": f"Thought {number}"},
        {"type": "signature_delta", "signature": f"sig-{number}"},
    )


def called(index: int, call_id: str, name: str, **given: str) -> list[dict[str, Any]]:
    start: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, start, {"type": "input_json_delta", "partial_json": json.dumps(given)})


def spoken(index: int, text: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def reply(*blocks: list[dict[str, Any]], reason: str = "tool_use") -> Answer:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    said = [event for each in blocks for event in each]
    ends = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        *said,
        ends,
        {"type": "message_stop"},
    ]
    return Answer(body=[sse_body(PROVIDER, events)])


REPLIES = [
    reply(thought(0, 1), spoken(1, "Let me look."), called(2, "toolu_1", "look", where="a")),
    reply(thought(0, 2), called(1, "toolu_2", "look", where="b"), called(2, "toolu_3", "delete", path="c")),
    reply(thought(0, 3), called(1, "toolu_4", "look", where="d")),
    reply(spoken(0, "Done."), reason="end_turn"),
]


@asynccontextmanager
async def playing() -> AsyncGenerator[tuple[Any, Loopback], None]:
    async with open_loopback(lambda number: REPLIES[number]) as server, open_client() as client:
        settings: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        endpoint = anthropic_messages(api_key="k", base_url=server.url)
        yield ProviderModel(endpoint, model_id="m", client=client, settings=settings), server


async def restarted(store: MemoryThreads) -> MemoryThreads:
    """Keep of a store what another process would find: texts."""
    found, saved = MemoryThreads(), await store.load("th")
    assert saved is not None
    await found.save("th", decode_saved(encode_saved(saved)), run_id="r1", pending=await store.pending("th"))
    return found


def block_of(request: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The messages of a request, each block by what is its own."""
    keys = {"thinking": "signature", "text": "text", "tool_use": "id", "tool_result": "tool_use_id"}
    return [
        (message["role"], [f"{each['type']} {each[keys[each['type']]]}" for each in message["content"]])
        for message in request["messages"]
    ]


async def test_signed_thoughts_stand_before_their_calls_over_a_pause_and_a_restart() -> None:
    """Each request repeats every signed block byte for byte where it stood, and answers each call right behind it."""
    async with playing() as (model, server):
        stage = Stage(model, [look, delete])
        paused = await stage.run("Tidy up", run_id="r1")
        assert (paused.status, paused.iterations) == ("paused", 2)
        after = Stage(model, [look, delete], store=await restarted(stage.store))
        outcome = await after.run(None, ApprovalAnswer(approval_id="r1-approval-1", approved=True))
        assert outcome == RunOutcome(status="complete", iterations=2)
        requests = [json.loads(each.body) for each in server.requests]
    for request in requests:
        check_request(PROVIDER, request)
    asked = [("user", ["text Tidy up"])]
    first = [
        ("assistant", ["thinking sig-1", "text Let me look.", "tool_use toolu_1"]),
        ("user", ["tool_result toolu_1"]),
    ]
    second = [
        ("assistant", ["thinking sig-2", "tool_use toolu_2", "tool_use toolu_3"]),
        ("user", ["tool_result toolu_2", "tool_result toolu_3"]),
    ]
    third = [("assistant", ["thinking sig-3", "tool_use toolu_4"]), ("user", ["tool_result toolu_4"])]
    assert [block_of(request) for request in requests] == [
        asked,
        asked + first,
        asked + first + second,
        asked + first + second + third,
    ]
    (result,) = (each for each in requests[2]["messages"][-1]["content"] if each["tool_use_id"] == "toolu_3")
    assert result["content"] == "c is gone"


async def test_usage_of_a_whole_run_is_the_sum_of_its_requests() -> None:
    """As Anthropic counts each of them."""
    async with playing() as (model, _):
        stage = Stage(model, [look, delete])
        await stage.run("Tidy up")
    usage: Any = stage.events[-1].payload
    assert (usage.usage.prompt_tokens, usage.usage.completion_tokens) == (20, 10)
