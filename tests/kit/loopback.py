"""A provider on loopback: a real HTTP server on trio and h11 that answers with scripted SSE bodies."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import attrs
import h11
import trio


@attrs.frozen(kw_only=True)
class Answer:
    """What the server sends to one request, and what it does then."""

    body: Sequence[bytes] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    then: Literal["end", "die", "wait"] = "end"
    """end: finish the response. die: close the connection in the middle. wait: keep it open until the client goes."""


@attrs.frozen
class Request:
    """What a client asked."""

    target: str
    headers: dict[str, str]
    body: bytes


@attrs.define
class Loopback:
    """The running server."""

    url: str
    requests: list[Request] = attrs.field(factory=list[Request])
    gone: trio.Event = attrs.field(factory=trio.Event)
    """Set when a client has left an answer that waits."""


@asynccontextmanager
async def open_loopback(answer: Callable[[int], Answer]) -> AsyncGenerator[Loopback, None]:
    """Open a server that asks `answer` what to say to request number 0, 1, ..."""
    async with trio.open_nursery() as connections:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        server = Loopback(f"http://127.0.0.1:{listener.socket.getsockname()[1]}")

        async def serve(stream: trio.SocketStream) -> None:
            async with stream:
                try:
                    await _serve(stream, server, answer)
                except (trio.BrokenResourceError, h11.RemoteProtocolError):
                    server.gone.set()

        connections.start_soon(trio.serve_listeners, serve, [listener])
        yield server
        connections.cancel_scope.cancel()


async def _serve(stream: trio.SocketStream, server: Loopback, answer: Callable[[int], Answer]) -> None:
    connection = h11.Connection(h11.SERVER)
    request, body = await _read_request(stream, connection)
    headers = {name.decode().lower(): value.decode() for name, value in request.headers}
    server.requests.append(Request(request.target.decode(), headers, body))
    say = answer(len(server.requests) - 1)
    kind = "text/event-stream" if say.status == 200 else "application/json"
    response = h11.Response(
        status_code=say.status, headers=[("content-type", kind), ("connection", "close"), *say.headers]
    )
    await stream.send_all(connection.send(response) or b"")
    for piece in say.body:
        await stream.send_all(connection.send(h11.Data(data=piece)) or b"")
    if say.then == "end":
        await stream.send_all(connection.send(h11.EndOfMessage()) or b"")
    elif say.then == "wait":
        while await stream.receive_some():
            pass
        server.gone.set()


async def _read_request(stream: trio.SocketStream, connection: h11.Connection) -> tuple[h11.Request, bytes]:
    request: h11.Request | None = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            return request, body
        else:
            raise h11.RemoteProtocolError("no request came")
