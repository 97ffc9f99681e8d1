"""A log in memory: what embedded use, demos and tests keep their messages in.

The sink that a host passes as `sink=MemoryLog()`. One log holds many turns; each turn's messages stand in the order in
which they were appended.
"""

from collections.abc import AsyncIterator

import trio

from turnwire.messages.folds import TurnSnapshot, fold_outputs
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output, StreamMessage, TurnComplete, TurnError


class MemoryLog:
    """Keeps messages per turn, for as long as it lives."""

    def __init__(self) -> None:
        self._turns: dict[str, list[StreamMessage]] = {}
        self._news = trio.Event()

    async def append(self, message: StreamMessage) -> None:
        """Keep one message."""
        self._turns.setdefault(message.turn_id, []).append(message)
        news, self._news = self._news, trio.Event()
        news.set()

    def turn_ids(self) -> tuple[str, ...]:
        """Say which turns there are, oldest first."""
        return tuple(self._turns)

    def read(self, turn_id: str, *, after: int = 0) -> tuple[StreamMessage, ...]:
        """Give a turn's messages, without the first `after`."""
        return tuple(self._turns.get(turn_id, ())[after:])

    async def follow(self, turn_id: str, *, after: int = 0) -> AsyncIterator[StreamMessage]:
        """Give a turn's messages as they come, those that are there first; ends after the terminal."""
        while True:
            news = self._news
            for message in self.read(turn_id, after=after):
                after += 1
                yield message
                if isinstance(decode_output(message.payload), TurnComplete | TurnError):
                    return
            await news.wait()

    def outputs(self, turn_id: str) -> tuple[Output, ...]:
        """Give what a turn's messages say."""
        return tuple(decode_output(message.payload) for message in self.read(turn_id))

    def snapshot(self, turn_id: str) -> TurnSnapshot:
        """Give what a reader of all of a turn's messages knows."""
        return fold_outputs(self.outputs(turn_id))
