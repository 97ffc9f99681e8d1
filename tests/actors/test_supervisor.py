"""Long-lived tasks start again under a budget."""

import pytest
import trio
from trio.testing import MockClock

from turnwire.actors import RestartBudget, run_supervised


async def test_a_failing_task_is_started_again_with_backoff(autojump_clock: MockClock) -> None:
    """The waits double; a task that returns is done."""
    starts: list[float] = []

    async def body() -> None:
        starts.append(trio.current_time())
        if len(starts) < 4:
            raise OSError("not yet")

    await run_supervised(body, name="tailer", budget=RestartBudget(limit=5, window=60, base=1.0, longest=10.0))
    assert starts == [0, 1, 3, 7]


async def test_past_the_budget_the_failure_goes_up(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    """With a message that says whose budget is spent."""

    async def body() -> None:
        raise OSError("never")

    with pytest.raises(OSError, match="never"):
        await run_supervised(body, name="tailer", budget=RestartBudget(limit=2, window=60, base=1.0))
    assert trio.current_time() == 1 + 2
    assert "tailer failed again; its restart budget is spent" in caplog.text


async def test_a_supervised_task_can_be_cancelled(autojump_clock: MockClock) -> None:
    """Both while it runs and while it waits to be started again; Cancelled is nobody's to swallow."""
    runs = 0

    async def body() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise OSError("once")
        await trio.sleep_forever()

    for limit in (0.5, 5.0):
        runs = 0
        with trio.move_on_after(limit) as scope:
            await run_supervised(body, name="tailer", budget=RestartBudget(base=1.0))
        assert scope.cancelled_caught
