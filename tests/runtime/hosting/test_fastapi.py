"""FastAPI on uvicorn, with real sockets: the runtime opened by the lifespan, the service's routes mounted."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

import attrs
import httpx
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from tests.kit.loops import Runner, on_asyncio
from tests.kit.turns import THREAD, begin, delta, finished, said, started
from turnwire.messages import StreamEvent, encode_event
from turnwire.runtime import Hosted, MemoryLog, open_hosted
from turnwire.runtime.http import open_app
from turnwire.runtime.settings import Settings

ROOT = Path(__file__).parents[3]


class Site:
    """An application with one route of its own, and ours mounted beside it."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.hosted: Hosted
        self.stalled = asyncio.Event()
        self.ended: list[str] = []
        self.app = FastAPI(lifespan=self._lifespan)
        self.app.get("/ask/{turn_id}")(self._ask)

    @asynccontextmanager
    async def _lifespan(self, app: FastAPI) -> AsyncGenerator[None, None]:
        async with open_hosted(sink=self.log) as self.hosted, self.hosted.enter(open_app(Settings())) as routes:
            app.mount("/turnwire", self.hosted.asgi(routes))
            yield
        self.ended.append("lifespan")

    async def _model(self, turn_id: str) -> AsyncIterator[StreamEvent]:
        yield started(turn_id)
        yield begin("m")
        yield delta("m", "a word")
        if turn_id == "stalls":
            self.stalled.set()
            await asyncio.Event().wait()
        yield said("m", "a word or two")
        yield finished()

    async def _ask(self, turn_id: str) -> StreamingResponse:
        async def answer() -> AsyncIterator[str]:
            try:
                async with asyncio.TaskGroup() as tasks, self.hosted.iterate(self.log.follow(turn_id)) as entries:
                    tasks.create_task(self.hosted.run_turn(self._model(turn_id), turn_id=turn_id, thread_id=THREAD))
                    async for entry in entries:
                        yield f"data: {entry.message.payload}\n\n"
            finally:
                self.ended.append(turn_id)

        return StreamingResponse(answer(), media_type="text/event-stream")


@asynccontextmanager
async def serve(app: FastAPI) -> AsyncGenerator[httpx.AsyncClient, None]:
    """Have uvicorn serve it on this loop; whoever connects early waits in the listener's queue."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    cast("Any", server).capture_signals = nullcontext  # those of the tests are pytest's
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
                yield client
        finally:
            server.should_exit = True
            await serving


@on_asyncio
def test_a_turn_is_streamed_to_a_client(run: Runner) -> None:
    """Whole objects by SSE, to the terminal; the lifespan closes the runtime when the server ends."""

    async def main() -> None:
        site = Site()
        async with serve(site.app) as client:
            answer = await client.get("/ask/t1")
            events = [json.loads(line[6:]) for line in answer.text.splitlines() if line]
            assert [event["type"] for event in events] == ["turn_started", "message", "turn_complete"]
            assert events[1]["content"] == "a word or two"
        assert site.ended == ["t1", "lifespan"]

    run(main)


@on_asyncio
def test_the_routes_of_the_service_are_mounted(run: Runner) -> None:
    """A producer posts to them and a reader follows, through uvicorn and over to Trio and back."""

    async def main() -> None:
        async with serve(Site().app) as client:
            assert (await client.get("/turnwire/healthz")).status_code == 200
            assert (await client.get("/turnwire/nothing/here")).json()["error"]["code"] == "no_route"
            events = [started("t9"), begin("m"), delta("m", "hi"), said("m", "hi!"), finished()]
            body = b"\n".join(encode_event(attrs.evolve(event, run_id="t9")) for event in events)
            url = "/turnwire/api/v2/runs/t9/events"
            posted = await client.post(url, content=body, headers={"content-type": "application/x-ndjson"})
            assert posted.status_code == 202, posted.text
            async with client.stream("GET", "/turnwire/xapi/turns/t9/stream") as stream:
                lines = [line async for line in stream.aiter_lines() if line.startswith("data:")]
            assert json.loads(lines[-1][5:])["type"] == "turn_complete"

    run(main)


@on_asyncio
def test_a_client_that_goes_away_ends_its_turn(run: Runner) -> None:
    """The response is cancelled, and with it the turn; what it had said is in the log."""

    async def main() -> None:
        site = Site()
        async with serve(site.app) as client:
            async with client.stream("GET", "/ask/stalls") as stream:
                await anext(stream.aiter_lines())
                await site.stalled.wait()
                assert "stalls" in site.hosted.open_turns
            while "stalls" not in site.ended:  # the server has to notice; there is nothing else to wait for
                await client.get("/turnwire/healthz")
            assert "stalls" not in site.hosted.open_turns
            snapshot = await site.hosted.call(site.log.snapshot, "stalls")
            assert [item.content for item in snapshot.items] == ["a word"]

    run(main)


@on_asyncio
def test_a_server_that_ends_while_a_turn_runs_closes_it(run: Runner) -> None:
    """Uvicorn cuts the response after its own grace time; the lifespan is left, the runtime closed."""

    async def main() -> None:
        site = Site()
        async with serve(site.app) as client:
            reading = asyncio.create_task(client.get("/ask/stalls"))
            await site.stalled.wait()
        await asyncio.gather(reading, return_exceptions=True)
        assert sorted(site.ended) == ["lifespan", "stalls"]  # uvicorn does not wait for what it cuts
        assert site.hosted.open_turns == ()

    run(main)


def test_sigterm_ends_the_example_with_its_runtime() -> None:
    """As an operator would: the process ends by itself, in order."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", "examples", "fastapi_app:app", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)  # noqa: S603  # ours
    assert process.stderr is not None
    told = ""
    while "Application startup complete" not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    process.send_signal(signal.SIGTERM)
    told += process.communicate(timeout=30)[1]
    assert "Application shutdown complete" in told
    assert "Traceback" not in told
