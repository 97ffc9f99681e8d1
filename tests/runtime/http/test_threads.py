"""Threads over HTTP: turns with a scripted model, what they leave behind, what they wait for, and who may answer."""

import itertools
import json
from typing import Any

import pytest
import trio

from tests.kit.servers import NAMES, RedisServer, find_server
from tests.kit.service import Asked, open_asked, settings_with
from tests.kit.sse import data_of, open_sse
from tests.kit.turns import started
from turnwire.actors.core.toolset import tool
from turnwire.runtime.models import Call, Fail, Hang, Say, Think

TURNS = "/xapi/threads/th/turns"


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete something."""
    return f"{name} is gone"


async def start(asked: Asked, **fields: Any) -> str:
    answer = await asked.post(TURNS, fields)
    assert answer.status_code == 202, answer.text
    turn_id: str = answer.json()["turnId"]
    return turn_id


async def read(asked: Asked, turn_id: str, dialect: str = "native") -> list[Any]:
    return data_of(await asked.events(f"/xapi/turns/{turn_id}/stream?dialect={dialect}"))


async def test_a_turn_of_a_thread_is_told_and_kept() -> None:
    """The next one goes on from it; the thread shows both, and the conversation as it was saved."""
    async with open_asked(script=[[Think("hm"), Say("Hello")], "Again"]) as asked:
        first = await start(asked, message="Hi")
        told = list({it.get("itemId", it["type"]): it for it in await read(asked, first)}.values())
        assert [(it["type"], it.get("content")) for it in told] == [
            ("turn_started", None),
            ("message", "Hi"),
            ("thinking", "hm"),
            ("message", "Hello"),
            ("turn_complete", None),
        ]
        second = await start(asked, message={"id": "u2", "role": "user", "parts": [{"type": "text", "content": "Yo"}]})
        await read(asked, second)
        thread = (await asked.http.get("/xapi/threads/th")).json()
        assert [(it["turnId"], it["state"]) for it in thread["turns"]] == [(first, "complete"), (second, "complete")]
        assert thread["turns"][0]["outputs"] == told
        assert [it["role"] for it in thread["messages"]] == ["user", "assistant", "user", "assistant"]
        assert thread["messages"][2]["id"] == "u2"
        assert (thread["pending"], thread["earlierTurns"]) == ([], 0)
        short = (await asked.http.get("/xapi/threads/th?limit=1")).json()
        assert ([it["turnId"] for it in short["turns"]], short["earlierTurns"]) == ([second], 1)


async def test_asking_twice_for_the_same_turn_starts_it_once() -> None:
    """A client that did not hear the answer may repeat the request; another thread may not have the turn."""
    async with open_asked(script=["only once"]) as asked:
        for _ in range(3):
            assert await start(asked, message="Hi", turnId="mine") == "mine"
        assert (await read(asked, "mine"))[-1]["type"] == "turn_complete"
        answer = await asked.post("/xapi/threads/other/turns", {"message": "Hi", "turnId": "mine"})
        assert answer.status_code == 409
        assert "$.turnId: turn 'mine' belongs to thread 'th'" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "$: "),
        ({"message": ""}, "$.message: "),
        ({"message": 7}, "$.message: "),
        ({"message": {"role": "user"}}, "$.message.id: "),
        ({"message": {"id": "x", "role": "assistant"}}, "$.message.role: "),
        ({"message": "x", "answers": {}}, "$.answers: "),
        ({"answers": "x"}, "$.answers: "),
        ({"answers": [{"approvalId": "a"}]}, "$.answers[0].approved: "),
        ({"answers": [{"output": 1}]}, "$.answers[0].toolCallId: "),
        ({"message": "x", "turnId": ""}, "$.turnId: "),
        ({"message": "x", "turnId": 1}, "$.turnId: "),
        ({"message": "x", "turnId": "a\nb"}, "$.turnId: "),
        ({"message": "x", "turnId": "x" * 600}, "$.turnId: "),
        ({"message": "x", "model": "gpt"}, "model: "),
        ({"message": "x", "tools": ""}, "$.tools: "),
        ({"message": "x", "tools": [{"description": "y"}]}, "$.tools[0].name: "),
        ({"message": "x", "tools": [{"name": "a tool"}]}, "$.tools[0]: "),
        ({"message": "x", "instructions": 1}, "$.instructions: "),
        ([], "$: "),
    ],
)
async def test_what_cannot_be_a_turn_is_refused_with_its_place(body: Any, where: str) -> None:
    """And nothing is started."""
    async with open_asked(script=["never"]) as asked:
        answer = await asked.post(TURNS, body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["message"].startswith(where)
        assert (await asked.http.get("/xapi/turns")).json()["turns"] == []


async def test_without_a_model_no_turn_can_be_started() -> None:
    """501, on each of the ways in."""
    message = {"id": "u", "role": "user", "content": "x"}
    async with open_asked() as asked:
        bodies: list[tuple[str, Any]] = [
            (TURNS, {"message": "x"}),
            ("/agui", {"threadId": "th", "runId": "r", "messages": [message]}),
            ("/api/chat", {"id": "th", "messages": [{"id": "u", "role": "user", "parts": []}]}),
        ]
        for path, body in bodies:
            answer = await asked.post(path, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (501, "no_model")
            assert "--set model.provider=scripted" in answer.json()["error"]["message"]  # how, not only what


async def test_a_turn_that_waits_for_the_user_goes_on_with_the_answer() -> None:
    """Told as pending, answered once, and the tool runs in the next turn."""
    script: list[Any] = [[Call("delete", {"name": "x"}, call_id="c1")], "Done"]
    async with open_asked(script=script, tools=[delete]) as asked:
        first = await start(asked, message="Delete x")
        told = await read(asked, first)
        assert told[-1]["type"] == "turn_complete"
        agui = await read(asked, first, "agui")
        assert [it["type"] for it in agui[-2:]] == ["CUSTOM", "RUN_FINISHED"]
        assert (agui[-2]["name"], agui[-2]["value"]["toolCallId"]) == ("approval-requested", "c1")
        chunks = await read(asked, first, "ui-message")
        assert "tool-approval-request" in [it["type"] for it in chunks]
        (pending,) = (await asked.http.get("/xapi/threads/th")).json()["pending"]
        assert (pending["kind"], pending["toolName"], pending["input"]) == ("approval", "delete", {"name": "x"})
        second = await start(asked, answers=[{"approvalId": pending["approvalId"], "approved": True}])
        outputs = [it.get("toolOutput") for it in await read(asked, second) if it["type"] == "tool_call"]
        assert outputs[-1] == "x is gone"
        assert (await asked.http.get("/xapi/threads/th")).json()["pending"] == []
        again = await read(asked, first, "agui")  # the question is answered: it is not asked again
        assert "CUSTOM" not in [it["type"] for it in again]


async def test_what_an_earlier_run_asked_and_nobody_answered_is_asked_again_at_the_end_of_a_run() -> None:
    """A client of AG-UI knows by its last run what is open; what later runs asked is not told of an earlier one."""
    first_call, second_call = Call("delete", {"name": "x"}, call_id="c1"), Call("delete", {"name": "y"}, call_id="c2")
    async with open_asked(script=[[first_call], [second_call], "Only x"], tools=[delete]) as asked:

        async def asked_in(turn_id: str) -> list[str]:
            told = await read(asked, turn_id, "agui")
            assert told[-1]["type"] == "RUN_FINISHED"
            return [it["value"]["toolCallId"] for it in told if it["type"] == "CUSTOM"]

        first = await start(asked, message="Delete x")
        assert await asked_in(first) == ["c1"]
        second = await start(asked, message="And y")
        assert await asked_in(second) == ["c1", "c2"]
        assert await asked_in(first) == ["c1"]
        chunks = await read(asked, second, "ui-message")  # the AI SDK keeps its earlier messages itself
        assert [it["toolCallId"] for it in chunks if it["type"] == "tool-approval-request"] == ["c2"]
        open_calls = (await asked.http.get("/xapi/threads/th")).json()["pending"]
        (approval,) = [it["approvalId"] for it in open_calls if it["toolCallId"] == "c1"]
        third = await start(asked, answers=[{"approvalId": approval, "approved": True}])
        assert await asked_in(third) == ["c2"]
        assert await asked_in(first) == []


async def test_a_tool_of_the_client_is_answered_by_the_client() -> None:
    """It is named with the turn, the turn pauses, and what the client found goes to the model."""
    script: list[Any] = [[Call("where", {"what": "me"}, call_id="c1")], "You are in Oslo"]
    async with open_asked(script=script) as asked:
        first = await start(asked, message="Where am I?", tools=[{"name": "where", "parameters": {"type": "object"}}])
        await read(asked, first)
        (pending,) = (await asked.http.get("/xapi/threads/th")).json()["pending"]
        assert (pending["kind"], pending["toolCallId"]) == ("client_tool", "c1")
        second = await start(asked, answers=[{"toolCallId": "c1", "output": {"city": "Oslo"}}])
        told = await read(asked, second)
        assert told[-2]["content"] == "You are in Oslo"


async def test_a_model_that_fails_or_hangs_ends_its_turn_alone() -> None:
    """A failure is told with its code; one that hangs can be stopped, and others go on meanwhile."""

    def reply(call: Any) -> Any:
        word = call.messages[-1].parts[-1].content
        return {"fail": Fail("overloaded", "try later"), "hang": [Say("wait"), Hang()]}.get(word, "fine")

    async with open_asked(script=reply) as asked:
        failed = await start(asked, message="fail")
        told = await read(asked, failed)
        assert (told[-1]["type"], told[-1]["error"]["code"]) == ("turn_error", "overloaded")
        hanging = (await asked.post("/xapi/threads/h/turns", {"message": "hang"})).json()["turnId"]
        assert (await read(asked, await start(asked, message="ok")))[-2]["content"] == "fine"
        await asked.events(f"/xapi/turns/{hanging}/stream", most=2)
        assert (await asked.http.post(f"/xapi/turns/{hanging}/stop")).status_code == 202
        ended = await read(asked, hanging)
        assert (ended[-1]["type"], ended[-1]["status"]) == ("turn_complete", "aborted")


async def test_a_thread_that_nobody_has_begun_is_not_found() -> None:
    """404 in JSON."""
    async with open_asked() as asked:
        assert (await asked.http.get("/xapi/threads/no")).status_code == 404


async def test_a_run_of_ag_ui_can_be_joined_again() -> None:
    """The same runId gives the same run, once started; resumed by the last id it gives the rest."""
    body: dict[str, Any] = {
        "threadId": "th",
        "runId": "run-1",
        "state": {},
        "messages": [{"id": "u", "role": "user", "content": "Hi"}],
        "tools": [],
        "context": [{"description": "place", "value": "Oslo"}],
        "forwardedProps": {},
    }
    async with open_asked(script=[[Think("hm"), Say("Hello")]]) as asked:
        first = await asked.events("/agui", document=body)
        types = [it["type"] for it in data_of(first)]
        assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
        assert {it["runId"] for it in data_of(first) if "runId" in it} == {"run-1"}
        assert await asked.events("/agui", document=body) == first
        rest = await asked.events("/agui", document=body, headers={"last-event-id": first[3].last_id})
        assert [it.data for it in rest] == [it.data for it in first[4:]]
        answer = await asked.post("/agui", {**body, "threadId": "other"})
        assert answer.status_code == 409
        for wrong, where in (
            ({"messages": 1}, "$.messages"),
            ({"runId": None}, "$.runId"),
            ({"tools": [1]}, "$.tools[0]"),
        ):
            answer = await asked.post("/agui", {**body, **wrong})
            assert answer.status_code == 422
            assert answer.json()["error"]["message"].startswith(where)


async def test_a_run_of_ag_ui_that_is_under_way_is_joined_by_the_same_run_id() -> None:
    """Two at once tell the same, and the model is asked once."""
    body: dict[str, Any] = {
        "threadId": "th",
        "runId": "run-1",
        "messages": [{"id": "u", "role": "user", "content": "Hi"}],
    }
    async with open_asked(script=[[Say("Hello "), Hang()]]) as asked:
        first = await asked.events("/agui", document=body, most=3)
        assert await asked.events("/agui", document=body, most=3) == first
        async with (
            open_sse(asked.url, "/agui", document=body) as one,
            open_sse(asked.url, "/agui", document=body) as two,
        ):
            assert (await asked.http.post("/xapi/turns/run-1/stop")).status_code == 202
            told = [[event async for event in stream] for stream in (one, two)]
        assert told[0] == told[1]
        assert told[0][:3] == first
        assert json.loads(told[0][-1].data)["type"] in ("RUN_FINISHED", "RUN_ERROR")


async def test_a_chat_of_the_ai_sdk_and_its_reconnect() -> None:
    """While a turn is under way its stream can be found by the chat's id; before and after there is none."""
    body = {"id": "chat", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}

    def reply(_call: Any) -> Any:
        return [Say("Hello "), Hang()]

    async with open_asked(script=reply) as asked:
        assert (await asked.http.get("/api/chat/chat/stream")).status_code == 204
        first = await asked.events("/api/chat", document=body, most=4)
        assert data_of(first)[0]["type"] == "start"
        again = await asked.events("/api/chat/chat/stream", most=4)
        assert again == first
        turn_id = data_of(first)[0]["messageId"]
        await asked.http.post(f"/xapi/turns/{turn_id}/stop")
        whole = await asked.events(f"/xapi/turns/{turn_id}/stream?dialect=ui-message")
        assert whole[-1].data == "[DONE]"
        assert "abort" in [it["type"] for it in data_of(whole)]
        assert (await asked.http.get("/api/chat/chat/stream")).status_code == 204
        refused: list[tuple[dict[str, Any], str]] = [
            ({"id": None}, "$.id: "),
            ({"messages": []}, "$.messages: "),
            ({"messages": [{"id": "u", "role": "user", "parts": [{"type": "text"}]}]}, "$.messages[0].parts[0].text: "),
            ({"messages": [{"id": "u", "role": "king", "parts": []}]}, "$.messages[0].role: "),
        ]
        for wrong, where in refused:
            answer = await asked.post("/api/chat", {**body, **wrong})
            assert answer.status_code == 422
            assert answer.json()["error"]["message"].startswith(where)


