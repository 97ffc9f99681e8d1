"""A turn whose owner died goes on in other hands: what its readers are still owed, and the rules in mid-turn.

Log A has all the turn's events, log B the outputs that its former owners wrote. The events go through the same rules
as they did live, from the first to the last, over an outbox that knows what log B says (owed.py). So what waits in it
at the end is the difference, and the rules are in the state in which they go on live. In detail:

- Repeated event ids count once over the whole log, and those that come later are told too (R17).
- Time stands still in a replay, so no timeout fires: text below its threshold is not owed. The newest text that
  crossed one is owed, as it stood when it did, unless log B shows at least that. The rest waits for a timeout that
  starts afresh when the turn goes on.
- An item that has ended is owed its end, without the create before it; a call without its output is owed its create. A
  cancelled item is owed nothing; if readers have seen it and the options want it told, the error.
- The terminal is owed last, after what it flushes. If log B has one, the turn is over whatever log A says.
- Log B may be ahead of log A, when the latter lost its tail and its writer has not appended it again yet: what log B
  says stays said. An item that ended there has ended; one that began there has begun; its text is not news until it
  is longer.

A replay costs what the events cost live. Killed in the middle of what it owes, the next owner does the same again with
a log B that says more.
"""

from collections.abc import Iterable
from math import inf

import attrs

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.owed import OwedOutbox
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages.delta_codec import try_decode_delta
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ItemStart, StreamEvent
from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.outputs import Output, TurnFailure

REPLAY = 0.0
"""The moment at which everything happens in a replay. Going live puts every time right."""


@attrs.frozen(kw_only=True, eq=False)
class Recovered:
    """A turn that can go on. To be opened once: `open_turn(resume=...)`."""

    turn_id: str
    thread_id: str
    options: TurnOptions
    machine: TurnMachine
    """The rules in mid-turn; what is owed waits in their outbox."""
    shown: TurnSnapshot
    """What readers knew when it was recovered."""
    owed: tuple[Output, ...]
    """What brings readers to the state that the events imply, in order; at most one for each item."""


class Recovery:
    """Reads a turn's events, piece by piece if there are many, and finds out what readers are owed."""

    __slots__ = ("_known", "_options", "_outbox", "_shown", "_thread_id", "_turn_id", "machine")

    def __init__(self, turn_id: str, thread_id: str, options: TurnOptions, shown: TurnSnapshot) -> None:
        self._turn_id = turn_id
        self._thread_id = thread_id
        self._options = attrs.evolve(options, repeat_window=None)
        self._shown = shown
        self._known = frozenset(item.item_id for item in shown.items)
        self._outbox = OwedOutbox(self._options, shown)
        self.machine = TurnMachine(turn_id, thread_id, self._options, self._outbox)
        self.machine.ended = shown.terminal is not None

    def push(self, event: StreamEvent | bytes | str) -> None:
        """Take the next event of log A in. Raises InvalidEventError for what is none, and is as before then."""
        machine = self.machine
        if not isinstance(event, StreamEvent):
            is_small = len(event) <= self._options.max_event_bytes
            if is_small and (delta := try_decode_delta(event)) is not None:
                machine.push_delta(delta.event_id, delta.payload.item_id, delta.payload.delta_content, now=REPLAY)
                return
            event = decode_event(event, max_bytes=self._options.max_event_bytes)
        payload = event.payload
        machine.push(event.event_id, payload, now=REPLAY)
        if isinstance(payload, ItemStart) and payload.item_id in self._known:
            item = machine.items.live.get(payload.item_id)
            if item is not None:
                item.shown = True  # so that cancelling it knows that it was seen

    def finish(self, *, now: float, lost: TurnFailure | None = None) -> Recovered:
        """Go live: give the turn as it goes on from now.

        `lost` says why it cannot go on, if so: it is then ended with that error, unless it has ended already.
        """
        if lost is not None:
            self.machine.fail(lost.code, lost.message, now=REPLAY)
        items = self.machine.items
        for item in items.live.values():
            item.restart(now)
        items.changed[:] = [item for item in items.live.values() if not item.held]
        items.due = min(map(items.deadline, items.live.values()), default=inf)
        self._outbox.go_live(now=now, has_ended=items.has_ended)
        return Recovered(
            turn_id=self._turn_id,
            thread_id=self._thread_id,
            options=self._options,
            machine=self.machine,
            shown=self._shown,
            owed=self._outbox.outputs,
        )


def resume_turn(
    turn_id: str,
    thread_id: str,
    options: TurnOptions,
    events: Iterable[StreamEvent | bytes | str],
    shown: TurnSnapshot,
    *,
    now: float,
    lost: TurnFailure | None = None,
) -> Recovered:
    """Recover a turn from all its events (log A) and the fold of all its outputs (log B)."""
    recovery = Recovery(turn_id, thread_id, options, shown)
    for event in events:
        recovery.push(event)
    return recovery.finish(now=now, lost=lost)
