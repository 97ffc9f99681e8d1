"""Reading one reply: to its end, or to where it is broken off; and what a stream does after its terminal."""

from collections.abc import AsyncIterator, Sequence

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import delta, finished
from turnwire.actors.reply_reader import LINGER, ReplyReader
from turnwire.messages.events import ItemDelta, StreamEvent
from turnwire.messages.providers.continuation import Continuation

DELTA, END = delta("m", "a"), finished()


@attrs.define
class Stream:
    """Says a word and its end, then does something else."""

    after: float | Exception = 0.0
    notes: list[str] = attrs.field(factory=list)

    async def __aiter__(self) -> AsyncIterator[list[StreamEvent]]:
        try:
            yield [DELTA]
            yield [END]
            if isinstance(self.after, Exception):
                raise self.after
            await trio.sleep(self.after)
            self.notes.append("read to its end")
        finally:
            self.notes.append("over")

    def abort(self) -> list[StreamEvent]:
        self.notes.append("aborted")
        return [END]

    def continuation(self) -> Continuation:
        raise AssertionError("nobody asks")

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        self.notes.append("closed")


async def read(stream: Stream) -> ReplyReader:
    def take(events: Sequence[StreamEvent]) -> bool:
        return all(isinstance(each.payload, ItemDelta) for each in events)

    reader = ReplyReader(stream, grace=5)
    await reader.run(take, trio.lowlevel.checkpoint)
    return reader


async def test_a_stream_is_read_to_its_end_after_its_terminal(autojump_clock: MockClock) -> None:
    """So that the connection behind it can be used again."""
    stream = Stream()
    await read(stream)
    assert stream.notes == ["read to its end", "over", "closed"]


@pytest.mark.parametrize(("after", "seconds"), [(OSError("broke"), 0.0), (float("inf"), LINGER)])
async def test_what_a_stream_does_after_its_terminal_changes_nothing(
    autojump_clock: MockClock, after: float | Exception, seconds: float
) -> None:
    """It may break, or go on for ever: it has a second, and is closed."""
    stream = Stream(after)
    reader = await read(stream)
    assert trio.current_time() == seconds
    assert stream.notes == ["over", "closed"]
    assert reader.closing == ()


async def test_a_cancelled_reader_has_the_stream_say_its_last_words(autojump_clock: MockClock) -> None:
    """And closes it."""
    stream = Stream(9)
    reader = ReplyReader(stream, grace=5)
    with trio.move_on_after(1):
        await reader.run(lambda _events: True, trio.sleep_forever)
    assert stream.notes == ["aborted", "over", "closed"]
    assert reader.closing == [END]