async def test_a_run_cannot_have_the_events_of_another_turn() -> None:
    """A run that some producer writes is not begun a second time by its id, nor its turn."""
    message = {"id": "u", "role": "user", "content": "x"}
    async with open_asked(script=["never"]) as asked:
        await asked.publish("r", started("t", "th"))
        for run, said in (("r", "$.runId: run 'r' belongs to turn 't'"), ("t", "$.runId: turn 't' belongs to thread")):
            answer = await asked.post("/agui", {"threadId": "other", "runId": run, "messages": [message]})
            assert answer.status_code == 409
            assert answer.json()["error"]["message"].startswith(said)


async def test_a_turn_that_a_producer_writes_is_not_begun_in_its_own_thread_either() -> None:
    """Whoever asks for it is told whose it is: a 202 would have lost the message."""
    async with open_asked(script=["never"]) as asked:
        await asked.publish("r", started("t", "th"))
        answer = await asked.post(TURNS, {"message": "Hi", "turnId": "t"})
        assert answer.status_code == 409
        assert answer.json()["error"]["message"] == "$.turnId: turn 't' belongs to run 'r'"


async def test_a_turn_that_a_producer_writes_under_its_own_id_is_not_begun_either() -> None:
    """Its run has the same name as one that a client would begin: what tells them apart is that it has no input."""
    async with open_asked(script=["never"]) as asked:
        await asked.publish("t", started("t", "th"))
        for path, body in (
            (TURNS, {"message": "Hi", "turnId": "t"}),
            ("/agui", {"threadId": "th", "runId": "t", "messages": [{"id": "u", "role": "user", "content": "x"}]}),
        ):
            answer = await asked.post(path, body)
            assert answer.status_code == 409
            assert answer.json()["error"]["message"].endswith(": turn 't' is a producer's")


