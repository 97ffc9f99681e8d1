"""Turns over HTTP: the list, a turn at a glance, its stream, its end."""

from contextlib import aclosing
from urllib.parse import quote

import attrs
import pytest
import trio

from tests.kit.service import open_asked, settings_with
from tests.kit.sse import data_of, open_sse
from tests.kit.turns import begin, delta, finished, said, started
from turnwire.messages.event_codec import unstructure_event
from turnwire.runtime.http.sse import BEAT
from turnwire.runtime.turn_client import read_turn


async def test_recent_turns_are_listed_newest_first_in_pages() -> None:
    """With their state; `before` leads to the next page until there is none."""
    async with open_asked() as asked:
        for number in range(5):
            await asked.publish(f"r{number}", started(f"t{number}", f"th{number}"))
            await trio.sleep(0.002)  # the list is ordered by milliseconds
        await asked.publish("r4", begin("m"), said("m", "x"), finished())
        await asked.publish("r3", finished("aborted"))
        await asked.events("/xapi/turns/t4/stream")
        await asked.events("/xapi/turns/t3/stream")
        first = (await asked.http.get("/xapi/turns?limit=2")).json()
        assert [(it["turnId"], it["threadId"], it["state"]) for it in first["turns"]] == [
            ("t4", "th4", "complete"),
            ("t3", "th3", "aborted"),
        ]
        second = (await asked.http.get("/xapi/turns", params={"limit": "2", "before": first["before"]})).json()
        third = (await asked.http.get("/xapi/turns", params={"limit": "2", "before": second["before"]})).json()
        assert [it["turnId"] for page in (second, third) for it in page["turns"]] == ["t2", "t1", "t0"]
        assert third["before"] is None
        assert {it["state"] for it in second["turns"]} <= {"waiting", "running"}


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=", "before=x", "before=:t"])
async def test_a_wrong_parameter_is_named(query: str) -> None:
    """400, and the message begins with the place."""
    async with open_asked() as asked:
        answer = await asked.http.get(f"/xapi/turns?{query}")
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith(f"query {query.partition('=')[0]}: ")


async def test_a_turn_at_a_glance_is_what_its_stream_comes_to() -> None:
    """The same objects; and the stream goes on from where the glance was taken."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"), begin("m"), delta("m", "Hello, you"), begin("n"))
        await asked.events("/xapi/turns/t/stream", most=2)  # so far it has got
        glance = (await asked.http.get("/xapi/turns/t")).json()
        assert (glance["threadId"], glance["runId"], glance["state"]) == ("th", "r", "running")
        assert [it["type"] for it in glance["outputs"]] == ["turn_started", "message"]
        await asked.publish("r", said("m", "Hello, you there"), said("n", "Bye"), finished())
        rest = data_of(await asked.events(f"/xapi/turns/t/stream?from={glance['lastEventId']}"))
        known = {it.get("itemId", it["type"]): it for it in [*glance["outputs"], *rest]}
        ended = (await asked.http.get("/xapi/turns/t")).json()
        assert ended["state"] == "complete"
        assert list(known.values()) == ended["outputs"]


@pytest.mark.parametrize("name", ["a/b", "/", "../x", "100%", "%2F", "ä ö", "a?b#c", "a+b&c=d", "\u2028", "x" * 512])
async def test_whatever_a_turn_is_called_it_can_be_read_and_stopped(name: str) -> None:
    """Ids are others': a slash, a percent sign or a space in them is sent escaped, and means itself."""
    async with open_asked() as asked:
        path = quote(name, safe="")
        event = unstructure_event(attrs.evolve(started(name, name), run_id=name))
        assert (await asked.post(f"/api/v2/runs/{path}/events", [event])).json()["turnId"] == name
        assert (await asked.http.get(f"/xapi/turns/{path}")).json()["turnId"] == name
        assert (await asked.post(f"/xapi/turns/{path}/stop", {})).status_code == 202
        async with aclosing(read_turn(asked.url, name)) as reads:
            ids = [read.output.turn_id async for read in reads]
        assert set(ids) == {name}
        assert (await asked.http.get(f"/xapi/threads/{path}")).json()["turns"][0]["turnId"] == name
        assert (await asked.http.get(f"/no/such%2Fplace/{path}")).status_code == 404


