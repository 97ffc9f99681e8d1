"""A reader of server-sent events on a bare socket: light enough for thousands, and cut off wherever a test wants."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import attrs
import h11
import trio

from turnwire.messages.sse import ServerSentEvent, SseParser

PIECE = 64 * 1024


@attrs.define(eq=False)
class SseStream:
    """A response that is being read."""

    status: int
    headers: dict[str, str]
    _connection: h11.Connection
    _socket: trio.SocketStream
    _parser: SseParser = attrs.field(factory=SseParser)
    _waiting: list[ServerSentEvent] = attrs.field(factory=list[ServerSentEvent])
    is_complete: bool = False
    """Did the response end as one should?"""

    def __aiter__(self) -> "SseStream":
        return self

    async def __anext__(self) -> ServerSentEvent:
        while not self._waiting:
            piece = await self.read()
            if piece is None:
                raise StopAsyncIteration
            self._waiting.extend(self._parser.feed(piece))
        return self._waiting.pop(0)

    async def read(self) -> bytes | None:
        """Give the next piece of the body; None at its end."""
        event = await _next(self._connection, self._socket)
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self.is_complete = isinstance(event, h11.EndOfMessage)
        return None

    async def read_all(self) -> bytes:
        """Give the rest of the body."""
        pieces: list[bytes] = []
        while (piece := await self.read()) is not None:
            pieces.append(piece)
        return b"".join(pieces)


@asynccontextmanager
async def open_sse(
    url: str, path: str, *, headers: Mapping[str, str] | None = None, document: object = None
) -> AsyncGenerator[SseStream, None]:
    """Ask for a stream; with a document, by posting it. Leaving the block cuts the connection."""
    place = urlsplit(url)
    socket = await trio.open_tcp_stream(place.hostname or "", place.port or 80)
    async with socket:
        connection = h11.Connection(h11.CLIENT)
        body = None if document is None else json.dumps(document).encode()
        sent: list[tuple[str, str]] = [("host", place.netloc), *(headers or {}).items()]
        if body is not None:
            sent += [("content-type", "application/json"), ("content-length", str(len(body)))]
        request = h11.Request(method="GET" if body is None else "POST", target=path, headers=sent)
        events: list[h11.Event] = [request, *([] if body is None else [h11.Data(data=body)]), h11.EndOfMessage()]
        await socket.send_all(b"".join(connection.send(event) or b"" for event in events))
        response = await _next(connection, socket)
        assert isinstance(response, h11.Response), response
        names = {name.decode(): value.decode() for name, value in response.headers}
        yield SseStream(response.status_code, names, connection, socket)


def data_of(events: Sequence[ServerSentEvent]) -> list[Any]:
    """Give what events say, as JSON; a mark that is none is left out."""
    return [json.loads(event.data) for event in events if event.data != "[DONE]"]


async def _next(connection: h11.Connection, socket: trio.SocketStream) -> Any:
    while True:
        event = connection.next_event()
        if event is not h11.NEED_DATA:
            return event
        try:
            data = await socket.receive_some(PIECE)
        except trio.BrokenResourceError:
            return None
        try:
            connection.receive_data(bytes(data))
            if not data and connection.their_state is h11.SEND_BODY:
                return None  # cut off in the middle
        except h11.RemoteProtocolError:
            return None
