"""The HTTP shells against a provider on loopback: request, retry before the first byte, cancellation, secrets."""

import json
import logging
import subprocess
import sys
import traceback
from contextlib import aclosing

import httpx
import pytest
import trio

from tests.kit.loopback import Answer, Loopback, open_loopback
from tests.kit.recordings import ALL, RECORDINGS, adapt, each_provider, make_adapter, sse_body
from tests.kit.streams import brief
from turnwire.messages import StreamEvent
from turnwire.messages.event_codec import encode_event
from turnwire.messages.providers import ADAPTERS
from turnwire.messages.providers.contract import check_contract
from turnwire.runtime.bench.provider_streams import make_stream
from turnwire.runtime.providers import Endpoint, anthropic_messages, openai_chat, openai_responses
from turnwire.runtime.providers.http import ConnectRetry, ProviderHttpError, open_client, stream_body, stream_response

KEY = "sk-planted-0123456789"
BODIES = {provider: sse_body(provider, make_stream(provider, "text", 20)) for provider in ADAPTERS}
QUICK = ConnectRetry(attempts=3, base=0.001)


def endpoint(provider: str, url: str) -> Endpoint:
    match provider:
        case "openai-responses":
            return openai_responses(api_key=KEY, base_url=f"{url}/v1")
        case "openai-chat":
            return openai_chat(api_key=KEY, base_url=f"{url}/v1/")
        case _:
            return anthropic_messages(api_key=KEY, base_url=url)


async def ask(provider: str, server: Loopback) -> list[StreamEvent]:
    async with open_client() as client:
        stream = stream_response(
            client, endpoint(provider, server.url), make_adapter(provider), {"model": "m"}, retry=QUICK
        )
        async with aclosing(stream) as events:
            return [event async for event in events]


@pytest.mark.skipif(not ALL, reason=f"no recordings at {RECORDINGS}")
@each_provider
async def test_every_recording_over_http_is_told_as_from_the_file(provider: str) -> None:
    """Played over HTTP to our shell, each recording gives the same StreamEvents as its file."""
    recordings = [recording for recording in ALL if recording.provider == provider]
    async with (
        open_loopback(lambda number: Answer(body=[recordings[number].body()])) as server,
        open_client() as client,
    ):
        for recording in recordings:
            trace = make_adapter(provider)._trace_context
            adapter = make_adapter(provider, trace_context=trace)
            async with aclosing(
                stream_response(client, endpoint(provider, server.url), adapter, {"model": "m"})
            ) as events:
                assert [event async for event in events] == adapt(provider, recording.events, trace_context=trace)


@pytest.mark.parametrize(
    ("provider", "target", "header", "value"),
    [
        ("openai-responses", "/v1/responses", "authorization", f"Bearer {KEY}"),
        ("openai-chat", "/v1/chat/completions", "authorization", f"Bearer {KEY}"),
        ("anthropic-messages", "/v1/messages", "x-api-key", KEY),
    ],
)
async def test_the_request_is_the_providers(provider: str, target: str, header: str, value: str) -> None:
    """Address, key, body, and the wish to be streamed are where the provider looks for them."""
    async with open_loopback(lambda _: Answer()) as server:
        await ask(provider, server)
        (request,) = server.requests
    assert request.target == target
    assert request.headers[header] == value
    body = json.loads(request.body)
    assert (body["model"], body["stream"]) == ("m", True)
    assert ("stream_options" in body) == (provider == "openai-chat")
    assert ("anthropic-version" in request.headers) == (provider == "anthropic-messages")


