"""Clients that we did not write, over real connections: whole turns, cut ones, failed ones, aborted ones."""

import json
from typing import Any

import pytest

from tests.kit.node_clients import open_node
from tests.kit.service import Asked, open_asked
from tests.kit.sse import data_of
from turnwire.actors.core.toolset import tool
from turnwire.runtime.models import Call, Fail, Hang, Pause, Say, Think

TEXT = "The answer, as far as I can tell, is forty-two; but ask me again tomorrow. "


@tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool()
def broken() -> str:
    """Fail."""
    raise RuntimeError("it is broken")


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete something."""
    return f"{name} is gone"


def reply(call: Any) -> Any:
    """Say what the last words of the user ask for."""
    texts = [part.content for it in call.messages if it.role == "user" for part in it.parts]
    after_tools = any(part.__class__.__name__ == "ToolResultPart" for part in call.messages[-1].parts)
    match texts[-1]:
        case "tools" if not after_tools:
            calls = [Call("add", {"a": 1, "b": 2}, call_id="c1"), Call("broken", call_id="c2")]
            return [Think("Let me see. "), Say("I will add. "), *calls]
        case "fail":
            return [Think("Hm. "), Say("I was about to "), Pause(0.02), Fail("overloaded", "try again later")]
        case "hang":
            return [Think("Hm. "), Say("I will never "), Hang()]
        case "where" if not after_tools:
            return [Call("where", {"what": "me"}, call_id="w1")]
        case "delete" if not after_tools:
            return [Call("delete", {"name": "x"}, call_id="d1")]
        case _:
            return [Think("Now I know. "), Say(TEXT, every=0.001)]


def open_service_of_tests() -> Any:
    return open_asked(script=reply, tools=[add, broken, delete])


async def start(asked: Asked, words: str) -> str:
    answer = await asked.post("/xapi/threads/th/turns", {"message": words})
    turn_id: str = answer.json()["turnId"]
    return turn_id


# eventsource 4


@pytest.mark.parametrize("dialect", ["native", "upsert", "agui", "ui-message"])
async def test_an_event_source_that_is_cut_off_misses_nothing_and_sees_nothing_twice(dialect: str) -> None:
    """Cut after every k-th event it comes back with the last id; after the end it is told to stay away."""
    async with open_node("eventsource") as node, open_service_of_tests() as asked:
        turn_id = await start(asked, "tools")
        path = f"/xapi/turns/{turn_id}/stream?dialect={dialect}"
        await asked.events(path)  # to its end, so that both see the same states
        whole = [event for event in await asked.events(path) if event.data != "[DONE]"]
        for every in (0, 1, 3):
            seen = await node.run(client="eventsource", url=asked.url + path, every=every)
            events = [it for it in seen["events"] if it["data"] != "[DONE]"]
            assert [(it["id"], json.loads(it["data"])) for it in events] == [
                (event.last_id, json.loads(event.data)) for event in whole
            ]
            assert seen["failures"][-1] == 204
            assert len(seen["asked"]) >= (len(whole) // every if every else 2)
            assert seen["asked"][-1] == whole[-1].last_id


async def test_an_event_source_on_raw_events() -> None:
    """Log A, cut after every second event: each event once."""
    async with open_node("eventsource") as node, open_service_of_tests() as asked:
        turn_id = await start(asked, "anything")
        path = f"/api/v2/runs/{turn_id}/events"
        whole = await asked.events(path)
        seen = await node.run(client="eventsource", url=asked.url + path, every=2)
        ids = [it["id"] for it in seen["events"]]
        assert ids[: len(whole)] == [event.last_id for event in whole]
        assert len(set(ids)) == len(ids)


# @ag-ui/client 1.0.0


def texts_of(messages: list[dict[str, Any]], role: str) -> list[str]:
    return [it["content"] for it in messages if it["role"] == role and it.get("content")]


async def test_the_ag_ui_client_reads_text_thinking_and_parallel_tools() -> None:
    """A whole run, and the same run joined again."""
    async with open_node("@ag-ui/client") as node, open_service_of_tests() as asked:
        job = {"client": "agui", "url": asked.url, "threadId": "th", "prompt": "tools"}
        first = await node.run(**job, runId="r1")
        again = await node.run(**job, runId="r1")
        assert (first["failure"], first["error"], first["outcome"]) == (None, None, "success")
        assert again["messages"] == first["messages"]
        messages = first["messages"]
        assert texts_of(messages, "assistant") == ["I will add. ", TEXT]
        assert texts_of(messages, "reasoning") == ["Let me see. ", "Now I know. "]
        calls = {call["id"]: call["function"] for it in messages for call in it.get("toolCalls", ())}
        assert calls == {
            "c1": {"name": "add", "arguments": '{"a":1,"b":2}'},
            "c2": {"name": "broken", "arguments": "{}"},
        }
        results = {it["toolCallId"]: it for it in messages if it["role"] == "tool"}
        assert results["c1"]["content"] == "3"
        assert "it is broken" in results["c2"]["content"]


async def test_the_ag_ui_client_is_told_of_an_error_and_of_an_abort() -> None:
    """What was said before stays; the end is what it was."""
    async with open_node("@ag-ui/client") as node, open_service_of_tests() as asked:
        job = {"client": "agui", "url": asked.url, "threadId": "th"}
        failed = await node.run(**job, runId="r1", prompt="fail")
        assert (failed["error"]["code"], failed["error"]["message"]) == ("overloaded", "try again later")
        assert texts_of(failed["messages"], "assistant") == ["I was about to "]
        await node.start(**job, runId="r2", prompt="hang")
        turn_id = await node.wait_up()
        assert (await asked.http.post(f"/xapi/turns/{turn_id}/stop")).status_code == 202
        aborted = await node.wait_done()
        assert (aborted["failure"], aborted["outcome"]) == (None, "cancelled")
        assert texts_of(aborted["messages"], "assistant") == ["I will never "]


async def test_the_ag_ui_client_runs_a_tool_of_its_own_and_is_asked_for_approval() -> None:
    """The run pauses with the call pending; what waits for the user's word is told by a CUSTOM event."""
    tools = [{"name": "where", "description": "where something is", "parameters": {"type": "object"}}]
    async with open_node("@ag-ui/client") as node, open_service_of_tests() as asked:
        job = {"client": "agui", "url": asked.url}
        paused = await node.run(**job, threadId="th", runId="r1", prompt="where", tools=tools)
        assert (paused["failure"], paused["pending"]) == (None, ["w1"])
        waiting = await node.run(**job, threadId="th2", runId="r2", prompt="delete")
        assert waiting["events"][-2:] == ["CUSTOM", "RUN_FINISHED"]
        messages = [*paused["messages"], {"id": "res", "role": "tool", "toolCallId": "w1", "content": "in Oslo"}]
        body: dict[str, Any] = {
            "threadId": "th",
            "runId": "r3",
            "messages": messages,
            "tools": tools,
            "context": [],
            "state": {},
        }
        told = data_of(await asked.events("/agui", document=body))
        assert "".join(it["delta"] for it in told if it["type"] == "TEXT_MESSAGE_CONTENT") == TEXT


