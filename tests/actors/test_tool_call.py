"""Running tools: whatever they do is data, except being cancelled."""

import asyncio
import dataclasses
import enum
import logging
import threading
from datetime import date
from typing import Any

import attrs
import pytest
import trio
import trio.lowlevel
from trio.testing import wait_all_tasks_blocked

from turnwire.actors.core.tool_results import ToolResult
from turnwire.actors.core.toolset import Tool, tool
from turnwire.actors.tool_call import MAX_THREADS, run_tool


class Sky(enum.Enum):
    """An enum."""

    CLEAR = "clear"


@attrs.frozen
class Forecast:
    """An attrs class."""

    city: str
    degrees: float


@dataclasses.dataclass
class Week:
    """A dataclass."""

    days: tuple[Forecast, ...]
    sky: Sky
    since: date


@tool()
async def weather(city: str, days: int = 1) -> list[Forecast]:
    """Say what the weather will be."""
    await trio.lowlevel.checkpoint()
    return [Forecast(city, 3.5)] * days


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("plain words", "plain words"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (3.5, "3.5"),
        (10**30, "1" + "0" * 30),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (Forecast("Oslo", 3.5), '{"city":"Oslo","degrees":3.5}'),
        (Week((Forecast("Oslo", 1.0),), Sky.CLEAR, date(2025, 1, 31)),
         '{"days":[{"city":"Oslo","degrees":1.0}],"sky":"clear","since":"2025-01-31"}'),
        ("half a \ud83d", "half a \ufffd"),
    ],
)  # fmt: skip
async def test_what_a_tool_returns_becomes_text(returned: Any, text: str) -> None:
    """Text as it is, all else as JSON, classes included."""
    result = await run_tool(Tool.of(lambda: returned, name="any", timeout=None), "{}")
    assert result == ToolResult(text=text, success=True, error=None)


async def test_arguments_are_structured_before_the_call() -> None:
    """The function gets what its hints say; what may be absent has its default."""

    def distance(here: Forecast, there: Forecast | None = None) -> str:
        return f"{here!r} {there!r}"

    result = await run_tool(Tool.of(distance), '{"here": {"city": "Oslo", "degrees": 3}}')
    assert result.text == "Forecast(city='Oslo', degrees=3.0) None"
    assert (await run_tool(weather, '{"city": "Oslo", "days": 2}')).text == (
        '[{"city":"Oslo","degrees":3.5},{"city":"Oslo","degrees":3.5}]'
    )


