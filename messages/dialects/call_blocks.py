"""The tool calls and results of an AG-UI stream, as function_call and function_call_output items."""

from collections import Counter
from collections.abc import Callable

from turnwire.messages.agui.events import ToolCallEnd, ToolCallStart
from turnwire.messages.agui.messages_codec import content_text
from turnwire.messages.agui.more_events import ToolCallResult
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.block_ends import BlockEnds, claim_data
from turnwire.messages.json_shapes import NOTHING, JsonObject, text_at
from turnwire.messages.json_text import dump_json, parse_json_or_none
from turnwire.messages.particulars import Json
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.transcript import Transcript

_NO_CALL = (words.ERROR, words.CANCELLED, words.SUPERSEDED_BY)
"""Notes on the end of a call that did not come about."""


class CallBlocks:
    """Which calls are open, and which wait for a result."""

    def __init__(
        self, transcript: Transcript, counts: Counter[str], ends: BlockEnds, before_item: Callable[[], None]
    ) -> None:
        self._transcript = transcript
        self._counts = counts
        self._ends = ends
        self._before_item = before_item
        """Called before an item begins."""
        self._open: dict[str, Item] = {}
        self._call_ids: dict[str, str] = {}
        """What the provider calls each call that was ever begun."""
        self._unanswered: set[str] = set()
        self._refused: set[str] = set()
        """Calls that did not come about; what stands for their result is none."""

    @property
    def has_unanswered(self) -> bool:
        """Whether a tool was asked for and has not run."""
        return bool(self._unanswered)

    def find(self, tool_call_id: str) -> Item | None:
        """Give the item of an open call."""
        return self._open.get(tool_call_id)

    def start(self, event: ToolCallStart) -> None:
        """A call begins; a second start of the same one changes nothing."""
        if event.tool_call_id in self._call_ids:
            self._counts["repeated_start"] += 1
        elif not self._ends.succeeds(event.tool_call_id, event.metadata):
            self._begin(event.tool_call_id, event.tool_name, event.metadata or NOTHING)

    def grow(self, tool_call_id: str, delta: str) -> None:
        """The arguments of a call grow."""
        item = self._open.get(tool_call_id)
        if item is not None:
            self._transcript.delta(item, delta)
        elif not self._ends.grow(tool_call_id, delta):
            self._counts["unknown_block"] += 1

    def end(self, event: ToolCallEnd) -> None:
        """The arguments of a call are final, or its result is there, or both."""
        name, notes = event.tool_call_id, event.metadata or NOTHING
        answered = event.result is not None or event.error is not None
        is_new = name not in self._call_ids and not self._ends.brings(name)
        if is_new and event.tool_name and event.input is not None:
            self._begin(name, event.tool_name, notes)  # told by its end alone
        item = self._open.pop(name, None)
        if item is not None:
            item.call_id = self._call_ids[name] = text_at(notes, words.CALL_ID) or item.call_id
            if any(note in notes for note in _NO_CALL):
                self._refused.add(name)
                self._unanswered.discard(name)
            self._ends.end(item, name, event.metadata, _arguments(item.text, event.input))
        elif not answered:
            self._end_other(name, event)
        if answered:
            text = event.result if event.result is not None else event.error or ""
            self._answer(name, text, event.error, text_at(notes, words.ITEM_ID), notes)

    def result(self, event: ToolCallResult) -> None:
        """A tool has run."""
        if event.tool_call_id not in self._refused:
            text = content_text(event.content)
            self._answer(event.tool_call_id, text, event.error, event.message_id or "", event.metadata or NOTHING)

    def close_all(self) -> None:
        """End what is still open, because the run ends; arguments that are not whole are given up."""
        for name, item in self._open.items():
            is_half = bool(item.text) and not item.is_whole_call
            self._transcript.close_call(item, cut=is_half)
            if is_half:
                self._unanswered.discard(name)
        self._open.clear()

    def _begin(self, tool_call_id: str, name: str, notes: JsonObject) -> None:
        self._before_item()
        item_id = text_at(notes, words.ITEM_ID) or tool_call_id
        item = self._transcript.notice("function_call", item_id, name=name, call_id=tool_call_id)
        item.origin = text_at(notes, words.ORIGIN) or None
        self._open[tool_call_id] = self._transcript.start(item)
        self._call_ids[tool_call_id] = tool_call_id
        if item.origin != "provider":
            self._unanswered.add(tool_call_id)

    def _end_other(self, name: str, event: ToolCallEnd) -> None:
        """End a call that is not open under this name: the successor of one, or none at all."""
        old = self._ends.owner_of(name)
        if old is not None:
            old.call_id = self._call_ids[name] = text_at(event.metadata or NOTHING, words.CALL_ID) or old.call_id
            self._unanswered.add(name)
        self._ends.end(None, name, event.metadata)

    def _answer(self, tool_call_id: str, text: str, error: str | None, item_id: str, notes: JsonObject) -> None:
        self._before_item()
        call = self._open.pop(tool_call_id, None)
        if call is not None:
            self._transcript.done(call)
        self._unanswered.discard(tool_call_id)
        call_id = text_at(notes, words.CALL_ID) or self._call_ids.get(tool_call_id, tool_call_id)
        item = self._transcript.notice("function_call_output", item_id, call_id=call_id)
        item.origin = text_at(notes, words.ORIGIN) or None
        claim_data(item, notes.get(words.PROVIDER_DATA))
        said = notes.get(words.SUCCESS)
        success = said if isinstance(said, bool) else False if error is not None else None
        self._transcript.done(item, text, success=success)


def _arguments(sent: str, given: Json) -> str | None:
    """Give the final arguments where what was streamed does not say them."""
    if given is None or parse_json_or_none(sent) == given:
        return None
    return dump_json(given).decode()
