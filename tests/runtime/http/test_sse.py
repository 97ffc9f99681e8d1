"""One response that follows something: what it sends is sent whole, whoever is impatient."""

from collections.abc import MutableMapping
from typing import Any

import pytest
import trio

from turnwire.runtime.http.sse import EventStream, OpenStreams


class Ended:
    """A source that is at its end, and has a last word."""

    async def begin(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return b""

    async def wait(self) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def take(self) -> bytes:
        raise AssertionError("there is nothing to take")

    def finish(self) -> bytes:
        return b"data: [DONE]\n\n"

    def close(self) -> None:
        """Nothing is held."""


class SlowReader:
    """Takes a second for each piece."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.cancelled = 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            self.cancelled += 1
            raise
        self.taken.append(message.get("body", b""))


async def never() -> Any:
    await trio.sleep_forever()


@pytest.mark.parametrize("impatient", ["heartbeat", "shutdown"])
async def test_the_last_word_is_sent_whole_and_once(impatient: str, autojump_clock: trio.testing.MockClock) -> None:
    """Neither a heartbeat that falls due meanwhile nor a shutdown cuts it in half, or has it said again."""
    streams, reader = OpenStreams(), SlowReader()
    heartbeat = 0.5 if impatient == "heartbeat" else 100
    stream = EventStream(Ended(), streams, heartbeat=heartbeat)
    scope: dict[str, Any] = {}
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream, scope, never, reader.send)
            await trio.sleep(2.5)  # the response has begun and opened: the last word is on its way
            if impatient == "shutdown":
                streams.close()
    assert reader.cancelled == 0
    assert [piece for piece in reader.taken if piece.startswith(b"data:")] == [b"data: [DONE]\n\n"]
    assert trio.current_time() == 4  # beginning, opening, last word, end
    assert len(streams) == 0