@each_provider
async def test_cancelling_the_reader_closes_the_connection(provider: str) -> None:
    """A cancelled turn lets go of the provider: the server sees the connection end."""
    half = BODIES[provider][: len(BODIES[provider]) // 2]
    async with open_loopback(lambda _: Answer(body=[half], then="wait")) as server:
        with trio.CancelScope() as turn:
            async with open_client() as client:
                stream = stream_response(client, endpoint(provider, server.url), make_adapter(provider), {})
                async with aclosing(stream) as events:
                    async for event in events:
                        if brief([event])[0].startswith("delta"):
                            turn.cancel()
        assert turn.cancelled_caught
        with trio.fail_after(5):
            await server.gone.wait()


@each_provider
async def test_a_server_that_dies_gives_a_truncation_and_no_second_try(provider: str) -> None:
    """After the first byte nothing is tried again: the response is STREAM_TRUNCATED, every item closed."""
    half = BODIES[provider][: len(BODIES[provider]) // 2]
    async with open_loopback(lambda _: Answer(body=[half], then="die")) as server:
        events = await ask(provider, server)
        assert len(server.requests) == 1
    check_contract(events)
    assert brief(events)[-1] == "broken STREAM_TRUNCATED"


@each_provider
async def test_before_the_first_byte_it_is_tried_again(provider: str) -> None:
    """A refusal that can pass, and a connection that dies empty, cost a retry each and nothing else."""
    answers = [Answer(status=503, body=[b"{}"]), Answer(then="die"), Answer(body=[BODIES[provider]])]
    async with open_loopback(lambda number: answers[number]) as server:
        events = await ask(provider, server)
        assert len(server.requests) == 3
    check_contract(events)
    assert brief(events)[-1] == "end complete stop"


async def test_tries_come_to_an_end() -> None:
    """After the last try the response breaks with the provider's error."""
    refusal = json.dumps({"error": {"type": "rate_limit_error", "message": "slow down"}}).encode()
    async with open_loopback(lambda _: Answer(status=429, body=[refusal])) as server:
        events = await ask("anthropic-messages", server)
        assert len(server.requests) == 3
    assert brief(events) == ["begin", "broken rate_limit_error"]


async def test_a_refusal_that_cannot_pass_is_not_tried_again() -> None:
    """A bad request stays bad."""
    async with open_loopback(lambda _: Answer(status=400, body=[b'{"error": {"message": "bad model"}}'])) as server:
        events = await ask("openai-chat", server)
        assert len(server.requests) == 1
    assert brief(events)[-1] == "broken 400"


async def test_an_address_where_nobody_listens() -> None:
    """A provider that cannot be reached is an error that may pass, not an exception."""
    async with open_client() as client:
        stream = stream_response(
            client, endpoint("openai-chat", "http://127.0.0.1:1"), make_adapter("openai-chat"), {}, retry=QUICK
        )
        events = [event async for event in stream]
    assert brief(events) == ["begin", "broken CONNECTION_FAILED"]


async def test_waits_double_and_a_server_may_ask_for_its_own(autojump_clock: trio.testing.MockClock) -> None:
    """The wait before try n is base * 2^(n-2), or what retry-after says, up to the longest."""
    retry = ConnectRetry()
    assert [retry.wait_before(attempt) for attempt in (2, 3, 9)] == [0.5, 1.0, 8.0]
    assert (retry.wait_before(2, 3.0), retry.wait_before(2, 600.0)) == (3.0, 8.0)
    tries: list[float] = []

    def refuse(_request: httpx.Request) -> httpx.Response:
        tries.append(trio.current_time())
        return httpx.Response(503, headers={"retry-after": {2: "3", 3: "nan"}.get(len(tries), "soon")})

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(ProviderHttpError, match="503"):
            await anext(stream_body(client, endpoint("openai-chat", "http://x"), {}, retry=ConnectRetry(attempts=4)))
    assert [moment - tries[0] for moment in tries] == [
        0,
        0.5,
        3.5,
        5.5,
    ]  # what is no number of seconds is not taken for one


async def test_a_key_is_in_no_log_line_error_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    """Not when it works, not when the provider repeats it, not when the connection breaks."""
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"type": "authentication_error", "message": f"bad key {KEY}"}}).encode()
    answers = [
        Answer(),
        Answer(status=401, body=[echo]),
        Answer(status=502, body=[KEY.encode()]),
        Answer(then="die"),
        Answer(then="die"),
    ]
    said: list[str] = []
    async with open_loopback(lambda number: answers[number]) as server:
        for provider in ("anthropic-messages", "openai-chat", "openai-responses"):
            said += [encode_event(event).decode() for event in await ask(provider, server)]
        assert len(server.requests) == 5
        assert any(KEY in str(request.headers) for request in server.requests)
        said.append(repr(endpoint("openai-chat", server.url)) + repr(endpoint("anthropic-messages", server.url)))
    async with open_client() as client:
        try:
            await anext(
                stream_body(client, endpoint("openai-chat", "http://127.0.0.1:1"), {}, retry=ConnectRetry(attempts=1))
            )
        except ProviderHttpError as exc:
            said += ["".join(traceback.format_exception(exc)), repr(exc), repr(vars(exc))]
    said += [record.getMessage() for record in caplog.records]
    assert len(caplog.records) > 5
    assert not [line for line in said if KEY in line]


def test_a_key_comes_from_the_environment_or_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key there is no endpoint, and the error says what to set."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert anthropic_messages().request_headers()["x-api-key"] == KEY
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        openai_responses()


def test_a_key_that_no_header_can_hold_is_refused_without_quoting_it() -> None:
    """A line end around a key is cut off; anything odd inside it is refused before HTTP libraries repeat it."""
    assert anthropic_messages(api_key=f" {KEY}\n").secrets == (KEY,)
    for bad in (f"{KEY}\nx", f"{KEY}é"):
        with pytest.raises(ValueError, match="no header") as caught:
            openai_chat(api_key=bad)
        assert KEY not in str(caught.value)


def test_without_httpx_the_error_says_what_to_install() -> None:
    """The shells are an extra; whoever has not asked for it is told how."""
    code = "import sys; sys.modules['httpx'] = None; import turnwire.runtime.providers.http"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603  # ourselves
    assert "pip install 'turnwire[providers]'" in found.stderr


async def test_a_key_that_a_stream_repeats_is_not_told() -> None:
    """HTTP 200, and then an error event that quotes the key: it comes out without it."""
    error = {"type": "error", "error": {"type": "authentication_error", "message": f"bad key {KEY}", "key": KEY}}
    body = f"event: error\ndata: {json.dumps(error)}\n\n".encode()
    async with open_loopback(lambda _: Answer(body=[body])) as server:
        told = [encode_event(event).decode() for event in await ask("anthropic-messages", server)]
    assert "bad key ***" in told[-1]
    assert not [line for line in told if KEY in line]
