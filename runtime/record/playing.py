"""Recordings given back in time, as they were recorded or faster.

The player waits with `trio.sleep_until`, so under a virtual clock an hour's stream plays at once, in order and with
all its stalls.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import trio

from turnwire.messages.agui.client_lines import ConversationLine, structure_line
from turnwire.messages.events import StreamEvent
from turnwire.runtime.record.recording import OF_CONVERSATIONS, Event, Recorded


async def play(recording: Iterable[Recorded], *, speed: float | None = 1.0) -> AsyncGenerator[Event, None]:
    """Give the events of a recording when it is their time: at its own speed, `speed` times as fast, or all at once.

    `speed=None` waits for nothing. Times count from the first event, so a slow reader does not shift the later ones.
    """
    if speed is not None and speed <= 0:
        raise ValueError(f"speed must be positive, or None for no waiting; got {speed}")
    began = trio.current_time()
    for recorded in recording:
        if speed is None:
            await trio.lowlevel.checkpoint()
        else:
            await trio.sleep_until(began + recorded.at / speed)
        yield recorded.event


async def play_turn(recording: Iterable[Recorded], *, speed: float | None = 1.0) -> AsyncGenerator[StreamEvent, None]:
    """Play a recording of StreamEvents, to be sent to a turn; what else is in it is passed over."""
    async with aclosing(play(recording, speed=speed)) as events:
        async for event in events:
            if isinstance(event, StreamEvent):
                yield event


async def play_conversation(
    recording: Iterable[Recorded], *, speed: float | None = 1.0
) -> AsyncGenerator[ConversationLine, None]:
    """Play a recording of a conversation, to be given to `send_line`; StreamEvents in it are passed over."""
    async with aclosing(play(recording, speed=speed)) as events:
        async for event in events:
            if isinstance(event, OF_CONVERSATIONS):
                yield event
            elif not isinstance(event, StreamEvent):
                yield structure_line(event)  # of a type that nobody knew when it was read: counted, not lost
