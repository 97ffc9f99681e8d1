"""turnwire in a FastAPI application on uvicorn: opened and closed by the lifespan, streamed by a route.

Try:    python examples/fastapi_app.py            starts the server, reads one answer from it as a client, and ends
        python examples/fastapi_app.py --serve    stays; then: curl -N http://127.0.0.1:8000/ask/hello
Watch:  FastAPI and uvicorn run on asyncio, the runtime in a Trio beside them, in the same thread. All routes of the
        turnwire service are mounted too, with a log of their own: with --serve, http://127.0.0.1:8000/turnwire/
"""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from turnwire.messages import StreamEvent
from turnwire.messages.providers import OpenAIChat
from turnwire.runtime import Hosted, MemoryLog, open_hosted
from turnwire.runtime.http import open_app
from turnwire.runtime.settings import ModelSettings, Settings

LOG = MemoryLog()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[dict[str, Hosted], None]:
    """Open what the application needs; leaving the block closes it."""
    settings = Settings(model=ModelSettings(provider="scripted"))  # who answers on the page
    async with open_hosted(sink=LOG) as hosted, hosted.enter(open_app(settings)) as routes:
        app.mount("/turnwire", hosted.asgi(routes))
        yield {"hosted": hosted}


app = FastAPI(lifespan=lifespan)


async def model(question: str, turn_id: str) -> AsyncIterator[StreamEvent]:
    """Stand in for a model: the chunks of any asyncio client can be fed to its adapter."""
    adapter = OpenAIChat(run_id=turn_id, thread_id="thread", prompt=question)
    for delta, finish in (({"content": "You said "}, None), ({"content": question}, None), ({}, "stop")):
        await asyncio.sleep(0.01)
        for event in adapter.feed({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}):
            yield event
    for event in adapter.finish():
        yield event


@app.get("/ask/{question}")
async def ask(question: str, request: Request) -> StreamingResponse:
    """Answer with server-sent events: whole objects, the newest state of each item."""
    hosted, turn_id = request.state.hosted, uuid4().hex

    async def answer() -> AsyncIterator[str]:
        async with asyncio.TaskGroup() as tasks, hosted.iterate(LOG.follow(turn_id)) as entries:
            tasks.create_task(hosted.run_turn(model(question, turn_id), turn_id=turn_id, thread_id="thread"))
            async for entry in entries:
                yield f"id: {entry.id}\ndata: {entry.message.payload}\n\n"

    return StreamingResponse(answer(), media_type="text/event-stream")


async def show() -> None:
    """Start, ask once, and end."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:  # whoever connects early waits in its queue
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            print((await client.get("/ask/hello")).text, (await client.get("/turnwire/healthz")).text)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    uvicorn.run(app) if "--serve" in sys.argv else asyncio.run(show())
