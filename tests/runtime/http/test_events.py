"""Log A over HTTP: what producers may post, what they are told, and what raw readers get."""

import json
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest
import trio
from starlette.requests import Request

from tests.kit.servers import NAMES, RedisServer, find_server, plain_client
from tests.kit.service import Asked, open_asked, settings_with
from tests.kit.sse import data_of
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages.event_codec import encode_event, unstructure_event
from turnwire.messages.events import StreamEvent
from turnwire.runtime.http.bodies import read_body
from turnwire.runtime.http.errors import HttpError
from turnwire.runtime.http.event_routes import PAUSE, check_events

PATH = "/api/v2/runs/r/events"
NDJSON = {"content-type": "application/x-ndjson"}


def of_run(*events: StreamEvent, run: str = "r") -> list[dict[str, Any]]:
    return [unstructure_event(attrs.evolve(event, run_id=run)) for event in events]


async def test_events_can_be_posted_alone_as_an_array_or_as_lines() -> None:
    """All three end up in the log in order, and the turn is told from them."""
    async with open_asked() as asked:
        first = await asked.post(PATH, of_run(started("t", "th"))[0])
        assert (first.status_code, first.json()["turnId"]) == (202, "t")
        assert (await asked.post(PATH, of_run(begin("m"), delta("m", "Hel")))).json()["accepted"] == 2
        lines = b"\n".join(json.dumps(each).encode() for each in of_run(said("m", "Hello"), finished()))
        assert (await asked.http.post(PATH, content=lines + b"\n\n", headers=NDJSON)).json()["accepted"] == 2
        events = await asked.events(PATH)
        types = [event["type"] for event in data_of(events)]
        assert types == ["response_start", "item_start", "item_delta", "item_done", "response_done"]
        told = data_of(await asked.events("/xapi/turns/t/stream"))
        assert [(it["type"], it.get("content")) for it in told][-2:] == [("message", "Hello"), ("turn_complete", None)]


async def test_an_unknown_run_begins_with_its_start() -> None:
    """Anything else is 404, and nothing is written."""
    async with open_asked() as asked:
        answer = await asked.post(PATH, of_run(begin("m")))
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_run")
        answer = await asked.post(PATH, of_run(delta("m", "x")))
        assert "response_start" in answer.json()["error"]["message"]
        assert (await asked.http.get(PATH)).status_code == 404
        assert (await asked.http.get("/xapi/turns")).json() == {"turns": [], "before": None}


