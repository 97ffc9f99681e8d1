"""The official SDKs on Trio, over real HTTP: what they hear is what the recording says."""

from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anthropic
import openai
import pytest
import trio

from tests.kit.loopback import Answer, Loopback, open_loopback
from tests.kit.recordings import ALL, RECORDINGS, Recording, adapt, each_provider, make_adapter, sse_body
from tests.kit.streams import brief
from turnwire.messages import StreamEvent
from turnwire.messages.events import Heartbeat, Payload, UsageUpdate
from turnwire.messages.providers import ADAPTERS
from turnwire.messages.providers.contract import check_contract
from turnwire.runtime.bench.provider_streams import make_stream
from turnwire.runtime.providers import adapt_stream

# When an SDK raises a provider's error it leaves its own inner generators half read; nobody else can reach them.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Async generator '(openai|anthropic|httpx2?|httpcore2?)\.:ResourceWarning"
)

Ask = Callable[[], Awaitable[AsyncIterable[object]]]

BODIES = {provider: sse_body(provider, make_stream(provider, "text", 20)) for provider in ADAPTERS}


def sdk_client(provider: str, server: Loopback) -> tuple[Any, Ask]:
    """Give an SDK's client and the way to ask it for a stream."""
    if provider == "anthropic-messages":
        claude = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
        return claude, lambda: claude.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)
    if provider == "openai-responses":
        return client, lambda: client.responses.create(model="m", input="Hi", stream=True)
    return client, lambda: client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
    )


async def heard(provider: str, source: AsyncIterable[object]) -> list[StreamEvent]:
    async with aclosing(adapt_stream(make_adapter(provider), source)) as events:
        return [event async for event in events]


def payloads(events: list[StreamEvent], recording: Recording) -> list[Payload]:
    """Give what must be equal: the SDKs keep pings to themselves, and an error's own chunk with its usage."""
    dropped = (Heartbeat, UsageUpdate) if recording.final["status"] == "error" else (Heartbeat,)
    return [event.payload for event in events if not isinstance(event.payload, dropped)]


@pytest.mark.skipif(not ALL, reason=f"no recordings at {RECORDINGS}")
@each_provider
async def test_every_recording_through_the_sdk_is_told_as_from_the_file(provider: str) -> None:
    """Played over HTTP to the official client, each recording gives the same StreamEvents as its file."""
    recordings = [recording for recording in ALL if recording.provider == provider]
    async with open_loopback(lambda number: Answer(body=[recordings[number].body()])) as server:
        client, ask = sdk_client(provider, server)
        async with client:
            for recording in recordings:
                events = await heard(provider, await ask())
                check_contract(events)
                expected = adapt(provider, recording.events)
                assert payloads(events, recording) == payloads(expected, recording), recording.name


@each_provider
async def test_cancelling_the_reader_closes_the_connection(provider: str) -> None:
    """A cancelled turn lets go of the provider: the server sees the connection end."""
    half = BODIES[provider][: len(BODIES[provider]) // 2]
    async with open_loopback(lambda _: Answer(body=[half], then="wait")) as server:
        client, ask = sdk_client(provider, server)
        async with client:
            events: list[StreamEvent] = []
            async with trio.open_nursery() as nursery:

                async def read() -> None:
                    async with aclosing(adapt_stream(make_adapter(provider), await ask())) as stream:
                        async for event in stream:
                            events.append(event)
                            if len(events) == 4:
                                nursery.cancel_scope.cancel()

                nursery.start_soon(read)
            with trio.fail_after(5):
                await server.gone.wait()
    assert not any(line.startswith(("end", "broken")) for line in brief(events))


@each_provider
async def test_a_server_that_dies_gives_a_truncation(provider: str) -> None:
    """A connection that breaks in the middle is STREAM_TRUNCATED, with every item closed."""
    half = BODIES[provider][: len(BODIES[provider]) // 2]
    async with open_loopback(lambda _: Answer(body=[half], then="die")) as server:
        client, ask = sdk_client(provider, server)
        async with client:
            events = await heard(provider, await ask())
    check_contract(events)
    assert brief(events)[-1] == "broken STREAM_TRUNCATED"
