"""A turn's way in: one memory channel, and the art of not waking the turn for every event.

Entries travel in bundles. The last bundle in the channel stays open for more until the turn takes it out or it is
full, so most events cost an append and not a channel's send. Bundles are flat lists, four slots to an entry: ten
thousand turns keep their undrained deltas here, and a tuple for each would be memory and work for the collector.

When to wake the turn is decided here too (`reason_for_delta`). A wake-up costs as much as ten events, so a delta gives
one only when an emission may be due, when the item's timer would not look in time, or when the channel is filling up.
All else waits in the channel for the next reason to look; at the latest that is the item's own batch timeout.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import trio

from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.text import utf16_length

BUNDLE_ENTRIES = 64
SLOTS = 4  # arrival, event id ("" for a command), item id ("" unless it is a delta), text or payload or command

Bundle: TypeAlias = list[Any]
Entry: TypeAlias = tuple[float, str, str, Any]
Reason: TypeAlias = Literal[0, 1, 2, 3]
NO_REASON: Reason = 0
TO_LOOK: Reason = 1
TO_WRITE: Reason = 2
"""The turn will likely have something to write once it has looked."""
TO_WRITE_ON: Reason = 3
"""As TO_WRITE, but a writer that is busy need not be disturbed, if its sink is in time: it looks by itself."""


class Mailbox:
    """The two ends of a turn's channel, and what is in it."""

    __slots__ = (
        "_channel",
        "_countdown",
        "_crowd",
        "_full",
        "_inbox",
        "_item",
        "_items",
        "_open",
        "_rest",
        "_room",
        "_soonest",
        "is_open",
    )

    def __init__(self, options: TurnOptions, items: Mapping[str, ItemBuffer]) -> None:
        self.is_open = True  # does the turn take events? Not after its terminal, its closing or its end
        entries = min(BUNDLE_ENTRIES, options.channel_size)
        self._full = entries * SLOTS
        self._channel: trio.MemorySendChannel[Bundle]
        self._inbox: trio.MemoryReceiveChannel[Bundle]
        self._channel, self._inbox = trio.open_memory_channel[Bundle](options.channel_size // entries)
        self._open: Bundle | None = None  # the last bundle in the channel, while more may join it
        self._rest: tuple[Any, ...] = ()  # what was put back of a bundle that was taken out
        self._room: trio.Event | None = None  # made by the first sender who has to wait
        self._items = items
        self._item: ItemBuffer | None = None  # of the last delta: most deltas are for the same item again
        self._soonest = min(options.batch_timeout, options.latency)
        self._crowd = max(1, options.channel_size // 2)
        self._countdown = self._crowd  # deltas until the turn is woken because the channel may be filling up

    # For senders

    def put_nowait(self, arrival: float, event_id: str, item_id: str, what: object) -> bool:
        """Put an entry in, if there is room."""
        bundle = self._open
        if bundle is not None and len(bundle) < self._full:
            bundle += (arrival, event_id, item_id, what)
            return True
        bundle = [arrival, event_id, item_id, what]
        try:
            self._channel.send_nowait(bundle)
        except trio.WouldBlock:
            return False
        self._open = bundle
        return True

    async def put(self, arrival: float, event_id: str, item_id: str, what: object) -> bool:
        """Put an entry in, waiting for room. False if the turn has ended meanwhile and the entry is not in."""
        # Not the channel's own waiting `send`: each sender's event would come as a bundle of one, and the channel
        # would be full of those.
        while self.is_open:
            if self.put_nowait(arrival, event_id, item_id, what):
                return True
            if self._room is None:
                self._room = trio.Event()
            await self._room.wait()
            arrival = trio.current_time()  # it arrives now: time in the channel never runs backwards
        return False

    async def wait_for_room(self) -> None:
        """Wait until an entry would fit, or the turn has ended."""
        while self.is_open and not self._has_room():
            if self._room is None:
                self._room = trio.Event()
            await self._room.wait()

    def _has_room(self) -> bool:
        if self._open is not None and len(self._open) < self._full:
            return True
        waiting = self._channel.statistics()
        return waiting.current_buffer_used < waiting.max_buffer_size

    def reason_for_delta(self, item_id: str, text: str, now: float) -> Reason:
        """Say whether the turn must be woken for a delta that was just put in."""
        item = self._item
        if item is None or item.ended or item.item_id != item_id:
            self._item = item = self._items.get(item_id)
        if item is not None and not item.held:
            # An item not begun has had its wake-up by its item_start; a held one emits nothing before its end.
            item.announced += len(text) if text.isascii() else utf16_length(text)
            if item.announced > item.limit:
                return TO_WRITE if item.alarm > now + self._soonest else TO_WRITE_ON
            if item.alarm > now + self._soonest:
                return TO_LOOK
        self._countdown -= 1
        if self._countdown <= 0:
            self._countdown = self._crowd
            return TO_LOOK
        return NO_REASON

    # For the turn

    def take(self) -> Iterator[Any] | None:
        """Take the oldest bundle out, as an iterator over its slots; None if there is none."""
        if self._rest:
            bundle, self._rest = self._rest, ()
            return iter(bundle)
        try:
            taken = self._inbox.receive_nowait()
        except trio.WouldBlock:
            return None
        if taken is self._open:
            self._open = None
        self._make_room()
        return iter(taken)

    def put_back(self, slots: Iterator[Any]) -> None:
        """Give back what was not looked at of a bundle; it comes first next time."""
        self._rest = tuple(slots)

    def close(self) -> list[Entry]:
        """Close both ends, and give the entries that were still in."""
        unread: list[Entry] = []
        while (slots := self.take()) is not None:
            unread.extend(zip(slots, slots, slots, slots, strict=True))
        self._inbox.close()
        self._channel.close()
        self._open = None
        self.is_open = False
        self._make_room()
        return unread

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None