@pytest.mark.parametrize("path", ["/xapi/turns/no", "/xapi/turns/no/stream", "/api/v2/runs/no/events"])
async def test_what_nobody_announced_is_not_found(path: str) -> None:
    """404 in JSON."""
    async with open_asked() as asked:
        answer = await asked.http.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_a_stream_says_what_proxies_must_know() -> None:
    """Nobody may keep or hold back a stream; the first byte comes at once, before any event."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"))
        async with open_sse(asked.url, "/xapi/turns/t/stream") as stream:
            assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert stream.headers["cache-control"] == "no-store"
            assert stream.headers["x-accel-buffering"] == "no"
            assert b": open\n\n" in (await stream.read() or b"")


async def test_a_quiet_stream_gets_comments() -> None:
    """As often as the setting says, which is every 15 s unless it is set."""
    assert settings_with().http.heartbeat == 15
    async with open_asked(settings_with(http={"port": 0, "heartbeat": 0.05})) as asked:
        await asked.publish("r", started("t", "th"))
        body = b""
        with trio.fail_after(5):
            async with open_sse(asked.url, "/xapi/turns/t/stream") as stream:
                while body.count(BEAT) < 3:
                    body += await stream.read() or b""


async def test_a_reader_that_has_gone_is_noticed_at_once() -> None:
    """Not at the next event: there may be none for long."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"))
        async with open_sse(asked.url, "/xapi/turns/t/stream") as stream:
            await anext(stream)
            assert (asked.running.service.seats.total, asked.running.service.backend.log.readers) == (1, 2)
        await asked.until(lambda: asked.running.service.seats.total == 0)
        assert len(asked.running.service.streams) == 0
        await asked.until(lambda: asked.running.service.backend.log.readers == 1)  # the worker's own


@pytest.mark.parametrize("path", ["/xapi/turns/t/stream", "/xapi/turns/t/stream?dialect=agui", "/api/v2/runs/r/events"])
async def test_a_connection_can_be_used_again_after_a_stream(path: str) -> None:
    """Its end is the response's, not the connection's; one that asked to be closed is closed, and an idle one too."""
    async with open_asked() as asked:
        asked.running.server.config.keep_alive_timeout = 0.3
        await asked.publish("r", started("t", "th"), finished())
        await asked.events("/xapi/turns/t/stream")
        for word, answers in (("close", 1), ("keep-alive", 2)):
            ask = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: {word}\r\n\r\n".encode()
            said = b""
            async with await trio.open_tcp_stream("127.0.0.1", int(asked.url.rpartition(":")[2])) as socket:
                await socket.send_all(ask)
                with trio.fail_after(5):
                    async for piece in socket:  # until the service closes it
                        said += piece
                        if said.endswith(b"0\r\n\r\n") and said.count(b"HTTP/1.1 200") < answers:
                            await socket.send_all(ask)
            assert said.count(b"HTTP/1.1 200") == answers
            assert said.count(b"0\r\n\r\n") == answers


async def test_half_a_request_is_not_waited_for_for_ever() -> None:
    """A byte now and then does not keep a connection whose headers come to no end."""
    async with open_asked() as asked:
        asked.running.server.config.keep_alive_timeout = 0.3
        async with await trio.open_tcp_stream("127.0.0.1", int(asked.url.rpartition(":")[2])) as socket:
            await socket.send_all(b"GET /xapi/turns HTTP/1.1\r\nx: ")
            with trio.fail_after(5), pytest.raises((trio.BrokenResourceError, trio.ClosedResourceError)):
                while True:
                    await socket.send_all(b"x")
                    await trio.sleep(0.02)


