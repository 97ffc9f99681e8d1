"""The live items of a turn: how they grow, when they are due, what they emit, how one is let go. No clock, no await.

A live item is an ItemBuffer in `live`, in order of start. How items begin, and what their ends come to: turn_items.py.
"""

from collections.abc import Set as AbstractSet
from math import inf

from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.outbox import Outbox
from turnwire.actors.core.voice import TurnVoice
from turnwire.messages.events import ErrorInfo
from turnwire.messages.outputs import Output

NO_IDS: AbstractSet[str] = frozenset()
"""Shared by all turns that have ended no item yet: even an empty set is 200 bytes. Never written to."""

ENVELOPE_BYTES = 256
"""What an emission weighs beside its text, for the limit on waiting bytes: ids and objects, roughly."""


class LiveItems:
    """The items of one turn that have begun and not ended, and the emissions they cause.

    `changed` collects, for the shell, the items whose timers need a look: started, ended, running again after a stall.
    `due` is a moment before which no item's timeout is due.
    """

    __slots__ = (
        "_counts",
        "_ended_ids",
        "_enough",
        "_gradient",
        "_options",
        "_outbox",
        "_voice",
        "batch_timeout",
        "changed",
        "due",
        "latency",
        "live",
    )

    def __init__(self, options: TurnOptions, outbox: Outbox, voice: TurnVoice, counts: Counts) -> None:
        self.live: dict[str, ItemBuffer] = {}
        self.changed: list[ItemBuffer] = []
        self._counts = counts
        self.due = inf
        self.batch_timeout = options.batch_timeout
        self.latency = options.latency
        self._enough = options.max_item_bytes // 4  # below so many code units no text can be too large
        self._options = options
        self._gradient = options.gradient
        self._outbox = outbox
        self._voice = voice
        self._ended_ids: AbstractSet[str] = NO_IDS

    def delta(self, item_id: str, text: str, now: float) -> None:  # R3
        """Let an item grow, and emit it if it has crossed its limit."""
        item = self.live.get(item_id)
        if item is None:
            count(self._counts, "unknown_items")
        elif item.units + len(text) > self._enough and self._is_too_large(item, text):
            self._end_too_large(item, now)
        else:
            was_stalled = item.is_stalled
            if item.append(text, now=now) and not item.held and item.has_news:  # half a pair alone is no news
                self.emit(item, now)
                item.moved = item.moved and was_stalled  # no text waits: its time only runs from later on
            if item.moved:
                self._watch(item)

    def has_ended(self, item_id: str) -> bool:
        """Has this item had its end, so that nothing more can come of it?"""
        return item_id in self._ended_ids

    def deadline(self, item: ItemBuffer) -> float:
        """When this item's timeout is due; inf if none runs."""
        return inf if item.ended else item.deadline(self.batch_timeout, self.latency)

    def emit(self, item: ItemBuffer, at: float) -> None:
        """Emit an item's whole text: `create` first, else `update`."""
        output = self._voice.text(item, "update" if item.shown else "create", item.take())
        self._add(output, at, size=item.size)

    def flush(self, now: float) -> None:
        """Emit every text not yet emitted, in order of start (R11). A call without its end has nothing to say."""
        for item in self.live.values():
            if item.content_type != "tool_call" and item.has_news:
                self.emit(item, now)

    def end_all(self, now: float, *, flush: bool = True) -> None:
        """End what is live."""
        if flush:
            for item in self.live.values():
                item.give_up_half()
            self.flush(now)
        for item in list(self.live.values()):
            self._release(item)
        self.due = inf

    def _end_with_error(self, item: ItemBuffer, error: ErrorInfo, now: float, text: str | None = None) -> None:
        content = item.text() if text is None else text
        self._release(item)
        self._add(self._voice.failed(item, content, error), now, size=len(content))

    def _end_too_large(self, item: ItemBuffer, now: float) -> None:
        message = f"the item's text is longer than {self._options.max_item_bytes} bytes"
        self._end_with_error(item, ErrorInfo(code="ITEM_TOO_LARGE", message=message), now)

    def _is_too_large(self, item: ItemBuffer, more: str) -> bool:
        return item.size_with(more) > self._options.max_item_bytes

    def _end_ids(self, *item_ids: str) -> None:
        if isinstance(self._ended_ids, set):
            self._ended_ids.update(item_ids)
        else:
            self._ended_ids = set(item_ids)

    def _release(self, item: ItemBuffer) -> None:
        item.ended = True
        self._end_ids(item.item_id)
        if self.live.pop(item.item_id, None) is not None and not item.held:
            self.changed.append(item)

    def _watch(self, item: ItemBuffer) -> None:
        """Take an item's timeout into account, and have the shell do the same."""
        item.moved = False
        if not item.held:
            self.due = min(self.due, self.deadline(item))
            self.changed.append(item)

    def _add(self, output: Output, at: float, *, size: int = 0) -> None:
        self._outbox.add(output, at=at, size=size + ENVELOPE_BYTES)
