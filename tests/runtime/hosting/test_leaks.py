"""Ten thousand times over and back: no task, no memory, no waiting thing is left behind."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import suppress

import trio

from tests.kit.loops import Runner, on_asyncio
from tests.kit.turns import THREAD, begin, finished, said, started
from turnwire.messages import StreamMessage
from turnwire.runtime import Hosted, open_hosted

ROUND_TRIPS = 10_000


async def echo(number: int) -> int:
    return number


async def fail() -> None:
    raise ValueError("no")


async def numbers() -> AsyncGenerator[int, None]:
    for number in range(100):
        yield number


async def sink(_message: StreamMessage) -> None:
    """Of the host."""


async def every_way(hosted: Hosted, number: int) -> None:
    """Cross once in each way there is: call, error, cancellation, stream, turn."""
    assert await hosted.call(echo, number) == number
    with suppress(ValueError):
        await hosted.call(fail)
    task = asyncio.create_task(hosted.call(trio.sleep_forever))
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    async with hosted.iterate(numbers()) as stream:
        assert await anext(stream) == 0
    async with hosted.open_turn(turn_id=f"turn-{number}", thread_id=THREAD) as turn:
        for event in (started(f"turn-{number}"), begin("m"), said("m", "x"), finished()):
            await turn.send(event)


def census() -> tuple[int, int, int]:
    """Count what is alive: objects the collector knows, asyncio tasks, Trio tasks."""
    gc.collect()
    return (
        len(gc.get_objects()),
        len(asyncio.all_tasks()),
        trio.lowlevel.current_statistics().tasks_living,  # the guest is in this thread, so we may ask
    )


@on_asyncio
def test_ten_thousand_round_trips_leave_nothing(run: Runner) -> None:
    """Tasks are as many as before, and so are objects; the memory that is held does not grow with the trips."""

    async def main() -> None:
        async with open_hosted(sink=sink) as hosted:
            for number in range(100):
                await hosted.call(echo, number)
            objects, tasks, trio_tasks = census()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            for number in range(ROUND_TRIPS):
                await hosted.call(echo, number)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
            tracemalloc.stop()
            after = census()
            assert after[1:] == (tasks, trio_tasks)
            assert after[0] - objects < 100
            assert grown < 50_000  # five bytes a trip: less than anything that is kept

    run(main)


@on_asyncio
def test_every_way_over_leaves_nothing(run: Runner) -> None:
    """Errors, cancellations, streams left early, turns: none of them is kept by a traceback or a set."""

    async def main() -> None:
        async with open_hosted(sink=sink) as hosted:
            for number in range(30):
                await every_way(hosted, number)
            objects, tasks, trio_tasks = census()
            for number in range(30, 330):
                await every_way(hosted, number)
            after = census()
            assert after[1:] == (tasks, trio_tasks)
            assert after[0] - objects < 300  # one object a round would be as many

    run(main)


@on_asyncio
def test_nothing_waits_for_the_collector(run: Runner) -> None:
    """Calls that succeed or fail make no circles: without a collection there is no more than before."""

    async def main() -> None:
        async with open_hosted(sink=sink) as hosted:
            for number in range(30):
                await every_way(hosted, number)
            gc.collect()
            gc.disable()
            try:
                before = len(gc.get_objects())
                for number in range(200):
                    await hosted.call(echo, number)
                    with suppress(ValueError):
                        await hosted.call(fail)
                assert len(gc.get_objects()) - before < 200
            finally:
                gc.enable()

    run(main)
