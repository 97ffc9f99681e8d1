"""The connection that is never blocked: for reading what is there, and for waking the one that is."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from turnwire.runtime.logs.redis.lane import Command, Lane, Reply
from turnwire.runtime.logs.redis.one_thread import OneThread

_T = TypeVar("_T")


class Control:
    """Asks one thing at a time, in a thread."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._thread = OneThread(timeout=lane.socket_timeout)

    async def ask(self, command: Command) -> Reply:
        """Give the reply to a command. Raises LogUnavailableError, also when Redis refuses it."""
        return await self.ask_around(lambda lane: lane.ask_one(command))

    async def ask_all(self, commands: Sequence[Command]) -> list[Reply]:
        """Give the replies to commands that travel together; refusals stand among them. Raises LogUnavailableError."""
        return await self.ask_around(lambda lane: lane.ask(commands))

    async def ask_around(self, questions: Callable[[Lane], _T]) -> _T:
        """Have something asked that takes several round trips, with nobody else's in between.

        `questions` runs in a thread. Raises what it raises, and LogUnavailableError.
        """
        return await self._thread.run(partial(self._ask_around, questions))

    def close(self) -> None:
        """Let the connection go."""
        self._lane.close()

    def abort(self) -> None:
        """Have whoever waits for a reply give up, for good."""
        self._lane.abort()

    @property
    def is_open(self) -> bool:
        """Is there a connection, as far as is known?"""
        return self._lane.is_open

    def _ask_around(self, questions: Callable[[Lane], _T]) -> _T:
        if not self._lane.is_open:
            self._lane.open()
        return questions(self._lane)
