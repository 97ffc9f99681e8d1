"""Who may do what: every route against every kind of token, and what browsers of other origins get."""

import itertools
import logging
import time
from typing import Any

import attrs
import pytest
import trio

from tests.kit.service import Asked, open_asked, settings_with
from tests.kit.turns import finished, started
from turnwire.messages.event_codec import unstructure_event
from turnwire.runtime.http.access import Action, Principal, Target
from turnwire.runtime.http.app import ROUTES
from turnwire.runtime.http.tokens import TokenError, mint_token, read_token
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.settings import SettingsError, load_settings

TOKEN, SECRET = "let-me-in", "a-secret-of-ours-in-no-fewer-bytes"  # of this test alone
HTTP = {"port": 0, "tokens": ("another", TOKEN), "secret": SECRET, "heartbeat": 0.05}
PUBLIC = {"/healthz", "/readyz", "/", "/page/{name}", "/openapi.json"}
BY_TURN = {"/xapi/turns/{turn_id}", "/xapi/turns/{turn_id}/stream"}
EVENT = unstructure_event(attrs.evolve(started("t", "th"), run_id="r"))
BODIES: dict[str, Any] = {
    "/api/v2/runs/{run_id}/events": [EVENT],
    "/xapi/threads/{thread_id}/turns": {"message": "hi"},
    "/agui": {"threadId": "th2", "runId": "ra", "messages": [{"id": "u", "role": "user", "content": "hi"}]},
    "/api/chat": {"id": "th3", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
}
KINDS = ("none", "wrong", "expired", "another turn's", "its turn's", "right")


def token_of(kind: str) -> str | None:
    now, secret = int(time.time()), SECRET.encode()
    return {
        "none": None,
        "wrong": "wrong",
        "expired": mint_token(secret, "t", expires_at=now - 1),
        "another turn's": mint_token(secret, "other", expires_at=now + 60),
        "its turn's": mint_token(secret, "t", expires_at=now + 60),
        "right": TOKEN,
    }[kind]


def expected(path: str, kind: str, *, in_query: bool) -> str:
    if path in PUBLIC or (kind == "right" and not in_query) or (kind == "its turn's" and path in BY_TURN):
        return "let in"
    return "403" if kind in ("another turn's", "its turn's") else "401"


async def ask(asked: Asked, route: Any, token: str | None, *, in_query: bool) -> int:
    path = route.path.format(run_id="r", turn_id="t", thread_id="th", name="index.html")
    headers = {} if token is None or in_query else {"authorization": f"Bearer {token}"}
    params = {"token": token} if token is not None and in_query else {}
    body = {"json": BODIES[route.path]} if route.path in BODIES else {}
    async with asked.http.stream(route.method, path, headers=headers, params=params, **body) as answer:
        return answer.status_code


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpx leaves streams half read
async def test_every_route_against_every_token() -> None:
    """Nothing is open that is not meant to be, by header or by URL; in a URL only what lets read one turn counts."""
    async with open_asked(settings_with(http=HTTP), script=itertools.repeat("hello")) as asked:
        right = {"authorization": f"Bearer {TOKEN}"}
        assert (await asked.post("/api/v2/runs/r/events", [EVENT], headers=right)).status_code == 202
        found: dict[tuple[str, str, str, bool], str] = {}
        wanted = dict(found)
        for route, kind, in_query in itertools.product(ROUTES, KINDS, (False, True)):
            with trio.fail_after(10):
                status = await ask(asked, route, token_of(kind), in_query=in_query)
            name = (route.method, route.path, kind, in_query)
            found[name] = str(status) if status in (401, 403) else "let in"
            wanted[name] = expected(route.path, kind, in_query=in_query)
            assert status < 500
        assert found == wanted
        assert len(found) == len(ROUTES) * len(KINDS) * 2


def test_every_route_says_what_it_needs() -> None:
    """A route that is open to all is one of these, and no other may become one unnoticed."""
    assert {route.path for route in ROUTES if route.need == "nothing"} == PUBLIC
    assert {route.path for route in ROUTES if route.need == "turn"} == BY_TURN
    assert all(route.method == "GET" for route in ROUTES if route.need != "token")


async def test_a_minted_token_lets_read_its_turn_and_expires() -> None:
    """It is made for one turn, and lives no longer than the setting allows."""
    async with open_asked(settings_with(http={**HTTP, "token_lifetime": 100.0}), token=TOKEN) as asked:
        await asked.publish("r", started("t", "th"), finished())
        minted = (await asked.post("/xapi/turns/t/tokens", {"seconds": 1e9})).json()
        assert 90 < minted["expiresAt"] / 1000 - time.time() <= 100
        short = (await asked.post("/xapi/turns/t/tokens", {"seconds": 5})).json()
        assert short["expiresAt"] / 1000 - time.time() <= 5
        assert (await asked.http.post("/xapi/turns/no/tokens")).status_code == 404
        for wrong in ("x", 0, -1, True, [1]):
            assert (await asked.post("/xapi/turns/t/tokens", {"seconds": wrong})).status_code == 422
        events = await asked.events(f"/xapi/turns/t/stream?token={minted['token']}")
        assert events[-1].data.startswith('{"type":"turn_complete"')


def test_a_token_that_was_tampered_with_is_none() -> None:
    """Neither its turn nor its time can be changed, nor the signature left out."""
    token = mint_token(b"secret", "t", expires_at=200)
    claim, _, signature = token.partition(".")
    assert read_token(b"secret", token, now=199.9) == "t"
    other = mint_token(b"secret", "u", expires_at=300).partition(".")[0]
    for wrong in (
        f"{other}.{signature}",
        claim,
        f"{claim}.",
        f"{claim}.{signature[:-1]}",
        f".{signature}",
        "",
        token + "A",
    ):
        with pytest.raises(TokenError, match="not valid"):
            read_token(b"secret", wrong, now=0)
    with pytest.raises(TokenError, match="not valid"):
        read_token(b"other secret", token, now=0)
    with pytest.raises(TokenError, match="expired"):
        read_token(b"secret", token, now=200)


async def test_tokens_are_in_no_log(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Not in ours, not in the server's own, whatever went wrong with the request."""
    caplog.set_level(logging.DEBUG)

    async def crash(*_: object) -> bool:
        raise RuntimeError("the authoriser is broken")

    token = mint_token(SECRET.encode(), "t", expires_at=int(time.time()) + 60)
    async with open_asked(settings_with(http=HTTP), authoriser=crash) as asked:
        asked.running.server.config.accesslog = logging.getLogger("hypercorn.access")
        asked.running.server.config.access_log_format = '%(R)s "%(U)s" %(Uq)s %(q)s'
        for path in ("/xapi/turns/t", "/xapi/turns/t/stream", "/nothing", "/xapi/turns"):
            await asked.http.get(path, params={"token": token, "from": "0-0"})
            await asked.http.get(path, params={"token": f"{token}x"})
            await asked.http.get(f"{path}?%74oken={token}")
            await asked.http.get(path, headers={"authorization": f"Bearer {TOKEN}-not"})
    ours = (record for record in caplog.records if not record.name.startswith(("httpx", "httpcore")))
    lines = "\n".join(map(logging.Formatter().format, ours))  # with traces
    assert "the authoriser is broken" in lines
    assert "/xapi/turns/t/stream" in lines
    assert "from=0-0" in lines  # the server's own log was on
    for text in (lines, *capfd.readouterr()):
        assert token not in text
        assert TOKEN not in text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])  # noqa: S104  # that is the question
