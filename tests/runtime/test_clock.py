"""Virtual time that is set."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from turnwire.runtime.clock import SetClock


def test_sleepers_wake_when_the_clock_is_set_past_their_time() -> None:
    """In no real time at all, and not before."""
    clock = SetClock()
    woken: list[tuple[float, float]] = []

    async def sleeper(until: float) -> None:
        await trio.sleep_until(until)
        woken.append((until, trio.current_time()))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for until in (5.0, 1e6):
                nursery.start_soon(sleeper, until)
            await wait_all_tasks_blocked()
            assert woken == []
            clock.set(10.0)
            await wait_all_tasks_blocked()
            assert woken == [(5.0, 10.0)]
            clock.set(1e6)

    trio.run(main, clock=clock)
    assert woken == [(5.0, 10.0), (1e6, 1e6)]


def test_the_clock_is_never_set_back() -> None:
    """Whoever tries has a bug."""
    clock = SetClock()
    clock.set(2.0)
    with pytest.raises(ValueError, match="back"):
        clock.set(1.0)
