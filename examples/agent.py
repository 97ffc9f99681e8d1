"""An agent with two tools, of which one must be allowed: the loop, a pause, an answer, and the run that goes on.

Try:    python examples/agent.py
        python examples/agent.py --provider anthropic --model claude-sonnet-4-5  (with ANTHROPIC_API_KEY)
Watch:  the first turn lists files and ends: deleting must be allowed. The second does what was allowed, and goes on.
"""

import argparse
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from turnwire.actors import Model, tool
from turnwire.messages import ApprovalAnswer, Message, StreamMessage, ToolCall, decode_output
from turnwire.runtime import open_engine, open_runtime
from turnwire.runtime.models import Call, ScriptedModel
from turnwire.runtime.providers import anthropic_messages, openai_responses

FILES = {"notes.txt": "2019-04-01", "plan.md": "2024-11-30"}


async def list_files() -> dict[str, str]:
    """List the files, each with the day on which it was written."""
    return FILES


@tool(needs_approval=True)
async def delete_file(name: str) -> str:
    """Delete a file for good."""
    return f"{name} of {FILES.pop(name)} is gone"


@asynccontextmanager
async def open_model(provider: str, model_id: str) -> AsyncGenerator[Model, None]:
    if provider == "script":
        yield ScriptedModel([("Let me look.", Call("list_files")), Call("delete_file", {"name": "notes.txt"}), "Done."])
        return
    from turnwire.runtime.models.provider import ProviderModel  # noqa: PLC0415  # needs httpx, and the script does not
    from turnwire.runtime.providers.http import open_client  # noqa: PLC0415  # as above

    try:
        endpoint = anthropic_messages() if provider == "anthropic" else openai_responses()
    except ValueError as wrong:  # no key
        sys.exit(str(wrong))
    async with open_client() as client:
        yield ProviderModel(endpoint, model_id=model_id, client=client)


async def show(message: StreamMessage) -> None:
    output = decode_output(message.payload)
    if isinstance(output, Message) and output.status == "complete":
        print(f"{output.origin}: {output.content}")
    elif isinstance(output, ToolCall) and output.status == "complete":
        print(f"  {output.tool_name}: {output.tool_output}")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--provider", choices=("script", "anthropic", "openai"), default="script")
    parser.add_argument("--model", default="")
    given = parser.parse_args()
    async with (
        open_model(given.provider, given.model) as model,
        open_runtime(sink=show) as runtime,
        open_engine(runtime, model=model, tools=[list_files, delete_file]) as engine,
    ):
        outcome = await engine.run_turn("Delete the oldest file.", thread_id="th")
        while outcome.status == "paused":
            print("-- the turn is over, and somebody must decide: yes")
            for asked in outcome.pending:
                await engine.answer("th", ApprovalAnswer(approval_id=str(asked.approval_id), approved=True))
            outcome = await engine.run_turn(thread_id="th")
    print(f"-- {outcome.status}; left: {', '.join(FILES)}")


if __name__ == "__main__":
    trio.run(main)