async def test_a_bad_event_is_named_by_its_index_and_nothing_is_written() -> None:
    """All or nothing, wherever the bad one stands."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"))
        wrong: list[dict[str, Any]] = [{"event_id": ""}, {"timestamp": "now"}, {"run_id": "other"}, {"payload": 1}]
        for index, bad in enumerate(wrong):
            good = of_run(*(begin(f"m{number}") for number in range(4)))
            good[index] |= bad
            answer = await asked.post(PATH, good)
            assert answer.status_code == 422
            message = answer.json()["error"]["message"]
            assert message.startswith(f"event {index}: $.")
            assert next(iter(bad)) in message
        assert len(await asked.events(PATH, most=1)) == 1
        await asked.publish("r", finished())
        assert [it["type"] for it in data_of(await asked.events(PATH))] == ["response_start", "response_done"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "$: not JSON"),
        (b"{", 400, "$: not JSON"),
        (b"\xff\xfe", 400, "$: not JSON"),
        (b"NaN", 400, "$: not JSON"),
        (b"[]", 422, "$: expected at least one event"),
        (b"null", 422, "event 0: $: expected an object, got null"),
        (b'"text"', 422, "event 0: $: expected an object, got a string"),
        (b"[1]", 422, "event 0: $: expected an object, got "),
        (b"[" * 300 + b"]" * 300, 422, "event 0: $: not JSON: JSON is nested"),
        (b"[" * 100_000 + b"]" * 100_000, 400, "nested"),
        (b"[1,]", 400, "$: not JSON"),
        (b'["\xff"]', 422, "event 0: $: not JSON"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "nested"),
    ],
)
async def test_what_is_no_event_is_refused_with_its_place(body: bytes, status: int, said: str) -> None:
    """Not JSON, too deep, of the wrong type: 4xx that says where."""
    async with open_asked() as asked:
        answer = await asked.http.post(PATH, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_other_content_types_are_refused(kind: str | None) -> None:
    """These are what a page of another origin could post without asking."""
    async with open_asked() as asked:
        headers = {} if kind is None else {"content-type": kind}
        answer = await asked.http.post(PATH, content=encode_event(started()), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")


async def test_too_many_bytes_are_refused() -> None:
    """Of one event, and of a body, with or without a stated length."""
    limits = {"event_bytes": 2_000, "body_bytes": 10_000}
    async with open_asked(settings_with(limits=limits)) as asked:
        await asked.publish("r", started("t", "th"))
        answer = await asked.post(PATH, of_run(delta("m", "x"), delta("m", "x" * 3_000)))
        assert answer.status_code == 413
        assert answer.json()["error"]["message"].startswith("event 1 has ")
        many = of_run(*(delta("m", "x" * 1_000) for _ in range(10)))
        assert (await asked.post(PATH, many)).status_code == 413

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(200):
                yield b" " * 1_000

        headers = {"content-type": "application/json"}
        answer = await asked.http.post(PATH, content=endless(), headers=headers)
        assert answer.status_code == 413
        await asked.publish("r", finished())  # the service is none the worse


@pytest.mark.parametrize("gap", [29.0, 31.0])
async def test_a_body_that_trickles_in_is_given_up(gap: float, autojump_clock: trio.testing.MockClock) -> None:
    """A byte now and then keeps a request for half a minute, however the bytes are spread, and no longer."""

    async def receive() -> Any:
        await trio.sleep(gap)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(HttpError, match="too little for too long") as raised:
        await read_body(Request({"type": "http", "headers": []}, receive), most=100)
    assert raised.value.status == 408
    assert trio.current_time() == pytest.approx(30, abs=0.01)


async def test_a_body_that_comes_slowly_but_steadily_is_read(autojump_clock: trio.testing.MockClock) -> None:
    """Ten minutes at 2 kB a second, with pauses."""

    async def receive() -> Any:
        await trio.sleep(20)
        return {"type": "http.request", "body": b"x" * 40_000, "more_body": trio.current_time() < 600}

    body = await read_body(Request({"type": "http", "headers": []}, receive), most=10_000_000)
    assert (len(body), trio.current_time()) == (30 * 40_000, 600)


async def test_many_events_at_once_let_others_run_in_between() -> None:
    """They are checked in pieces: a request of megabytes holds no reader up."""
    texts = [encode_event(attrs.evolve(begin(f"m{number}"), run_id="r")) for number in range(10 * PAUSE)]
    pauses = 0

    async def count(task_status: trio.TaskStatus[None]) -> None:
        nonlocal pauses
        task_status.started()
        while True:
            await trio.lowlevel.checkpoint()
            pauses += 1

    async with trio.open_nursery() as nursery:
        await nursery.start(count)
        await check_events(texts, "r", most=10_000)
        assert pauses >= 9
        nursery.cancel_scope.cancel()


async def test_two_runs_that_claim_one_turn_at_once_get_one_turn() -> None:
    """The one has it and the other is told so, however closely they come; the same run twice is one turn."""
    for number in range(10):
        async with open_asked() as asked:
            statuses: dict[str, list[int]] = {"r1": [], "r2": []}

            async def post(run: str, asked: Asked = asked, statuses: dict[str, list[int]] = statuses) -> None:
                answer = await asked.post(f"/api/v2/runs/{run}/events", of_run(started("t", "th"), run=run))
                statuses[run].append(answer.status_code)

            async with trio.open_nursery() as nursery:
                for run in ("r1", "r2", "r1", "r2") if number % 2 else ("r1", "r1", "r2", "r2"):
                    nursery.start_soon(post, run)
            assert sorted(statuses.values()) == [[202, 202], [409, 409]]
            winner = next(run for run, got in statuses.items() if got == [202, 202])
            assert (await asked.http.get("/xapi/turns/t")).json()["runId"] == winner


async def test_two_runs_that_claim_one_turn_in_two_processes_get_one_turn(redis_url: str, key_prefix: str) -> None:
    """Redis tells them apart: the one has it and the other is told so, and it is announced once."""
    settings = settings_with(redis={"url": redis_url, "prefix": key_prefix}, http={"port": 0, "work": False})
    async with open_asked(settings) as one, open_asked(settings) as two:
        for number in range(10):
            turn, statuses = f"t{number}", dict[str, int]()

            async def post(asked: Asked, run: str, turn: str = turn, statuses: dict[str, int] = statuses) -> None:
                answer = await asked.post(f"/api/v2/runs/{run}/events", of_run(started(turn, "th"), run=run))
                statuses[run] = answer.status_code

            async with trio.open_nursery() as nursery:
                nursery.start_soon(post, one, f"{turn}-a")
                nursery.start_soon(post, two, f"{turn}-b")
            (_, winner), (_, loser) = sorted((status, run) for run, status in statuses.items())
            assert (statuses[winner], statuses[loser]) == (202, 409)
            assert (await two.http.get(f"/xapi/turns/{turn}")).status_code == 200
            assert (await one.http.get(f"/api/v2/runs/{loser}/events")).status_code == 404
    assert plain_client(redis_url).xlen(f"{key_prefix}:turns") == 10


async def test_a_turn_belongs_to_one_run() -> None:
    """A second run cannot claim it; the same run may say its start again."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"))
        await asked.publish("r", started("t", "th"))
        answer = await asked.post("/api/v2/runs/r2/events", of_run(started("t", "th"), run="r2"))
        assert answer.status_code == 409
        assert "belongs to run 'r'" in answer.json()["error"]["message"]


