"""Trio streams read by a host: followed live, read ahead a little, left early, failed."""

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator

import anyio
import pytest
import trio

from tests.kit.loops import Runner, on_asyncio, on_every_loop
from tests.kit.turns import THREAD, TURN, begin, delta, finished, said, started
from turnwire.messages.errors import ClosedError
from turnwire.runtime import MemoryLog, open_bridge, open_hosted


class Numbers:
    """A Trio generator that says how far it was read and when it was let go."""

    def __init__(self, most: int, *, error: Exception | None = None) -> None:
        self.most = most
        self.error = error
        self.given = 0
        self.told: list[str] = []

    async def stream(self) -> AsyncGenerator[int, None]:
        try:
            while self.given < self.most:
                await trio.lowlevel.checkpoint()
                self.given += 1
                yield self.given
            if self.error is not None:
                raise self.error
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            self.told.append("let go")


@on_every_loop
def test_a_stream_is_read_to_its_end(run: Runner) -> None:
    """Everything, in order, once."""

    async def main() -> None:
        numbers = Numbers(1000)
        async with open_bridge() as bridge:
            assert [number async for number in bridge.iterate(numbers.stream())] == list(range(1, 1001))
            assert numbers.told == ["let go"]

    run(main)


@on_every_loop
def test_a_turn_is_followed_while_it_runs(run: Runner) -> None:
    """What is there first, then what comes, then the end."""

    async def main() -> None:
        log = MemoryLog()
        read: list[str] = []
        async with open_hosted(sink=log) as hosted, anyio.create_task_group() as tasks:

            async def follow() -> None:
                read.extend([entry.message.event_id async for entry in hosted.iterate(log.follow(TURN))])

            tasks.start_soon(follow)
            async with hosted.open_turn(turn_id=TURN, thread_id=THREAD) as turn:
                for event in (started(), begin("m"), delta("m", "hi"), said("m", "hi!"), finished()):
                    await turn.send(event)
        assert read[0] == f"{TURN}:1-1"
        assert read[-1] == f"{TURN}:1-3"
        assert log.readers == 0

    run(main)


@on_every_loop
def test_a_stream_that_is_left_early_is_let_go_of_at_once(run: Runner) -> None:
    """Its cleanup is over when the block is left."""

    async def main() -> None:
        numbers = Numbers(1000)
        async with open_bridge() as bridge:
            async with bridge.iterate(numbers.stream()) as stream:
                async for number in stream:
                    if number == 3:
                        break
            assert numbers.told == ["let go"]
            assert [number async for number in stream] == []

    run(main)


@on_asyncio
@pytest.mark.parametrize("ahead", [0, 1, 16])
def test_no_more_is_taken_ahead_than_was_said(run: Runner, ahead: int) -> None:
    """A generator runs ahead of its reader by so much and then waits."""

    async def main() -> None:
        numbers = Numbers(1000)
        async with open_bridge() as bridge, bridge.iterate(numbers.stream(), ahead=ahead) as stream:
            assert await anext(stream) == 1
            for _ in range(50):
                await bridge.call(trio.lowlevel.checkpoint)
            assert numbers.given == 1 + ahead

    run(main)


@on_every_loop
def test_what_the_stream_raises_comes_after_what_it_gave(run: Runner) -> None:
    """As it is; then it has ended."""

    async def main() -> None:
        error = OSError("cut")
        async with open_bridge() as bridge:
            stream, read = bridge.iterate(Numbers(3, error=error).stream()), list[int]()
            with pytest.raises(OSError, match="cut") as caught:
                async for number in stream:
                    read.append(number)
            assert (caught.value, read) == (error, [1, 2, 3])
            assert [number async for number in stream] == []

    run(main)


@on_asyncio
def test_a_read_that_is_cancelled_loses_nothing(run: Runner) -> None:
    """The pattern of a heartbeat: wait so long for an entry, do something else, wait again."""

    async def main() -> None:
        entries, out = trio.open_memory_channel[int](0)
        async with open_bridge() as bridge, bridge.iterate(out) as stream:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(stream)
            await bridge.call(entries.send, 1)
            assert await anext(stream) == 1
            await bridge.call(entries.aclose)
            with pytest.raises(StopAsyncIteration):
                await anext(stream)

    run(main)


@on_asyncio
def test_a_stream_that_was_forgotten_is_let_go_of(run: Runner) -> None:
    """A bare loop that was left early: the collector finds the stream, and its Trio task is cancelled."""

    async def main() -> None:
        numbers = Numbers(1000)

        async def forget() -> None:
            async for _number in bridge.iterate(numbers.stream()):
                return

        async with open_bridge() as bridge:
            await forget()
            gc.collect()
            for _ in range(20):
                await bridge.call(trio.lowlevel.checkpoint)
            assert numbers.told == ["let go"]

    run(main)


@on_asyncio
def test_a_reader_is_told_when_the_host_closes(run: Runner) -> None:
    """It does not wait for ever for a stream that has no more to come."""

    async def silent() -> AsyncIterator[int]:
        await trio.sleep_forever()
        yield 1

    async def main() -> None:
        async with open_bridge() as bridge:
            reader = asyncio.create_task(anext(bridge.iterate(silent())))
            for _ in range(5):
                await bridge.call(trio.lowlevel.checkpoint)
        with pytest.raises(ClosedError):
            await reader

    run(main)
