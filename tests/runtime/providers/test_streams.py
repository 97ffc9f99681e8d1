"""Any async source to StreamEvents: what ends them, what breaks them, who closes them."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar

import pydantic
import pytest
import trio

from tests.kit.recordings import make_adapter
from tests.kit.streams import brief, chunk
from turnwire.messages.json_text import dump_json
from turnwire.runtime.providers import adapt_batches, adapt_stream

P = "openai-chat"
EVENTS = [chunk(content="Hel"), chunk(content="lo"), chunk("stop")]
TOLD = ["begin", "start message", "delta Hel", "delta lo", "done message Hello", "end complete stop"]
BODY = b"".join(b"data: " + dump_json(event) + b"\n\n" for event in EVENTS)


class SdkEvent(pydantic.BaseModel):
    """Shaped like an event object of the official SDKs."""

    model_config = pydantic.ConfigDict(extra="allow")


async def source_of(*pieces: Any) -> AsyncGenerator[Any, None]:
    for piece in pieces:
        await trio.lowlevel.checkpoint()
        if isinstance(piece, Exception):
            raise piece
        yield piece


async def heard(*pieces: Any) -> list[str]:
    return brief([event async for event in adapt_stream(make_adapter(P), source_of(*pieces))])


@pytest.mark.parametrize(
    "pieces",
    [
        EVENTS,
        [BODY[:37], BODY[37:41], bytearray(BODY[41:])],
        [BODY.decode()[:50], BODY.decode()[50:]],
        [SdkEvent.model_validate(event) for event in EVENTS],
        [BODY.removesuffix(b"\n\n")],
        [BODY, b"data: [DONE]\n\n", b"data: never read\n\n"],
    ],
    ids=["decoded", "bytes", "text", "sdk objects", "no last blank line", "done marker"],
)
async def test_all_kinds_of_pieces_tell_the_same(pieces: list[Any]) -> None:
    """Bytes, text, decoded events and SDK objects of one stream give one and the same."""
    assert await heard(*pieces) == TOLD


async def test_batches_hold_what_one_piece_made() -> None:
    """The start comes before the source is asked for anything; then one batch per piece that tells something."""
    batches = [brief(batch) async for batch in adapt_batches(make_adapter(P), source_of(EVENTS[0], chunk(), EVENTS[2]))]
    assert batches == [["begin"], ["start message", "delta Hel"], ["done message Hel"], ["end complete stop"]]


async def test_a_source_that_raises_is_a_truncation(caplog: pytest.LogCaptureFixture) -> None:
    """Its readers get a terminal; the log names the error's type and not its words."""
    caplog.set_level(logging.DEBUG)
    told = await heard(EVENTS[0], OSError("connection to https://user:secret@host reset"))
    assert told[-2:] == ["error STREAM_TRUNCATED", "broken STREAM_TRUNCATED"]
    assert "OSError" in caplog.text
    assert "secret" not in caplog.text


async def test_an_exception_that_carries_a_providers_error_is_that_error() -> None:
    """An SDK raises what the provider sent in the stream; it is told as the provider's error."""

    class ApiError(Exception):
        body: ClassVar = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    assert (await heard(EVENTS[0], ApiError()))[-2:] == ["error overloaded_error", "broken overloaded_error"]


async def test_a_source_that_breaks_after_its_stop_reason_has_ended_well() -> None:
    """All items closed and a reason seen: the response is done (C8)."""
    assert (await heard(*EVENTS, OSError()))[-1] == "end complete stop"


async def test_cancellation_passes_and_closes_the_source(autojump_clock: trio.testing.MockClock) -> None:
    """A cancelled reader is told nothing more, and its source is closed."""
    closed = False

    async def endless() -> AsyncGenerator[Any, None]:
        nonlocal closed
        try:
            yield EVENTS[0]
            await trio.sleep_forever()
        finally:
            closed = True

    told: list[str] = []
    with trio.move_on_after(5) as turn:
        async with aclosing(adapt_stream(make_adapter(P), endless())) as events:
            async for event in events:
                told += brief([event])
    assert turn.cancelled_caught
    assert closed
    assert told == TOLD[:3]


async def test_a_reader_that_leaves_early_closes_the_source() -> None:
    """Closing the events closes what they come from, an SDK's `close` included."""

    class SdkStream:
        closed = False

        def __aiter__(self) -> AsyncIterator[Any]:
            return source_of(*EVENTS)

        async def close(self) -> None:
            await trio.lowlevel.checkpoint()
            self.closed = True

    source = SdkStream()
    async with aclosing(adapt_stream(make_adapter(P), source)) as events:
        await anext(events)
    assert source.closed


async def test_a_source_that_cannot_be_closed_does_no_harm(autojump_clock: trio.testing.MockClock) -> None:
    """Closing is bounded, and its failures are nobody's business."""

    class Stubborn:
        def __init__(self, *, hangs: bool) -> None:
            self.hangs = hangs

        def __aiter__(self) -> AsyncIterator[Any]:
            return source_of(*EVENTS)

        async def close(self) -> None:
            if self.hangs:
                await trio.sleep_forever()
            raise OSError("already gone")

    for hangs, seconds in ((True, 2.0), (False, 0.0)):
        began = trio.current_time()
        async with aclosing(adapt_stream(make_adapter(P), Stubborn(hangs=hangs))) as events:
            assert brief([event async for event in events]) == TOLD
        assert trio.current_time() - began == seconds


async def test_a_source_that_stays_open_after_the_terminal_is_left(autojump_clock: trio.testing.MockClock) -> None:
    """The terminal is the end; a connection that lingers is given half a second."""

    async def lingering() -> AsyncGenerator[Any, None]:
        yield BODY + b"data: [DONE]\n\n"
        await trio.sleep_forever()

    assert brief([event async for event in adapt_stream(make_adapter(P), lingering())]) == TOLD
    assert trio.current_time() == pytest.approx(0.5)
