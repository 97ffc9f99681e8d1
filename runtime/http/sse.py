"""Server-sent events done right: one response that follows something, until its end, its reader's, or ours.

- What the source has waits for nobody: it is asked for the next piece only when the last one is on its way, so that a
  reader that is slow gets newer states instead of more of them (the log's own readers skip what is outdated).
- A comment goes out when nothing has for a while, so that nobody in between takes the connection for dead.
- A reader that has gone is noticed at once, not at the next event.
- Told to shut down, the response ends as a response should; the reader's own reconnect finds another process.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import trio
from starlette.types import Receive, Scope, Send

from turnwire.messages.errors import ClosedError, LogUnavailableError, TurnwireError
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.http")

HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
OPEN = b"retry: 1000\n: open\n\n"  # at once, so that headers and a first byte are through, whoever buffers in between
BEAT = b": quiet\n\n"
BYE = b": the service is shutting down; come back with the last id\nretry: 1000\n\n"
GONE = b": the log went away; come back with the last id\nretry: 1000\n\n"
LAST_WORDS = 2.0  # seconds to end a response properly


def frame(data: str | bytes, *, id: str | None = None, event: str | None = None) -> bytes:  # noqa: A002  # its name there
    """Make an event of JSON text. Line ends can only be space between its values, and would end the event's line."""
    text = data if isinstance(data, bytes) else data.encode()
    if b"\n" in text or b"\r" in text:
        text = text.replace(b"\n", b" ").replace(b"\r", b" ")
    head = b"" if event is None else b"event: %s\n" % event.encode()
    return b"%s%sdata: %s\n\n" % (head, b"" if id is None else b"id: %s\n" % id.encode(), text)


class Source(Protocol):
    """What a stream tells. Closed by the stream."""

    async def begin(self) -> bytes:
        """Give what is to be told before anything else."""
        ...

    async def wait(self) -> bool:
        """Wait until there is something to tell; False: there will be nothing more. Can be cancelled at no loss."""
        ...

    async def take(self) -> bytes:
        """Give what there is, some of it if it is much."""
        ...

    def finish(self) -> bytes:
        """Give what is to be told at the end of all."""
        ...

    def close(self) -> None:
        """Let go of what is followed."""
        ...


class OpenStreams:
    """The streams that are open, so that a shutdown can end them."""

    def __init__(self) -> None:
        self._streams: set[EventStream] = set()
        self.is_closing = False

    def __len__(self) -> int:
        """How many there are."""
        return len(self._streams)

    def add(self, stream: "EventStream") -> None:
        """Take one in."""
        self._streams.add(stream)
        if self.is_closing:
            stream.end()

    def discard(self, stream: "EventStream") -> None:
        """Let one go."""
        self._streams.discard(stream)

    def close(self) -> None:
        """End all there are, and those to come."""
        self.is_closing = True
        for stream in tuple(self._streams):
            stream.end()


class EventStream:
    """An ASGI response that tells a source to one reader."""

    def __init__(
        self,
        source: Source,
        streams: OpenStreams,
        *,
        heartbeat: float,
        headers: Mapping[str, str] | None = None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._source = source
        self._streams = streams
        self._heartbeat = heartbeat
        self._headers = {**HEADERS, **(headers or {})}
        self._on_end = on_end
        self._is_ending = False
        self._is_reader_gone = False
        self._waiting: trio.CancelScope | None = None

    def end(self) -> None:
        """Have the response end properly. What is being sent is sent first."""
        self._is_ending = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Be the response."""
        self._streams.add(self)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _raw(self._headers)})
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, receive, nursery.cancel_scope, name="end of a reader")
                await self._tell(send)
                nursery.cancel_scope.cancel()
            # Not while somebody watches: the server calls the end of a response a disconnect, and who cancels it then
            # leaves a connection behind that is neither closed nor ready for its next request.
            if not self._is_reader_gone:
                with trio.move_on_after(LAST_WORDS):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.discard(self)
            self._source.close()
            self._on_end()

    async def _tell(self, send: Send) -> None:
        source = self._source
        try:
            await _send(send, OPEN + await source.begin())
            while not self._is_ending:
                has_more = True
                with trio.move_on_after(self._heartbeat) as self._waiting:
                    has_more = await source.wait()
                is_quiet, self._waiting = self._waiting.cancelled_caught, None
                if not has_more:  # told out here: neither a heartbeat nor a shutdown may cut in half what is sent
                    await _send(send, source.finish())
                    return
                if not is_quiet:
                    await _send(send, await source.take())
                elif not self._is_ending:
                    await _send(send, BEAT)
            await _send(send, BYE)
        except (ClosedError, LogUnavailableError) as exc:
            log.warning("stream ends early", error=str(exc))
            await _send(send, GONE)
        except TurnwireError as exc:  # the reader's connection is fine, and what it had was right: it may come back
            log.exception("stream failed", error=repr(exc))
            await _send(send, GONE)

    async def _watch(self, receive: Receive, scope: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_reader_gone = True
        scope.cancel()


async def _send(send: Send, body: bytes) -> None:
    if body:
        await send({"type": "http.response.body", "body": body, "more_body": True})


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