def test_without_tokens_it_does_not_listen_beyond_loopback(host: str) -> None:
    """The settings are refused before anything is started."""
    with pytest.raises(SettingsError, match=r"http\.host: must be a loopback address"):
        load_settings(command_line=[f"http.host={host}"])
    load_settings(command_line=[f"http.host={host}", "http.tokens=t"])


async def test_without_tokens_only_requests_to_loopback_are_answered() -> None:
    """A name that somebody else's DNS points here is not ours."""
    async with open_asked() as asked:
        for host, status in (("evil.example", 403), ("127.0.0.1:1", 200), ("localhost", 200), ("[::1]:80", 200)):
            assert (await asked.http.get("/xapi/turns", headers={"host": host})).status_code == status
        for host in ("[", "[x]", "[::1", "://", "@", ":80"):
            assert (await asked.http.get("/xapi/turns", headers={"host": host})).status_code == 403


async def test_other_origins_may_neither_read_nor_write() -> None:
    """CORS is off unless origins are listed, and a foreign page's post is refused though it needs no answer."""
    listed, other = "https://app.example", "https://evil.example"
    async with open_asked(settings_with(http={"port": 0, "cors_origins": (listed,)})) as asked:
        await asked.publish("r", started("t", "th"))
        for origin, status in ((other, 403), (listed, 202), (asked.url, 202), ("null", 403), ("http://[", 403)):
            answer = await asked.http.post("/xapi/turns/t/stop", headers={"origin": origin})
            assert answer.status_code == status
        preflight = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        answer = await asked.http.options("/xapi/turns", headers={"origin": listed, **preflight})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, listed)
        answer = await asked.http.options("/xapi/turns", headers={"origin": other, **preflight})
        assert "access-control-allow-origin" not in answer.headers
        assert (await asked.http.get("/xapi/turns", headers={"origin": listed})).headers["vary"] == "origin"
        assert (
            "access-control-allow-origin"
            not in (await asked.http.get("/xapi/turns", headers={"origin": other})).headers
        )


