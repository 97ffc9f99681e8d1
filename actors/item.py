"""The task of one live item: it owns the item's batch timeout and has its turn catch up when that runs out.

Deltas do not touch it. It is started when its item first needs it, and called when the deadline has come nearer than
the alarm it sleeps until, or the item has ended.
"""

from math import inf
from typing import Protocol

import trio

from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.parking import ParkingSpace


class CatchesUp(Protocol):
    """What an item needs of its turn."""

    def catch_up(self) -> None:
        """Process all that has come in and all that is due."""
        ...

    def deadline(self, item: ItemBuffer) -> float:
        """Say when the item is due."""
        ...


class ItemClock(ParkingSpace):
    """Sleeps until an item is due. Deltas do not touch it: on waking it finds out how long to sleep on."""

    __slots__ = ("_item", "_turn")

    def __init__(self, item: ItemBuffer, turn: CatchesUp) -> None:
        super().__init__()
        self._item = item
        self._turn = turn

    async def run(self) -> None:
        """Have the turn catch up at the item's deadlines, until the item has ended."""
        item, turn = self._item, self._turn
        while not item.ended:
            now = trio.current_time()
            if min(item.alarm, turn.deadline(item)) <= now:  # its alarm counts too: text on its way in may be due
                turn.catch_up()
                item.alarm = turn.deadline(item)
                if item.alarm <= now:
                    item.alarm = inf  # a full outbox holds the turn up; it calls us when it gets on
            else:
                item.alarm = turn.deadline(item)
            with trio.move_on_after(max(0.0, item.alarm - now)) as timeout:
                # Set once more, exactly: now + (alarm - now) may round to a moment before the alarm, at which nothing
                # would be due, for ever under a clock that stands still.
                timeout.deadline = item.alarm
                await self.wait()


def attend_item(item: ItemBuffer, turn: CatchesUp, nursery: trio.Nursery) -> None:
    """Start or call an item's task, as the item's deadline now has it."""
    if item.ended:
        if item.clock is not None:
            item.clock.call()
        return
    deadline = turn.deadline(item)
    if deadline < item.alarm:
        item.alarm = deadline  # from now on its task will wake by itself in time
        if item.clock is not None:
            item.clock.call()
    if item.clock is None and not item.held:
        item.clock = clock = ItemClock(item, turn)
        nursery.start_soon(clock.run, name=f"item {item.item_id}")