async def test_more_messages_than_any_model_reads_are_refused() -> None:
    """Each is small, and together they would keep the service busy for long."""
    part = {"type": "text", "text": "hi"}
    chat = [{"id": f"u{number}", "role": "user", "parts": [part]} for number in range(5_001)]
    agui = [{"id": f"u{number}", "role": "user", "content": "hi"} for number in range(5_001)]
    async with open_asked(script=["never"]) as asked:
        for path, body in (
            ("/api/chat", {"id": "th", "messages": chat}),
            ("/agui", {"threadId": "th", "runId": "r", "messages": agui}),
        ):
            answer = await asked.post(path, body)
            assert answer.status_code == 422
            assert answer.json()["error"]["message"].startswith("$.messages: expected at most 10000 ")


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_run_begins_with_is_put_back_when_a_killed_server_lost_it(name: str) -> None:
    """Acknowledged and lost with its announcement: both are there again, and the turn is answered."""
    with RedisServer(find_server(name)) as server:  # without persistence: it forgets everything
        redis, worker = {"url": server.url}, {"grace": 0.0, "claim_idle": 1.0, "heartbeat": 0.2}
        idle = settings_with(redis=redis, http={"port": 0, "work": False})
        async with open_asked(idle, script=["never asked here"]) as asked:
            turn_id = await start(asked, message="Hi")
            server.kill()
            server.start()
            async with open_asked(settings_with(redis=redis, worker=worker), script=["Hello"]) as working:
                with trio.fail_after(20):
                    while (await working.http.get(f"/xapi/turns/{turn_id}")).status_code != 200:  # noqa: ASYNC110
                        await trio.sleep(0.05)
                told = await read(working, turn_id)
        assert [(it["type"], it.get("content")) for it in told[-2:]] == [("message", "Hello"), ("turn_complete", None)]


async def test_threads_outlive_the_service_in_redis(redis_url: str, key_prefix: str) -> None:
    """A second service on the same server goes on with the conversation."""
    settings = settings_with(redis={"url": redis_url, "prefix": key_prefix})
    async with open_asked(settings, script=["One"]) as asked:
        await read(asked, await start(asked, message="Hi"))
    async with open_asked(settings, script=itertools.repeat("Two")) as asked:
        await read(asked, await start(asked, message="Again"))
        thread = (await asked.http.get("/xapi/threads/th")).json()
        texts = ["".join(part["content"] for part in it["parts"]) for it in thread["messages"]]
        assert texts == ["Hi", "One", "Again", "Two"]
        assert [it["state"] for it in thread["turns"]] == ["complete", "complete"]