async def test_the_hosts_authoriser_decides_by_turn_and_thread() -> None:
    """It is asked about every turn, run and thread, new ones included; lists show what it lets see."""
    asked_about: list[tuple[str, Action, Target]] = []

    async def authorise(who: Principal, action: Action, target: Target) -> bool:
        asked_about.append((who.name.partition(" ")[0], action, target))
        return target.thread_id == "mine" and (action == "read" or target.turn_id != "frozen")

    settings = settings_with(http=HTTP)
    async with open_asked(settings, token=TOKEN, authoriser=authorise, script=itertools.repeat("hello")) as asked:
        await asked.publish("r", started("t", "mine"))
        assert asked_about == [("token", "write", Target("t", "mine"))]
        for run, turn, thread in (("r2", "t2", "theirs"), ("r3", "frozen", "mine")):
            event = unstructure_event(attrs.evolve(started(turn, thread), run_id=run))
            assert (await asked.post(f"/api/v2/runs/{run}/events", [event])).status_code == 403
        assert (await asked.http.get("/xapi/turns/t")).status_code == 200
        assert (await asked.http.get("/xapi/threads/theirs")).status_code == 403
        assert (await asked.post("/xapi/threads/theirs/turns", {"message": "hi"})).status_code == 403
        assert (await asked.post("/xapi/threads/mine/turns", {"message": "hi", "turnId": "frozen"})).status_code == 403
        assert [it["turnId"] for it in (await asked.http.get("/xapi/turns")).json()["turns"]] == ["t"]
        await asked.running.service.backend.directory.announce(
            Announcement(run_id="r9", turn_id="t9", thread_id="theirs")
        )
        assert [it["turnId"] for it in (await asked.http.get("/xapi/turns")).json()["turns"]] == ["t"]
        for path in ("/xapi/turns/t9", "/xapi/turns/t9/stream", "/api/v2/runs/r9/events", "/api/chat/theirs/stream"):
            assert (await asked.http.get(path)).status_code == 403
        assert (await asked.http.post("/xapi/turns/t9/stop")).status_code == 403
