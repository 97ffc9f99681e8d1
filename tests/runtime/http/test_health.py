"""For operators and browsers: health, readiness, numbers, the page's headers."""

import itertools

import pytest
import trio

from tests.kit.servers import RedisServer, find_server
from tests.kit.service import open_asked, settings_with
from tests.kit.sse import data_of
from tests.kit.turns import finished, started


async def test_a_service_is_alive_and_ready() -> None:
    """Both say so in JSON, and nobody may keep the answer."""
    async with open_asked() as asked:
        for path in ("/healthz", "/readyz"):
            answer = await asked.http.get(path)
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")


async def test_without_its_log_it_is_alive_but_not_ready() -> None:
    """Until the server is back; requests that need it are told to come again."""
    with RedisServer(find_server("valkey")) as server:
        settings = settings_with(redis={"url": server.url, "socket_timeout": 0.5})
        async with open_asked(settings) as asked:
            assert (await asked.http.get("/readyz")).status_code == 200
            server.kill()
            answer = await asked.http.get("/readyz")
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "log_unavailable")
            assert (await asked.http.get("/healthz")).status_code == 200
            for path in ("/xapi/turns", "/xapi/turns/t/stream"):
                answer = await asked.http.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                assert "redis" not in answer.text.lower()  # what stands behind us is nobody's business
            server.start()
            with trio.fail_after(10):
                while (await asked.http.get("/readyz")).status_code != 200:  # noqa: ASYNC110
                    await trio.sleep(0.05)


async def test_a_server_that_hangs_keeps_nobody_for_long() -> None:
    """Its connections stand and nothing is answered: all are told so together, not one timeout after the other."""
    with RedisServer(find_server("valkey")) as server:
        settings = settings_with(redis={"url": server.url, "socket_timeout": 1.0})
        async with open_asked(settings, script=itertools.repeat("hello")) as asked:
            await asked.publish("r", started("t", "th"))
            server.freeze()
            answers: list[tuple[int, float]] = []

            async def ask(method: str, path: str, document: object = None) -> None:
                began_at = trio.current_time()
                answer = await asked.http.request(method, path, json=document)
                answers.append((answer.status_code, trio.current_time() - began_at))

            try:
                async with trio.open_nursery() as nursery:
                    for number in range(5):
                        nursery.start_soon(ask, "GET", "/xapi/turns")
                        nursery.start_soon(ask, "GET", "/xapi/turns/t/stream")
                        nursery.start_soon(ask, "POST", "/xapi/turns/t/stop")
                        nursery.start_soon(ask, "POST", f"/xapi/threads/{number}/turns", {"message": "hi"})
                    await trio.sleep(0.1)
                    assert (await asked.http.get("/healthz")).status_code == 200
            finally:
                server.thaw()
            assert [status for status, _ in answers] == [503] * 20
            assert max(seconds for _, seconds in answers) < 3.5  # its own timeout, and one before it
            await asked.publish("r", finished())
            assert data_of(await asked.events("/xapi/turns/t/stream"))[-1]["type"] == "turn_complete"


async def test_numbers_are_told_as_prometheus_wants_them() -> None:
    """Of the log, the turns and the worker; of each service its own."""
    async with open_asked() as asked:
        await asked.publish("r", started("t", "th"), finished())
        await asked.events("/xapi/turns/t/stream")
        answer = await asked.http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        numbers = dict(line.split() for line in answer.text.splitlines() if not line.startswith("#"))
        assert float(numbers["turnwire_log_appended_total"]) == 2
        assert float(numbers["turnwire_worker_claimed_total"]) == 1
        assert "turnwire_turns_open" in numbers
    async with open_asked() as asked:
        assert "turnwire_log_appended_total 0.0" in (await asked.http.get("/metrics")).text


async def test_the_page_and_its_files_come_with_strict_headers() -> None:
    """Nothing from elsewhere, no script in the page, no frame around it; what is not there is not found."""
    async with open_asked() as asked:
        page = await asked.http.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "<script>" not in page.text
        assert page.headers["x-content-type-options"] == "nosniff"
        script = await asked.http.get("/page/page.js")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        for name in ("nothing.js", "..%2fapp.py", "page.js%00", "app.py", "__init__.py"):
            assert (await asked.http.get(f"/page/{name}")).status_code in (400, 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
async def test_other_methods_are_refused(method: str) -> None:
    """405, with those that are possible."""
    async with open_asked() as asked:
        answer = await asked.http.request(method, "/xapi/turns")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
