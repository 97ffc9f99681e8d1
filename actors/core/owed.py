"""An outbox that takes in only what a turn's readers have not been told yet. No clock, no await.

It stands under the rules while they go through a turn's events a second time (recovery.py), and knows what the log of
outputs says already. What it lets through:

| the rules emit | readers know of the item | so they are owed |
|---|---|---|
| turn_started | (it was told) | nothing |
| anything | its end: complete or error | nothing: nothing follows an end |
| create or update | a state that begins with this text | nothing |
| create or update | another text | an update |
| complete or error | anything but an end, or nothing | just that |
| anything | nothing | just that |

Of one item only the newest state waits, at the place of the newest event that caused it, as when a sink is behind
(outbox.py): so nobody is owed more than one output per item. All that waits was seen by nobody, so a cancelled item
takes it back, updates included.
"""

from collections.abc import Callable

import attrs

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.outbox import Outbox
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.outputs import Content, Message, Output, Thinking, ToolCall, TurnStarted


class OwedOutbox(Outbox):
    """What waits for the writer of a turn that had another owner before."""

    __slots__ = ("_is_replaying", "_is_started", "_known")

    def __init__(self, options: TurnOptions, shown: TurnSnapshot) -> None:
        super().__init__(
            limit=options.outbox_limit,
            patience=options.patience,
            hard_limit=options.max_waiting,
            hard_bytes=options.max_waiting_bytes,
        )
        self._behind = True
        self._is_replaying = True
        self._is_started = shown.started is not None
        self._known = {item.item_id: item for item in shown.items}

    def add(self, output: Output, *, at: float, size: int) -> None:
        """Let an emission join, if it is owed."""
        owed: Output | None = output
        if isinstance(output, TurnStarted):
            owed = None if self._is_started else output
        elif isinstance(output, (Message, Thinking, ToolCall)) and (known := self._known.get(output.item_id)):
            owed = _beyond(known, output)
        if owed is not None:
            super().add(owed, at=at, size=size)

    def withdraw_create(self, item_id: str) -> bool:
        """Take back what waits of a cancelled item. True if nobody has seen the item."""
        withdrawn = super().withdraw_create(item_id)
        if self._is_replaying and not withdrawn:
            self._pull(item_id)
        return withdrawn

    def go_live(self, *, now: float, has_ended: Callable[[str], bool]) -> None:
        """Be an outbox like any other, whose emissions were all made now.

        Of items that have not ended it goes on to know what readers know: that may be more than the events have said so
        far, if their log has lost its tail and its writer is about to append it again.
        """
        self._is_replaying = False
        self._get_in_time()
        self._known = {item_id: item for item_id, item in self._known.items() if not has_ended(item_id)}
        for emission in self._waiting.values():
            emission.at = now
        self.conflated = 0


def _beyond(known: Content, output: Content) -> Content | None:
    """Give what an output says beyond what is known of its item; None if nothing."""
    if known.status in ("complete", "error"):
        return None
    if output.status in ("complete", "error"):
        return output
    if known.content.startswith(output.content):
        return None
    return output if output.status == "update" else attrs.evolve(output, status="update")