async def test_a_stopped_turn_ends_as_aborted_and_stopping_again_is_fine() -> None:
    """Also before anybody has worked on it; what has ended stays as it is."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"), begin("m"), delta("m", "Hel"))
        for _ in range(2):
            answer = await asked.http.post("/xapi/turns/t/stop")
            assert answer.status_code == 202
        told = data_of(await asked.events("/xapi/turns/t/stream"))
        assert (told[-1]["type"], told[-1]["status"]) == ("turn_complete", "aborted")
        assert (await asked.post("/xapi/turns/t/stop", {"reason": "late"})).json()["state"] == "aborted"
        raw = [it["payload"] for it in data_of(await asked.events("/api/v2/runs/r/events"))]
        assert raw[-1] == {"type": "turn_aborted_by_user", "turn_id": "t", "reason": "stopped by user"}
        assert (await asked.http.post("/xapi/turns/no/stop")).status_code == 404
        assert (await asked.post("/xapi/turns/t/stop", {"reason": 1})).status_code == 422


async def test_a_turn_that_another_process_works_on_can_be_stopped(redis_url: str, key_prefix: str) -> None:
    """The stop goes through log A: who owns the turn hears of it there, and readers of either process see its end."""
    redis = {"url": redis_url, "prefix": key_prefix}
    async with (
        open_asked(settings_with(redis=redis)) as owner,
        open_asked(settings_with(redis=redis, http={"port": 0, "work": False})) as other,
    ):
        await other.publish("r", started("t", "th"), begin("m"), delta("m", "Hel"))
        await owner.until(lambda: owner.live)
        assert other.live == 0
        await other.events("/xapi/turns/t/stream", most=2)
        assert (await other.post("/xapi/turns/t/stop", {"reason": "enough"})).json()["state"] == "running"
        for asked in (owner, other):
            told = data_of(await asked.events("/xapi/turns/t/stream"))
            assert (told[-1]["type"], told[-1]["status"]) == ("turn_complete", "aborted")


async def test_readers_have_limits() -> None:
    """Of one turn and of all; one more is 503, and a place that is given up is free again."""
    limits = {"readers_per_turn": 2, "readers": 3}
    async with open_asked(settings_with(limits=limits)) as asked:
        await asked.publish("r", started("t", "th"))
        await asked.publish("r2", started("t2", "th"))
        async with open_sse(asked.url, "/xapi/turns/t/stream"), open_sse(asked.url, "/xapi/turns/t/stream"):
            answer = await asked.http.get("/xapi/turns/t/stream")
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_many_readers")
            assert "turn 't' has 2 readers" in answer.json()["error"]["message"]
            async with open_sse(asked.url, "/api/v2/runs/r2/events"):
                answer = await asked.http.get("/xapi/turns/t2/stream")
                assert "this process has 3 readers" in answer.json()["error"]["message"]
        await asked.until(lambda: asked.running.service.seats.total == 0)
        assert len(await asked.events("/xapi/turns/t/stream", most=1)) == 1


async def test_leaving_the_block_ends_streams_as_they_should_end() -> None:
    """Readers are told, the response is complete, and nothing is left."""
    complete: list[bool] = []
    told: list[bytes] = []

    async def read(url: str, path: str, up: trio.Event) -> None:
        async with open_sse(url, path) as stream:
            first = await stream.read() or b""
            up.set()
            told.append(first + await stream.read_all())
            complete.append(stream.is_complete)

    async with trio.open_nursery() as nursery:
        async with open_asked() as asked:
            await asked.publish("r", started("t", "th"))
            for path in ("/xapi/turns/t/stream", "/xapi/turns/t/stream?dialect=agui", "/api/v2/runs/r/events"):
                up = trio.Event()
                nursery.start_soon(read, asked.url, path, up)
                await up.wait()
            began_at = trio.current_time()
        assert trio.current_time() - began_at < 1.5
    assert complete == [True] * 3
    assert all(b": the service is shutting down" in body for body in told)


async def test_a_reader_that_takes_nothing_does_not_hold_up_the_end() -> None:
    """Its connection is cut after the grace time."""
    text = "x" * 100_000
    async with open_asked(settings_with(http={"port": 0, "grace": 0.3}, turn={"batch_gradient": (1,)})) as asked:
        await asked.publish("r", started("t", "th"))
        async with open_sse(asked.url, "/xapi/turns/t/stream"):
            for number in range(60):
                await asked.publish("r", begin(f"m{number}"), said(f"m{number}", text))
            await asked.until(lambda: asked.running.server.connections == 2)  # ours for posting, and the lazy one
            await trio.sleep(0.2)  # until its buffers are full
            asked.running.stop()
            with trio.fail_after(3):
                await asked.until(lambda: asked.running.server.connections == 0)
