"""Work that can be broken off beside a teller that cannot."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from turnwire.actors.side_work import SideWork


class Desk:
    """Makes numbers, and tells them in a second each."""

    def __init__(self, most: int = 1000) -> None:
        self.made: list[int] = []
        self.told: list[int] = []
        self.beats: list[float] = []
        self.side = SideWork(self.tell, lambda: len(self.made) - len(self.told) < most, self.beat)

    async def tell(self) -> None:
        while len(self.told) < len(self.made):
            await trio.sleep(1)
            self.told.append(self.made[len(self.told)])

    def beat(self) -> None:
        self.beats.append(trio.current_time())

    def make(self, numbers: int) -> Callable[[], Awaitable[None]]:
        async def body() -> None:
            for number in range(numbers):
                self.made.append(number)
                await self.side.wait_for_room()

        return body


async def test_a_stop_breaks_off_the_work_and_not_the_telling(autojump_clock: MockClock) -> None:
    """What was made is told to its end."""
    desk = Desk(most=3)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.side.run, desk.make(100), "making")
        await trio.sleep(2.5)
        desk.side.stop()
    assert desk.told == desk.made
    assert 3 <= len(desk.made) <= 6


async def test_nothing_begins_after_a_stop(autojump_clock: MockClock) -> None:
    """Nor past the deadline."""
    desk = Desk()
    desk.side.stop()
    await desk.side.run(desk.make(1), "making")
    assert desk.made == []
    late = Desk()
    late.side.deadline = trio.current_time()
    await late.side.run(late.make(1), "making")
    assert late.made == []
    assert late.side.is_interrupted


async def test_what_the_work_raises_comes_out_as_it_was(autojump_clock: MockClock) -> None:
    """After what it made was told; and what telling raises comes out, too, with the work cancelled."""
    desk = Desk()

    async def fail() -> None:
        desk.made.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await desk.side.run(fail, "failing")
    assert desk.told == [1]

    async def refuse() -> None:
        raise OSError("away")

    side = SideWork(refuse, lambda: True, desk.beat)

    async def work() -> None:
        side.report()
        await trio.sleep_forever()

    with pytest.raises(OSError, match="away"):
        await side.run(work, "working")


async def test_work_that_is_silent_gives_signs_of_life(autojump_clock: MockClock) -> None:
    """As often as was asked for."""
    desk = Desk()
    await desk.side.run(partial(trio.sleep, 35), "sleeping", every=10)
    assert desk.beats == [10, 20, 30]
