"""Emissions that wait for the writer, and what becomes of them when the sink is behind. No clock, no await.

Normally every emission is delivered as it was made. The rules for when the sink is slow:

1. `open_at(now)` says whether the actor may make more. At `limit` waiting emissions it may not: it waits for the
   writer.
2. When the oldest emission has then waited longer than `patience`, the sink is *behind*. From there on only the newest
   state of each item waits. A superseded emission is taken out and the newer one joins at the end, so the order in
   which things are delivered is still the order in which they were made.
3. A waiting create that is superseded by an update is a create with the newer text. A complete or an error
   supersedes both. Events of the turn itself are never superseded. What is in flight is left alone.
4. Behind ends when the oldest emission is again younger than `patience`, or none is left.
5. At the hard limits (count, bytes) the actor waits in any case: back-pressure, never loss.

The head is *taken* for delivery, or several of the oldest together, and only *delivered* removes them: cancelling the
writer loses nothing.
"""

from collections.abc import Sequence
from itertools import islice
from math import inf

import attrs

from turnwire.messages.outputs import Content, Message, Output, Thinking, ToolCall


@attrs.define(eq=False)
class Emission:
    """One output on its way to the sink."""

    output: Output
    at: float
    """When it was made."""
    size: int
    """Bytes of text it holds, roughly: what counts against the memory limit."""
    serial: int
    covers: int
    """The oldest serial whose news this emission carries: its own, or that of one it superseded."""
    event_id: str = ""
    """Given when it is first taken for delivery, kept over all retries."""