async def test_as_many_turns_as_there_may_be() -> None:
    """One more is 503 until another has ended."""
    async with open_asked(settings_with(limits={"turns": 1})) as asked:
        await asked.publish("r", started("t", "th"))
        await asked.until(lambda: asked.live)
        answer = await asked.post("/api/v2/runs/r2/events", of_run(started("t2", "th"), run="r2"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_many_turns")
        assert answer.headers["retry-after"] == "1"
        await asked.publish("r", finished())
        await asked.events("/xapi/turns/t/stream")
        await asked.until(lambda: not asked.live)
        await asked.publish("r2", started("t2", "th"))


async def test_raw_readers_resume_where_they_were() -> None:
    """By id in the URL or by header; who has seen the end is told that there is nothing more."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"), begin("m"), delta("m", "a"), said("m", "a"), finished())
        every = await asked.events(PATH)
        for index, event in enumerate(every[:-1]):
            rest = await asked.events(f"{PATH}?from={event.last_id}")
            assert [it.data for it in rest] == [it.data for it in every[index + 1 :]]
            again = await asked.events(f"{PATH}?from=0-0", headers={"last-event-id": event.last_id})
            assert again == rest
        assert (await asked.http.get(f"{PATH}?from={every[-1].last_id}")).status_code == 204
        assert (await asked.http.get(f"{PATH}?from=x")).status_code == 400


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_killed_server_lost_is_put_back(name: str) -> None:
    """Posted, acknowledged, lost: announcements and events are there again, and the turn goes on to its end."""
    with RedisServer(find_server(name)) as server:  # without persistence: it forgets everything
        worker = {"grace": 0.0, "claim_idle": 1.0, "heartbeat": 0.2}
        async with open_asked(settings_with(redis={"url": server.url}, worker=worker)) as asked:
            await asked.publish("r", started("t", "th"), begin("m"), delta("m", "Hel"))
            await asked.events("/xapi/turns/t/stream", most=2)
            await asked.publish("r2", started("t2", "th"))
            server.kill()
            server.start()
            with trio.fail_after(20):
                while not (await asked.http.get("/xapi/turns")).json().get("turns", [])[1:]:  # noqa: ASYNC110
                    await trio.sleep(0.05)
            await asked.publish("r", said("m", "Hello"), finished())
            told = data_of(await asked.events("/xapi/turns/t/stream"))
            assert (told[-2]["content"], told[-1]["type"]) == ("Hello", "turn_complete")
            raw = {it["event_id"]: it["type"] for it in data_of(await asked.events(PATH))}
            assert list(raw.values()) == ["response_start", "item_start", "item_delta", "item_done", "response_done"]
            await asked.publish("r2", finished())
            assert data_of(await asked.events("/xapi/turns/t2/stream"))[-1]["type"] == "turn_complete"