# npm ai 6


def parts_of(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in message["parts"] if part["type"] == kind]


async def test_the_ai_sdk_reads_text_thinking_and_parallel_tools() -> None:
    """Its own transport and reader; the message is whole at the end."""
    async with open_node("ai") as node, open_service_of_tests() as asked:
        done = await node.run(client="chat", url=asked.url, id="chat", prompt="tools")
        assert done["errors"] == []
        message = done["message"]
        assert [part["text"] for part in parts_of(message, "text")] == ["I will add. ", TEXT]
        assert [part["text"] for part in parts_of(message, "reasoning")] == ["Let me see. ", "Now I know. "]
        tools = {part["toolCallId"]: part for part in parts_of(message, "dynamic-tool")}
        assert (tools["c1"]["state"], tools["c1"]["input"], tools["c1"]["output"]) == (
            "output-available",
            {"a": 1, "b": 2},
            "3",
        )
        assert (tools["c2"]["state"], "it is broken" in tools["c2"]["errorText"]) == ("output-error", True)
        assert all(part["state"] == "done" for part in parts_of(message, "text"))


async def test_the_ai_sdk_is_told_of_an_error_and_of_an_abort_and_reconnects_in_between() -> None:
    """Reconnecting replays the turn that is under way; with none under way there is nothing to reconnect to."""
    async with open_node("ai") as node, open_node("ai") as other, open_service_of_tests() as asked:
        job = {"client": "chat", "url": asked.url, "id": "chat"}
        nothing = await other.run(**job, reconnect=True)
        assert nothing["message"] is None
        failed = await node.run(**job, prompt="fail")
        assert failed["errors"] == ["try again later"]
        assert [part["text"] for part in parts_of(failed["message"], "text")] == ["I was about to "]
        await node.start(**job, prompt="hang")
        turn_id = await node.wait_up()
        await other.start(**job, reconnect=True)
        assert await other.wait_up() == turn_id
        assert (await asked.http.post(f"/xapi/turns/{turn_id}/stop")).status_code == 202
        aborted, rejoined = await node.wait_done(), await other.wait_done()
        assert aborted["message"] == rejoined["message"]
        assert (aborted["errors"], aborted["chunks"][-1]) == ([], "abort")
        assert [part["text"] for part in parts_of(aborted["message"], "text")] == ["I will never "]
        assert (await other.run(**job, reconnect=True))["message"] is None


async def test_an_approval_in_the_ai_sdk_is_answered_with_the_next_message() -> None:
    """Its client sends the conversation back with the user's word in it, and the tool runs."""
    async with open_node("ai") as node, open_service_of_tests() as asked:
        job = {"client": "chat", "url": asked.url, "id": "chat"}
        asked_for = await node.run(**job, prompt="delete")
        (part,) = parts_of(asked_for["message"], "dynamic-tool")
        assert part["state"] == "approval-requested"
        part |= {"state": "approval-responded", "approval": {**part["approval"], "approved": True}}
        user = {"id": "chat-u", "role": "user", "parts": [{"type": "text", "text": "delete"}]}
        done = await node.run(**job, messages=[user, asked_for["message"]])
        assert [it["text"] for it in parts_of(done["message"], "text")] == [TEXT]
        thread = (await asked.http.get("/xapi/threads/chat")).json()
        results = [it for message in thread["messages"] for it in message["parts"] if it["type"] == "tool-result"]
        assert [it["content"] for it in results] == ["x is gone"]