class Outbox:
    """What waits between a turn and its writer."""

    __slots__ = (
        "_behind",
        "_bytes",
        "_flying",
        "_newest",
        "_waiting",
        "conflated",
        "hard_bytes",
        "hard_limit",
        "limit",
        "made",
        "patience",
    )

    def __init__(
        self, *, limit: int = 64, patience: float = 0.25, hard_limit: int = 10_000, hard_bytes: int = 64 * 1024 * 1024
    ) -> None:
        self.limit = limit
        self.patience = patience
        self.hard_limit = hard_limit
        self.hard_bytes = hard_bytes
        self.conflated = 0
        self._behind = False
        self._bytes = 0
        self.made = 0  # emissions made so far: the serial of the newest
        self._flying: tuple[Emission, ...] = ()  # oldest first
        self._waiting: dict[int, Emission] = {}  # by serial, oldest first
        self._newest: dict[str, int] = {}  # while behind: item id → serial of its one waiting emission

    def __len__(self) -> int:
        """How many emissions wait, those in flight not counted."""
        return len(self._waiting)

    @property
    def is_empty(self) -> bool:
        """Is nothing waiting and nothing in flight?"""
        return not self._waiting and not self._flying

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What waits, oldest first, those in flight not counted."""
        return tuple(emission.output for emission in self._waiting.values())

    @property
    def is_behind(self) -> bool:
        """Is the sink behind, so that only the newest states wait?"""
        return self._behind

    def add(self, output: Output, *, at: float, size: int) -> None:
        """Let an emission join at the end. It counts as made from here on."""
        self.made = serial = self.made + 1
        emission = Emission(output, at, size, serial, serial)
        if self._behind and isinstance(output, (Message, Thinking, ToolCall)):
            self._conflate(emission, output)
        self._waiting[serial] = emission
        self._bytes += size

    def withdraw_create(self, item_id: str) -> bool:
        """Take a waiting create out, if the sink is behind: its item was cancelled before anybody saw it."""
        serial = self._newest.get(item_id) if self._behind else None
        if serial is None or getattr(self._waiting[serial].output, "status", None) != "create":
            return False
        self._pull(item_id)
        self.conflated += 1
        return True

    def open_at(self, now: float) -> bool:
        """May the actor make more emissions now? Asking is what notices that the sink is behind."""
        if not self._behind:
            waiting = len(self._waiting)
            if waiting < self.limit and waiting < self.hard_limit and self._bytes < self.hard_bytes:
                return True
            if now < self.asks_again_at:
                return False
            self._fall_behind()
        return len(self._waiting) < self.hard_limit and self._bytes < self.hard_bytes

    def is_in_time(self, now: float) -> bool:
        """Is the sink not behind, and will not be found to be even if more is made now?"""
        return not self._behind and (self.is_empty or now < self._oldest_at() + self.patience)

    @property
    def asks_again_at(self) -> float:
        """When `open_at`, having said no, could say yes although nothing was delivered; inf if never."""
        return inf if self._behind or self.is_empty else self._oldest_at() + self.patience

    def take(self) -> Emission | None:
        """Give the emission to deliver next, the one in flight first if there is one; None if nothing waits."""
        if not self._flying and self._waiting:
            self._launch((next(iter(self._waiting.values())),))
        return self._flying[0] if self._flying else None

    def take_many(self, most: int, most_bytes: int) -> Sequence[Emission]:
        """Give the oldest emissions, to be delivered in this order; none if nothing waits.

        As long as any are in flight these are given again, and no others with them. Of `most_bytes` in all the last
        one may take more.
        """
        if not self._flying and self._waiting:
            taken: list[Emission] = []
            for emission in islice(self._waiting.values(), most):
                taken.append(emission)
                most_bytes -= emission.size
                if most_bytes <= 0:
                    break
            self._launch(tuple(taken))
        return self._flying

    def delivered(self, *, now: float, count: int = 1) -> None:
        """Note that the sink took the first `count` emissions in flight."""
        flying = self._flying
        if len(flying) < count:
            raise RuntimeError(f"delivered() of {count} with {len(flying)} in flight")
        for emission in flying[:count]:
            self._bytes -= emission.size
        self._flying = flying[count:]
        if self._behind and (self.is_empty or now < self._oldest_at() + self.patience):
            self._get_in_time()

    def give_up(self, emission: Emission) -> None:
        """Drop an emission in flight: it cannot be put into words."""
        if emission in self._flying:
            self._bytes -= emission.size
            self._flying = tuple(other for other in self._flying if other is not emission)
            if self.is_empty:
                self._get_in_time()

    def holds_up_to(self, serial: int) -> bool:
        """Does anything that was made up to this serial still wait, in this or in a newer form?"""
        return any(emission.covers <= serial for emission in (*self._flying, *self._waiting.values()))

    def clear(self) -> int:
        """Drop everything, because it can no longer be delivered, and say how many emissions that were."""
        dropped = len(self._waiting) + len(self._flying)
        self._waiting.clear()
        self._flying = ()
        self._bytes = 0
        self._get_in_time()
        return dropped

    def _oldest_at(self) -> float:
        return self._flying[0].at if self._flying else next(iter(self._waiting.values())).at

    def _fall_behind(self) -> None:
        """Keep the newest state of each item, each at the place of its newest emission."""
        self._behind = True
        emissions = list(self._waiting.values())
        self._waiting.clear()
        self._bytes = sum(emission.size for emission in self._flying)
        for emission in emissions:
            output = emission.output
            if isinstance(output, (Message, Thinking, ToolCall)):
                self._conflate(emission, output)
            self._waiting[emission.serial] = emission
            self._bytes += emission.size

    def _get_in_time(self) -> None:
        self._behind = False
        self._newest.clear()

    def _conflate(self, emission: Emission, content: Content) -> None:
        """Let an emission, about to join at the end, take the place of the one that waits of its item."""
        if (older := self._pull(content.item_id)) is not None:
            _supersede(older, emission, content)
            self.conflated += 1
        self._newest[content.item_id] = emission.serial

    def _launch(self, emissions: tuple[Emission, ...]) -> None:
        for emission in emissions:
            del self._waiting[emission.serial]
            if self._behind and isinstance(output := emission.output, (Message, Thinking, ToolCall)):
                del self._newest[output.item_id]
        self._flying = emissions

    def _pull(self, item_id: str) -> Emission | None:
        serial = self._newest.pop(item_id, None)
        if serial is None:
            return None
        emission = self._waiting.pop(serial)
        self._bytes -= emission.size
        return emission


def _supersede(older: Emission, newer: Emission, content: Content) -> None:
    """Let the newer emission speak for the older one too."""
    newer.covers = min(older.covers, newer.covers)
    if getattr(older.output, "status", None) == "create" and content.status == "update":
        newer.output = attrs.evolve(content, status="create")
