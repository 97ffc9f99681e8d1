"""AG-UI's *_CHUNK events, spelled out as starts, contents and ends, so that everybody else need not know them.

A chunk names what it belongs to once; those after it leave the name out. It is over when a chunk of something else
comes, or any event that says what happens next in the run.
"""

from typing import TypeAlias

from turnwire.messages.agui.events import (
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from turnwire.messages.agui.more_events import (
    ActivityDelta,
    ActivitySnapshot,
    AnyAguiEvent,
    RawAguiEvent,
    ReasoningEncryptedValue,
    ReasoningMessageChunk,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    ReasoningMessageStart,
    SubagentStarted,
    TextMessageChunk,
    ToolCallChunk,
)

_BESIDE = (ActivityDelta, ActivitySnapshot, RawAguiEvent, ReasoningEncryptedValue, SubagentStarted)
"""Events that come beside a block and do not end it."""


_Chunk: TypeAlias = TextMessageChunk | ReasoningMessageChunk | ToolCallChunk


class AguiChunks:
    """Spells out one stream."""

    __slots__ = ("_counts", "open")

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self.open: tuple[type[_Chunk], str] | None = None
        """Of which kind the block is that the chunks are in, and its id."""

    def spell_out(self, event: AnyAguiEvent) -> tuple[AnyAguiEvent, ...]:
        """Give the events that this one stands for; itself, if it is no chunk."""
        if isinstance(event, _Chunk):
            return self._spell_out(event)
        if self.open is None or isinstance(event, _BESIDE):
            return (event,)
        return (*self.finish(), event)

    def finish(self) -> tuple[AnyAguiEvent, ...]:
        """Close what is open."""
        if self.open is None:
            return ()
        (kind, name), self.open = self.open, None
        if kind is ToolCallChunk:
            return (ToolCallEnd(tool_call_id=name),)
        return (TextMessageEnd(message_id=name) if kind is TextMessageChunk else ReasoningMessageEnd(message_id=name),)

    def _spell_out(self, chunk: _Chunk) -> tuple[AnyAguiEvent, ...]:
        before = self.open[1] if self.open is not None and self.open[0] is type(chunk) else None
        name = (chunk.tool_call_id if isinstance(chunk, ToolCallChunk) else chunk.message_id) or before
        is_new = name != before
        if not name or (is_new and isinstance(chunk, ToolCallChunk) and not chunk.tool_name):
            self._counts["nameless_chunk"] = self._counts.get("nameless_chunk", 0) + 1
            return ()
        begun = (*self.finish(), _start(chunk, name)) if is_new else ()
        self.open = type(chunk), name
        return (*begun, _content(chunk, name, chunk.delta)) if chunk.delta else begun


def _start(chunk: _Chunk, name: str) -> AnyAguiEvent:
    match chunk:
        case TextMessageChunk():
            role = chunk.role or "assistant"
            return TextMessageStart(message_id=name, role=role, name=chunk.name, timestamp=chunk.timestamp)
        case ReasoningMessageChunk():
            return ReasoningMessageStart(message_id=name, timestamp=chunk.timestamp)
        case ToolCallChunk():
            return ToolCallStart(tool_call_id=name, tool_name=chunk.tool_name or "", timestamp=chunk.timestamp)


def _content(chunk: _Chunk, name: str, delta: str) -> AnyAguiEvent:
    match chunk:
        case TextMessageChunk():
            return TextMessageContent(message_id=name, delta=delta, timestamp=chunk.timestamp)
        case ReasoningMessageChunk():
            return ReasoningMessageContent(message_id=name, delta=delta, timestamp=chunk.timestamp)
        case ToolCallChunk():
            return ToolCallArgs(tool_call_id=name, delta=delta, timestamp=chunk.timestamp)
