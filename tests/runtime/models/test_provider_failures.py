"""Providers that fail, hang or are stopped: retried before the first byte, never after it, and always told."""

import pytest
import trio

from tests.kit.loopback import Answer
from tests.kit.model_calls import ask, make_call
from tests.kit.recordings import each_provider, sse_body, told
from tests.runtime.models.test_provider_models import KEY, bodies, playing
from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import ResponseError, StreamEvent
from turnwire.messages.providers import ADAPTERS
from turnwire.messages.providers.contract import check_contract
from turnwire.messages.ui import MediaPart, UIMessage
from turnwire.runtime.bench.provider_streams import make_stream
from turnwire.runtime.models.provider import ProviderModel
from turnwire.runtime.providers import openai_chat
from turnwire.runtime.providers.http import ConnectRetry, open_client

BODIES = {provider: sse_body(provider, make_stream(provider, "text", 20)) for provider in ADAPTERS}


def error_of(events: list[StreamEvent]) -> str:
    end = events[-1].payload
    assert isinstance(end, ResponseError)
    return end.error.code


@each_provider
async def test_a_failure_before_the_first_byte_is_tried_again(provider: str) -> None:
    """Refused, then broken off before a byte came: the third try is the answer, told once."""
    refused = Answer(status=529, body=[b'{"error": {"type": "overloaded_error", "message": "later"}}'])
    async with playing(provider, refused, Answer(then="die"), Answer(body=[BODIES[provider]])) as (model, server):
        events, _ = await ask(model, make_call(prompt="Please."))
    check_contract(events)
    assert told(events).status == "complete"
    assert len(server.requests) == 3
    assert len({request.body for request in server.requests}) == 1


@each_provider
async def test_a_failure_after_the_first_byte_is_an_error_and_never_tried_again(provider: str) -> None:
    """A second try would be a second answer; what was said stays."""
    half = Answer(body=[BODIES[provider][: len(BODIES[provider]) // 2]], then="die")
    async with playing(provider, half, Answer(body=[BODIES[provider]])) as (model, server):
        events, _ = await ask(model, make_call(prompt="Please."))
    check_contract(events)
    assert error_of(events) == "STREAM_TRUNCATED"
    assert len(server.requests) == 1
    assert told(events).texts


@each_provider
async def test_a_provider_that_goes_on_failing_is_an_error(provider: str) -> None:
    """After as many tries as were allowed, with the provider's own code."""
    refused = Answer(status=503, body=[b'{"error": {"code": "server_overloaded", "message": "later"}}'])
    async with playing(provider, *[refused] * 3, retry=ConnectRetry(attempts=2, base=0.001)) as (model, server):
        events, _ = await ask(model, make_call())
    check_contract(events)
    assert error_of(events) == "server_overloaded"
    assert len(server.requests) == 2


@each_provider
async def test_a_request_that_is_refused_for_what_it_says_is_not_repeated(provider: str) -> None:
    """And the key that the host repeats is not told on."""
    refused = Answer(status=401, body=[f'{{"error": {{"type": "bad_key", "message": "{KEY}"}}}}'.encode()])
    async with playing(provider, refused) as (model, server):
        events, _ = await ask(model, make_call())
    assert error_of(events) == "bad_key"
    assert len(server.requests) == 1
    assert KEY.encode() not in b"".join(encode_event(event) for event in events)


async def test_an_error_in_the_stream_does_not_repeat_the_key() -> None:
    """Some hosts quote the request they did not like."""
    error = {"type": "error", "error": {"type": "api_error", "message": f"with {KEY}"}}
    async with playing("anthropic-messages", Answer(body=[sse_body("anthropic-messages", [error])])) as (model, _):
        events, _ = await ask(model, make_call())
    assert error_of(events) == "api_error"
    assert KEY.encode() not in encode_event(events[-1])


@each_provider
async def test_a_stop_closes_what_is_open_and_lets_the_connection_go(provider: str) -> None:
    """C9: the text that was shown stays, the response is aborted, nothing comes after."""
    half = Answer(body=[BODIES[provider][: len(BODIES[provider]) // 2]], then="wait")
    events: list[StreamEvent] = []
    async with playing(provider, half) as (model, server):
        stream = model.open(make_call(prompt="Please."))
        with trio.fail_after(10), trio.CancelScope() as stop:
            async for batch in stream:
                events += batch
                if told_text(events):
                    stop.cancel()
        events += stream.abort()
        assert stream.abort() == []
        await stream.aclose()
        await stream.aclose()
        with trio.fail_after(5):
            await server.gone.wait()
    check_contract(events)
    assert told(events).status == "aborted"
    assert told(events).texts


def told_text(events: list[StreamEvent]) -> bool:
    return any(type(event.payload).__name__ == "ItemDelta" for event in events)


async def test_a_stop_before_anything_was_asked_still_tells_a_whole_response() -> None:
    """The engine may be stopped before it has begun to read; nothing is sent then."""
    async with playing("openai-chat") as (model, server):
        stream = model.open(make_call(prompt="Please."))
        events = stream.abort()
        assert [batch async for batch in stream] == []
        await stream.aclose()
    check_contract(events)
    assert told(events).status == "aborted"
    assert server.requests == []


async def test_what_a_provider_has_no_place_for_is_an_error_that_names_the_message() -> None:
    """Nothing is sent, nothing is left out silently; said in words it goes, if that is asked for."""
    film = MediaPart(kind="video", source=MediaSource(type="url", value="https://example.org/film"))
    call = make_call(messages=[UIMessage(id="film", role="user", parts=(film,))])
    async with playing("openai-chat") as (model, server):
        events, _ = await ask(model, call)
    check_contract(events)
    assert error_of(events) == "UNSENDABLE"
    assert isinstance(end := events[-1].payload, ResponseError)
    assert "message film" in end.error.message
    assert server.requests == []
    async with playing("openai-chat", Answer(), unsendable="say") as (model, server):
        await ask(model, call)
    assert "video" in str(bodies(server)[0]["messages"])


async def test_settings_that_are_no_json_are_refused_when_the_model_is_made() -> None:
    """Not in the middle of a run."""
    async with open_client() as client:
        for wrong in (object(), float("nan")):
            with pytest.raises((TypeError, ValueError)):
                ProviderModel(openai_chat(api_key=KEY), model_id="m", client=client, settings={"x": wrong})


async def test_an_answer_is_read_once() -> None:
    """A second reader would get half of it."""
    async with playing("openai-chat", Answer(body=[BODIES["openai-chat"]])) as (model, _):
        stream = model.open(make_call())
        async for _batch in stream:
            pass
        with pytest.raises(RuntimeError, match="read once"):
            aiter(stream)
        await stream.aclose()
