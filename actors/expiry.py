"""One task that ends turns which have been open too long.

One for all turns, because a timer in each would cost every turn a cancel scope for a case that nearly never comes.
"""

from math import inf

import trio

from turnwire.actors.turn_actor import TurnActor


class DeadlineKeeper:
    """Knows when each open turn expires, and sleeps until the first of them does."""

    __slots__ = ("_armed_for", "_news", "_watched")

    def __init__(self) -> None:
        self._watched: set[TurnActor] = set()
        self._armed_for = inf
        self._news = trio.Event()

    def watch(self, actor: TurnActor) -> None:
        """Take a turn into account."""
        self._watched.add(actor)
        if actor.expires_at < self._armed_for:
            self._armed_for = actor.expires_at
            self._news.set()

    def forget(self, actor: TurnActor) -> None:
        """Leave a turn that has ended alone."""
        self._watched.discard(actor)

    async def run(self) -> None:
        """End turns as they expire, for ever."""
        while True:
            # Turns that end in time are not looked for here: a wake-up too early just finds the next deadline.
            with trio.move_on_at(self._armed_for):
                await self._news.wait()
            self._news = trio.Event()
            now = trio.current_time()
            for actor in [actor for actor in self._watched if actor.expires_at <= now]:
                self._watched.discard(actor)
                actor.expire()
            self._armed_for = min((actor.expires_at for actor in self._watched), default=inf)
