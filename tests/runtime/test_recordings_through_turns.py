"""Real provider streams, adapted and run through the turn actor: every item ends closed, and says what was recorded."""

import subprocess
import sys
from collections import defaultdict

import pytest
import trio
from trio.testing import MockClock

from tests.kit.recordings import RECORDINGS, Recording, adapt, each_recording
from turnwire.messages import (
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    decode_message,
    decode_output,
    fold_events,
)
from turnwire.runtime import MemoryLog, open_runtime


@each_recording
def test_every_item_of_a_recorded_turn_ends_closed(recording: Recording) -> None:
    """Messages and thinking end complete or in error, calls are at least whole; one terminal, at the end."""
    events = adapt(recording.provider, recording.events)
    log = MemoryLog()

    async def main() -> tuple[Output, ...]:
        async with open_runtime(sink=log) as runtime, runtime.open_turn(turn_id="t", thread_id="th") as turn:
            for event in events:
                await turn.send(event)
            assert turn.buffers() == {}
            assert turn.counts == {}
        return await log.outputs("t")

    outputs = trio.run(main, clock=MockClock(autojump_threshold=0))
    last = {output.item_id: output for output in outputs if isinstance(output, Message | Thinking | ToolCall)}
    for output in last.values():
        assert output.status in ("complete", "error") or isinstance(output, ToolCall)
    assert [isinstance(output, TurnComplete | TurnError) for output in outputs].index(True) == len(outputs) - 1
    texts = {item_id: output.content for item_id, output in last.items() if not isinstance(output, ToolCall)}
    response = fold_events(events)
    assert texts == {
        item.item_id: item.text
        for item in response.items
        if item.item_type in ("message", "reasoning") and item.state in ("done", "error")
    }


def test_adapt_and_process_work_as_a_pipe() -> None:
    """A raw recording in, outputs out, through two programs."""
    source = RECORDINGS / "anthropic-messages" / "tool-parallel-2.jsonl"
    if not source.exists():
        pytest.skip("the recordings are not beside this project")
    program = [sys.executable, "-m", "turnwire.runtime.cli.main"]
    adapt_command = [*program, "adapt", "anthropic-messages", "--run-id", "r1", "--thread-id", "th", str(source)]
    with subprocess.Popen(adapt_command, stdout=subprocess.PIPE) as adapted:  # noqa: S603  # ourselves
        processed = subprocess.run(  # noqa: S603  # ourselves
            [*program, "process"], stdin=adapted.stdout, capture_output=True, check=True, timeout=60
        )
    messages = [decode_message(line) for line in processed.stdout.splitlines()]
    kinds: dict[str, int] = defaultdict(int)
    for message in messages:
        kinds[type(decode_output(message.payload)).__name__] += 1
    assert (kinds["TurnStarted"], kinds["ToolCall"], kinds["TurnComplete"]) == (1, 2, 1)
    assert processed.stderr == b""
