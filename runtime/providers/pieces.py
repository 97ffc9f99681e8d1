"""What the pieces of a source may be: bytes or text of an SSE body, decoded events, or an official SDK's objects.

Synchronous: the shells around it only wait. An SDK's objects are known by how they behave (a pydantic model dumps
itself), so that no SDK has to be installed for the others to work.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from turnwire.messages.events import StreamEvent
from turnwire.messages.json_shapes import JsonObject, is_object
from turnwire.messages.providers import Adapter
from turnwire.messages.sse import SseParser

Piece: TypeAlias = bytes | bytearray | str | JsonObject | object
"""One thing a source gives. `object` is an event object of the openai or anthropic SDK."""


class PieceReader:
    """Feeds an adapter from pieces of any kind."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._sse = SseParser()

    def read(self, piece: Piece) -> list[StreamEvent]:
        """Take one piece. Raises ValueError if an SSE event grows past all measure."""
        if isinstance(piece, bytes | str):
            return self._read_body(piece)
        if isinstance(piece, bytearray):
            return self._read_body(bytes(piece))
        return self._adapter.feed(as_event(piece))

    def end(self) -> list[StreamEvent]:
        """Take the end of the source; a last SSE event without its blank line counts if it can be read."""
        events: list[StreamEvent] = []
        for last in self._sse.finish():
            events += self._adapter.feed_data(last.data, last.name)
        return events + self._adapter.finish()

    def _read_body(self, piece: bytes | str) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for event in self._sse.feed(piece):
            events += self._adapter.feed_data(event.data, event.name)
        return events


def as_event(piece: object) -> object:
    """Give a decoded event as the mapping it is; whatever is no event is given as it is, for the adapter to count."""
    if isinstance(piece, Mapping):
        return cast("object", piece)
    dump: Callable[..., Any] | None = getattr(piece, "model_dump", None)
    # exclude_unset gives just what the provider sent; warnings would tell of fields newer than the SDK
    return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False) if callable(dump) else piece


def error_payload(failure: BaseException) -> JsonObject | None:
    """Give the provider's error object that an SDK's exception carries, if it carries one."""
    body = getattr(failure, "body", None)
    return body if is_object(body) and body else None
