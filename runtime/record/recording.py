"""Streams kept with their timing: a recorder that writes JSON lines, and what reads them again.

A line is `{"at": seconds since the first, "event": {...}}`, of provider events, of StreamEvents, or of a conversation:
AG-UI events and what the client said between them. A file of bare StreamEvents or AG-UI events is a recording too:
their timestamps are its timing.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

import attrs
import trio

from turnwire.messages.agui.client_lines import (
    CLIENT_LINES,
    ClientApproval,
    ClientMessage,
    ClientStreamEnd,
    ClientToolResult,
    ConversationLine,
    structure_line,
    unstructure_line,
)
from turnwire.messages.agui.codec import EVENT_TYPES
from turnwire.messages.agui.events import AguiEvent
from turnwire.messages.event_codec import structure_event, unstructure_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.json_shapes import JsonObject, is_object
from turnwire.messages.json_text import dump_json, parse_json
from turnwire.runtime.providers.pieces import as_event

DEMO_STREAM = "demo_stream.jsonl"
"""The bundled recording: one turn with reasoning, a tool call and a long answer."""

Event: TypeAlias = StreamEvent | ConversationLine | JsonObject
OF_CONVERSATIONS = (AguiEvent, ClientToolResult, ClientApproval, ClientMessage, ClientStreamEnd)
"""What a recorded conversation is made of."""
_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class Recorded:
    """One event of a recording, and when it came: seconds after the first one."""

    at: float
    event: Event


class Recorder:
    """Writes events to a file as they come. Its times are trio's, so a virtual clock is recorded as it ran."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._began: float | None = None

    def write(self, event: object) -> None:
        """Add one event: a StreamEvent, an AG-UI event, a client's line, a provider's event decoded or as an object."""
        now = trio.current_time()
        self._began = now if self._began is None else self._began
        if isinstance(event, StreamEvent):
            wire: object = unstructure_event(event)
        elif isinstance(event, OF_CONVERSATIONS):
            wire = unstructure_line(cast("ConversationLine", event))
        else:
            wire = as_event(event)
        self._file.write(dump_json({"at": round(now - self._began, 6), "event": wire}) + b"\n")


@contextmanager
def open_recorder(path: str | PathLike[str]) -> Generator[Recorder, None, None]:
    """Open a recording for writing; an existing one is replaced."""
    with Path(path).open("wb") as file:
        yield Recorder(file)


async def record(source: AsyncIterable[_T], recorder: Recorder) -> AsyncGenerator[_T, None]:
    """Pass a stream of events through, writing each one down on its way."""
    async for event in source:
        recorder.write(event)
        yield event


def read_recording(lines: Iterable[bytes | str]) -> Iterator[Recorded]:
    """Read a recording from its lines. Raises ValueError that names the line that is none."""
    first: float | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            recorded = _read_line(parse_json(line))
        except Exception as exc:
            raise ValueError(f"line {number}: {exc}") from exc
        first = recorded.at if first is None else first
        yield attrs.evolve(recorded, at=recorded.at - first)


def load_recording(path: str | PathLike[str]) -> list[Recorded]:
    """Read a recording from a file."""
    with Path(path).open("rb") as file:
        return list(read_recording(file))


def load_demo() -> list[Recorded]:
    """Read the bundled demo stream."""
    stream = resources.files("turnwire.runtime.record").joinpath(DEMO_STREAM)
    return list(read_recording(stream.read_bytes().splitlines()))


def _read_line(document: Any) -> Recorded:
    if not is_object(document):
        raise ValueError("expected an object")
    if "at" not in document:
        return _read_bare(document)
    at, wire = document.get("at"), document.get("event")
    if not isinstance(at, int | float) or not is_object(wire):
        raise ValueError('expected {"at": seconds, "event": {...}} or a StreamEvent')
    return Recorded(at=float(at), event=_read_event(wire) or wire)


def _read_bare(document: JsonObject) -> Recorded:
    event = _read_event(document)
    if event is None:
        raise ValueError('expected {"at": seconds, "event": {...}}, a StreamEvent or an AG-UI event')
    timestamp = getattr(event, "timestamp", None)
    return Recorded(at=(timestamp or 0) / 1000, event=event)


def _read_event(wire: JsonObject) -> StreamEvent | ConversationLine | None:
    """Make an event of ours of it; None if it is a provider's."""
    if "payload" in wire and "event_id" in wire:
        return structure_event(wire)
    tag = wire.get("type")
    return structure_line(wire) if tag in EVENT_TYPES or tag in CLIENT_LINES else None
