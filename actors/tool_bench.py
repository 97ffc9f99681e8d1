"""Where the tools of a run are run: beside each other, as many at a time as there is room for."""

from collections.abc import Callable, Sequence

import trio

from turnwire.actors.core.call_verdicts import server_tool
from turnwire.actors.core.run_calls import RunCalls, ToolRun
from turnwire.actors.core.toolset import ToolSet
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.tool_call import run_tool


class ToolBench:
    """Runs the tools of one run, and hands each result over when it comes."""

    def __init__(
        self, tools: ToolSet, calls: RunCalls, options: EngineOptions, on_result: Callable[[], object]
    ) -> None:
        """`on_result` is called when `calls` has been given another result."""
        self._tools = tools
        self._calls = calls
        self._limit = options.result_limit
        self._on_result = on_result
        self._slots = trio.CapacityLimiter(options.parallel_tools)

    async def run(self, runs: Sequence[ToolRun]) -> None:
        """Run tools until all have ended; begun in the order of the calls."""
        async with trio.open_nursery() as tools:
            for run in runs:
                await self._slots.acquire_on_behalf_of(run)
                tools.start_soon(self._run_one, run, name=f"tool {run.name} {run.call_id}")

    async def _run_one(self, run: ToolRun) -> None:
        try:
            await trio.lowlevel.checkpoint_if_cancelled()  # a function would run up to its first wait after a stop
            tool = server_tool(self._tools, run.name)
            if tool is None:
                raise AssertionError(f"{run.name} was planned and is no tool of ours")
            self._calls.mark_begun(run.call_id)
            result = await run_tool(tool, run.arguments, limit=self._limit)
        finally:
            self._slots.release_on_behalf_of(run)
        self._calls.answer(run.call_id, result.text, success=result.success)
        self._on_result()
