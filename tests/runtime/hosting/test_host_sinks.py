"""What an asyncio host gives to Trio: sinks and ASGI calls, run on its own loop."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx
import pytest
import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.kit.loops import Runner, on_asyncio, on_every_loop, wait_cancelled
from tests.kit.turns import THREAD, TURN, started
from turnwire.messages import StreamMessage
from turnwire.messages.errors import HostCancelledError
from turnwire.runtime import TurnOptions, open_bridge, open_hosted


@on_asyncio
def test_a_sink_that_the_host_cancels_is_asked_again(run: Runner) -> None:
    """It did not take the message: to the turn that is a refusal like any other."""

    async def main() -> None:
        calls: list[str] = []

        async def sink(message: StreamMessage) -> None:
            calls.append(message.event_id)
            if len(calls) == 1:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            await asyncio.sleep(0)

        async with open_hosted(sink=sink, options=TurnOptions(retry_base=0.001)) as hosted:
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                await turn.send(started())
                await turn.flush()
        assert calls[:2] == [f"{TURN}:1-1", f"{TURN}:1-1"]

    run(main)


@on_asyncio
def test_trio_is_told_that_the_host_has_cancelled_its_own_coroutine(run: Runner) -> None:
    """By an error: it is no cancellation of Trio's."""

    async def of_host() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def main() -> None:
        async with open_bridge() as bridge:
            with pytest.raises(HostCancelledError):
                await bridge.call(bridge.on_host(of_host))

    run(main)


@on_asyncio
def test_a_task_that_is_cancelled_inside_a_turn_gives_it_its_grace_time(run: Runner) -> None:
    """By asyncio itself, which tells it once: a sink that stands still is not waited for any longer than that."""

    async def main() -> None:
        called, told = asyncio.Event(), list[str]()

        async def stuck(_message: StreamMessage) -> None:
            called.set()
            try:
                await asyncio.Event().wait()
            finally:
                told.append("sink cancelled")

        async with open_hosted(sink=stuck, grace=0.05) as hosted:

            async def host() -> None:
                async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                    await turn.send(started())
                    await asyncio.Event().wait()

            task = asyncio.create_task(host())
            await called.wait()
            task.cancel()
            await wait_cancelled(task)
            assert hosted.open_turns == ()
            assert told == ["sink cancelled"]

    run(main)


async def count_slowly(request: Request) -> StreamingResponse:
    """An endpoint that only Trio can run."""
    until = int(request.path_params["until"])

    async def body() -> AsyncIterator[str]:
        for number in range(until):
            await trio.lowlevel.checkpoint()
            yield f"{number} "

    return StreamingResponse(body())


@on_every_loop
def test_an_asgi_application_for_trio_is_served_by_any_host(run: Runner) -> None:
    """Requests, streamed answers and errors cross over; here with a client that calls the application itself."""

    async def broken(_request: Request) -> StreamingResponse:
        await trio.lowlevel.checkpoint()
        raise LookupError("in the endpoint")

    app = Starlette(routes=[Route("/count/{until}", count_slowly), Route("/broken", broken)])

    async def main() -> None:
        async with open_bridge() as bridge:
            transport = httpx.ASGITransport(app=bridge.asgi(app))
            async with httpx.AsyncClient(transport=transport, base_url="http://host") as client:
                answer = await client.get("/count/5")
                assert (answer.status_code, answer.text) == (200, "0 1 2 3 4 ")
                with pytest.raises(LookupError, match="in the endpoint"):
                    await client.get("/broken")

    run(main)


@on_asyncio
def test_a_request_that_the_server_cancels_ends_on_trio_s_side(run: Runner) -> None:
    """A client that went away does not leave its endpoint running."""

    async def main() -> None:
        begun, told = asyncio.Event(), list[str]()

        async def app(_scope: MutableMapping[str, Any], _receive: Any, _send: Any) -> None:
            begun.set()
            try:
                await trio.sleep_forever()
            finally:
                told.append("ended")

        async def never(*_args: object) -> None:
            await asyncio.Event().wait()

        async with open_bridge() as bridge:
            request = asyncio.create_task(_awaited(bridge.asgi(app)({}, never, never)))
            await begun.wait()
            request.cancel()
            await wait_cancelled(request)
            assert told == ["ended"]

    async def _awaited(answer: Any) -> None:
        await answer

    run(main)
