"""One item on its way to the AI SDK: a text, a thought or a call. Opened once, closed once.

A text that does not go on where the last state stopped cannot be told as it stands: the SDK has no chunk that
takes text back. So the block is closed with the note `{"turnwire": {"superseded": true}}`, and the text follows as a
new block, which has the id again. A client that leaves out superseded parts shows what every other reader of the turn
shows; one that does not know the note shows both, and still has the final text.

A call that failed before this reader heard of it is told as an input error: nobody is offered half a call to run.
"""

from typing import Any, Final, TypeAlias

from turnwire.messages.dialects.call_texts import UNKNOWN_TOOL, error_of
from turnwire.messages.dialects.growing_text import GrowingText
from turnwire.messages.free_ids import FreeIds
from turnwire.messages.outputs import ToolCall

Chunk: TypeAlias = dict[str, Any]

NOTES: Final = "turnwire"
"""The key of what we say in a part's `providerMetadata`."""


class UiVoice:
    """The chunks that wait to be taken, and the ids of calls that are used up."""

    __slots__ = ("_chunks", "_ids")

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []
        self._ids = FreeIds()

    def tell(self, kind: str, /, **fields: Any) -> None:
        """Add a chunk."""
        self._chunks.append({"type": kind, **fields})

    def take(self) -> list[Chunk]:
        """Give what was told since the last time."""
        chunks, self._chunks = self._chunks, []
        return chunks

    def free_id(self, wanted: str) -> str:
        """Give this id, or if it is taken, one with a number that is not."""
        return self._ids.take(wanted)


class SpokenBlock:
    """A text, or a thought."""

    __slots__ = ("_id", "_kind", "_sent", "_voice")

    def __init__(self, voice: UiVoice, item_id: str, *, thinking: bool) -> None:
        self._voice = voice
        self._kind = "reasoning" if thinking else "text"
        self._id = item_id
        self._open()

    def reach(self, whole: str) -> None:
        """The text so far, whole."""
        rest = self._sent.reach(whole)
        if rest is None:
            self.supersede()
            self._open()
            rest = self._sent.reach(whole)
        if rest:
            self._voice.tell(f"{self._kind}-delta", id=self._id, delta=rest)

    def supersede(self) -> None:
        """The end of what should not have been shown."""
        self.end({"superseded": True})

    def end(self, notes: dict[str, Any]) -> None:
        """The end, with what there is to say of it."""
        metadata = {"providerMetadata": {NOTES: notes}} if notes else {}
        self._voice.tell(f"{self._kind}-end", id=self._id, **metadata)

    def _open(self) -> None:
        self._sent = GrowingText()
        self._voice.tell(f"{self._kind}-start", id=self._id)


class CallBlock:
    """A tool call: asked for when it is made, answered when it ends."""

    __slots__ = ("_came_about", "_dynamic", "_name", "_voice", "call_id", "id")

    def __init__(self, voice: UiVoice, call: ToolCall, *, dynamic: bool) -> None:
        self._voice = voice
        self._dynamic = {"dynamic": True} if dynamic else {}
        self._name = call.tool_name or UNKNOWN_TOOL
        self._came_about = call.status != "error"
        self.call_id = call.call_id
        self.id = voice.free_id(call.call_id or call.item_id)
        voice.tell("tool-input-start", **self._called())
        if self._came_about:
            voice.tell("tool-input-available", **self._called(), input=_input(call))

    def end(self, call: ToolCall) -> None:
        """What it came to."""
        error = error_of(call)
        if error is None:
            self._voice.tell("tool-output-available", toolCallId=self.id, output=call.tool_output, **self._dynamic)
        elif self._came_about:
            self._voice.tell("tool-output-error", toolCallId=self.id, errorText=error, **self._dynamic)
        else:
            self._voice.tell("tool-input-error", **self._called(), input=_input(call), errorText=error)

    def _called(self) -> Chunk:
        return {"toolCallId": self.id, "toolName": self._name, **self._dynamic}


def _input(call: ToolCall) -> Any:
    """Give what a tool is called with; as the model wrote it, where that is no JSON object."""
    return call.content if call.content and not call.tool_arguments else call.tool_arguments
