"""One item's text as it piles up: what is new, when it is due, what it comes to. No clock, no await.

The rules, in short:

- Text is a list of pieces, joined only when it is emitted: a delta costs the same however much is there already.
- Length is counted in UTF-16 code units, piece by piece. `limit` is the length past which the next emission is due.
- The batch timeout starts at the start, starts again at each delta and fires once per stall. `max_latency` counts
  from the oldest text not yet emitted.
- Half of a surrogate pair at the end is held back until its other half comes.

Three fields belong to the shell, which keeps its notes here because they are about this item and nothing else:
`announced`, the length including deltas still on their way in; `alarm`, when the item's task will wake by itself; and
`clock`, that task.
"""

from math import inf
from typing import Literal, Protocol, TypeAlias

import attrs

from turnwire.actors.core.gradient import Gradient
from turnwire.actors.core.text import has_halves, utf8_length, utf16_length
from turnwire.messages.json_text import mend_surrogates, split_waiting_half

ContentType: TypeAlias = Literal["message", "thinking", "tool_call"]


class CallsTask(Protocol):
    """What the shell hangs on an item to reach its task."""

    def call(self) -> None:
        """Have the task look at the item again."""
        ...


@attrs.frozen(kw_only=True)
class BufferInfo:
    """A look into a live item, for tests and debugging."""

    item_id: str
    content_type: ContentType
    token_count: int
    content_length: int
    batch_index: int
    is_held: bool
    is_complete: bool


class ItemBuffer:
    """The state of one live item."""

    __slots__ = (
        "_gradient",
        "_half",
        "_pieces",
        "_shown_units",
        "_since",
        "_surplus",
        "_touched",
        "alarm",
        "announced",
        "batch_index",
        "call_id",
        "clock",
        "content_type",
        "ended",
        "held",
        "item_id",
        "limit",
        "moved",
        "name",
        "shown",
        "units",
    )

    def __init__(
        self,
        item_id: str,
        content_type: ContentType,
        gradient: Gradient,
        *,
        now: float,
        held: bool = False,
        name: str = "",
        call_id: str = "",
    ) -> None:
        self.item_id = item_id
        self.content_type: ContentType = content_type
        self.held = held
        self.name = name
        self.call_id = call_id
        self.ended = False
        self.moved = False  # may the deadline be earlier than when it was last looked at
        self.shown = False  # was anything emitted: the next one is then an update, not a create
        self.units = 0  # length in UTF-16 code units
        self._surplus = 0  # bytes of UTF-8 beyond one to a code unit
        self.batch_index = 0
        self.limit = gradient.limit(0)
        self.announced = 0
        self.alarm = inf
        self.clock: CallsTask | None = None
        self._gradient = gradient
        self._pieces: list[str] = []
        self._half = ""  # a first half of a surrogate pair that waits for its second
        self._shown_units = 0
        self._touched = now  # start or last delta; inf once the timeout has fired: it fires once per stall
        self._since = inf  # arrival of the oldest text not yet emitted

    @property
    def size(self) -> int:
        """Length in bytes of UTF-8, for the limits on memory."""
        return self.units + self._surplus

    def size_with(self, more: str) -> int:
        """Give the size it would have with this delta. Two halves weigh four bytes once they are joined, not six."""
        if not has_halves(more):
            return self.size + utf8_length(more)
        return self.size - 3 * len(self._half) + utf8_length(mend_surrogates(self._half + more))

    def append(self, text: str, *, now: float) -> bool:
        """Take a delta in. True if the text has crossed its limit, so that an emission is due."""
        self._touched = now
        if not text:
            return False
        if text.isascii() and not self._half:
            self.units = units = self.units + len(text)
        else:
            added, waited = utf16_length(text), len(self._half)
            self.units = units = self.units + added
            text = self._join_halves(text)
            self._surplus += utf8_length(text) + 3 * (len(self._half) - waited) - added
        self._pieces.append(text)
        if units > self.announced:
            self.announced = units
        if self._since == inf:
            self._since = now
            self.moved = True
        return units > self.limit

    @property
    def is_stalled(self) -> bool:
        """Has its timeout fired, so that it does not run before the next delta?"""
        return self._touched == inf

    def deadline(self, batch_timeout: float, max_latency: float) -> float:
        """When this item must be looked at, if nothing else happens; inf if never."""
        if self.held:
            return inf
        return min(self._touched + batch_timeout, self._since + max_latency)

    def fire(self, at: float, batch_timeout: float) -> None:
        """Note that what was due at this time is done: the timeout is not due again before the next delta."""
        self._since = inf
        if self._touched + batch_timeout <= at:
            self._touched = inf
            self.moved = True

    @property
    def has_news(self) -> bool:
        """Is there text that no emission has carried? Judged by text, not by tokens: one character counts."""
        return self.units - len(self._half) > self._shown_units

    def take(self) -> str:
        """Give the whole text for an emission, and move the limit past it. Half a surrogate pair stays back."""
        text = "".join(self._pieces)
        self._pieces = [text] if text else []
        self.shown = True
        self._shown_units = self.units - len(self._half)
        self._since = inf
        if self.units > self.limit:
            self.batch_index, self.limit = self._gradient.past(self.units, self.batch_index)
        return text

    def restart(self, now: float) -> None:
        """Let its times run from now, as if all text not yet emitted had just come."""
        self._touched = now
        self._since = now if self.has_news else inf
        self.moved = False

    def give_up_half(self) -> None:
        """Put U+FFFD in place of a half that will never be joined: the item has come to its end."""
        if self._half:
            self._half = ""
            self._pieces.append("\ufffd")

    def text(self) -> str:
        """Give the whole text as it would stand if the item ended now."""
        return "".join(self._pieces) + ("\ufffd" if self._half else "")

    def info(self) -> BufferInfo:
        """Describe the item."""
        return BufferInfo(
            item_id=self.item_id,
            content_type=self.content_type,
            token_count=-(-self.units // 4),
            content_length=self.units,
            batch_index=self.batch_index,
            is_held=self.held,
            is_complete=self.ended,
        )

    def _join_halves(self, text: str) -> str:
        text = self._half + text
        self._half = ""
        if not has_halves(text):
            return text
        text, self._half = split_waiting_half(text)
        return mend_surrogates(text)