async def test_arguments_that_do_not_fit_are_an_error_result_and_no_call() -> None:
    """It says what was expected, so that the model can do better."""
    calls: list[str] = []
    made = Tool.of(lambda: calls.append("called"), name="nothing")
    result = await run_tool(made, '{"city": 5}')
    assert result.text == "the arguments of nothing do not fit: $.city: unknown, expected nothing"
    assert (result.success, result.error, calls) == (False, result.text, [])
    result = await run_tool(weather, '{"days": "5"}')
    assert result.text == (
        "the arguments of weather do not fit: $.city: missing, expected a string; "
        '$.days: expected an integer, got a string ("5")'
    )


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_raises_is_data(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The model gets the type and the message, the log gets the trace."""

    async def fail() -> None:
        raise KeyError("no such city")

    def fail_in_a_thread() -> None:
        raise KeyError("no such city")

    result = await run_tool(Tool.of(fail if is_async else fail_in_a_thread, name="fail"), "{}")
    assert result == ToolResult(
        text="fail failed: KeyError: 'no such city'", success=False, error="fail failed: KeyError: 'no such city'"
    )
    assert "Traceback" in caplog.text


class WordlessError(Exception):
    """Cannot even say what went wrong."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (SystemExit(3), "RuntimeError: the tool raised SystemExit(3)"),
        (asyncio.CancelledError(), "RuntimeError: the tool raised CancelledError()"),
        (WordlessError(), "WordlessError"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_whatever_a_tool_raises_ends_nobody_else(raised: BaseException, said: str, is_async: bool) -> None:
    """Not a program's exit, not another loop's cancellation, not an error that cannot be put into words."""

    async def fail() -> None:
        raise raised

    def fail_in_a_thread() -> None:
        raise raised

    result = await run_tool(Tool.of(fail if is_async else fail_in_a_thread, name="fail"), "{}")
    assert (result.success, result.text) == (False, f"fail failed: {said}")


async def test_errors_of_a_tools_own_tasks_are_told_one_by_one() -> None:
    """Whatever groups its nurseries have made of them."""

    async def fail(problem: str) -> None:
        raise ValueError(problem)

    async def fan_out() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail, "one")
            nursery.start_soon(fail, "two")

    result = await run_tool(Tool.of(fan_out), "{}")
    assert sorted(result.text.removeprefix("fan_out failed: ").split("; ")) == ["ValueError: one", "ValueError: two"]


@pytest.mark.parametrize("returned", [object(), {"x": float("nan")}, b"bytes"])
async def test_a_result_that_is_no_json_is_an_error_result(returned: object) -> None:
    """It is the tool's mistake, not the turn's end."""
    result = await run_tool(Tool.of(lambda: returned, name="odd"), "{}")
    assert not result.success
    assert result.text.startswith("odd failed: ")


async def test_a_result_that_is_too_long_is_cut_with_a_note() -> None:
    """By the limit of the caller; also what an error says."""
    result = await run_tool(Tool.of(lambda: "x" * 150_000, name="long"), "{}")
    assert result.text == "x" * 100_000 + "\n[50000 of 150000 characters were left out]"

    def fail() -> None:
        raise ValueError("y" * 100)

    result = await run_tool(Tool.of(fail), "{}", limit=20)
    assert result.text == "fail failed: ValueEr\n[105 of 125 characters were left out]"


async def test_a_tool_that_takes_too_long_is_an_error_result(autojump_clock: trio.testing.MockClock) -> None:
    """At its own timeout, to the moment."""
    result = await run_tool(Tool.of(trio.sleep_forever, name="sleep", timeout=2.5), "{}")
    assert trio.current_time() == 2.5
    assert result.error == "sleep did not end within 2.5 seconds"


async def test_a_tool_without_a_timeout_takes_its_time(autojump_clock: trio.testing.MockClock) -> None:
    """None is for tools that end by themselves."""

    async def sleep() -> None:
        await trio.sleep(10_000)

    await run_tool(Tool.of(sleep, timeout=None), "{}")
    assert trio.current_time() == 10_000


async def test_a_thread_that_takes_too_long_is_left_to_itself() -> None:
    """The result says so; what the thread does later is dropped."""
    go_on = threading.Event()
    result = await run_tool(Tool.of(_waiter(go_on), name="wait", timeout=0.05), "{}")
    assert result.error == ("wait did not end within 0.05 seconds; it was left running, and what it does is not known")
    go_on.set()


def _waiter(event: threading.Event) -> Any:
    def wait() -> str:
        event.wait(10)
        return "late"

    return wait


async def test_tools_that_hang_in_threads_starve_nobody_else() -> None:
    """They have threads of their own, and wait for each other there."""
    go_on = threading.Event()
    made = Tool.of(_waiter(go_on), name="wait", timeout=0.1)
    async with trio.open_nursery() as nursery:
        for _ in range(MAX_THREADS + 1):
            nursery.start_soon(run_tool, made, "{}")
        await wait_all_tasks_blocked()
        with trio.fail_after(5):
            assert await trio.to_thread.run_sync(lambda: "as ever") == "as ever"
    go_on.set()


async def test_a_plain_function_around_an_async_one_is_awaited() -> None:
    """A lambda or a decorator may hide that a function is async."""
    result = await run_tool(Tool.of(lambda: weather.function("Oslo"), name="hidden"), "{}")  # type: ignore[misc]  # it has one
    assert result.text == '[{"city":"Oslo","degrees":3.5}]'


async def test_cancelling_passes_through(autojump_clock: trio.testing.MockClock) -> None:
    """Somebody has pressed stop: there is no result, and nothing of the tool goes on."""
    ended: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("work")

    with trio.move_on_after(1) as stop:
        await run_tool(Tool.of(work), "{}")
        ended.append("result")
    assert (stop.cancelled_caught, ended) == (True, ["work"])


async def test_what_a_tool_raises_while_it_is_cancelled_goes_to_the_log(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """An error in its cleanup must not take the place of the stop."""

    async def untidy() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise RuntimeError("untidy")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_tool, Tool.of(untidy), "{}")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert "RuntimeError: untidy" in caplog.text


async def test_a_tool_of_the_clients_does_not_run_here() -> None:
    """Neither one known by its schema, nor one with a function that is for the signature only."""

    def ask(question: str) -> str:
        raise AssertionError(question)

    assert (await run_tool(Tool.client("ask"), "{}")).error == "ask runs at the client, not here"
    made = Tool.of(ask, runs_at="client")
    assert (await run_tool(made, '{"question": "?"}')).error == "ask runs at the client, not here"
    assert "do not fit" in (await run_tool(made, "{}")).text


async def test_ten_thousand_calls_leave_no_task_behind(caplog: pytest.LogCaptureFixture) -> None:
    """Good ones, wrong ones and raising ones."""
    caplog.set_level(logging.CRITICAL)

    async def fail() -> None:
        raise ValueError

    before = trio.lowlevel.current_statistics().tasks_living
    made = [(weather, '{"city": "Oslo"}'), (weather, "{}"), (Tool.of(fail), "{}")]
    results = [await run_tool(*made[number % 3]) for number in range(10_000)]
    assert sum(result.success for result in results) == 3334
    assert trio.lowlevel.current_statistics().tasks_living == before
