"""How much memory an open turn keeps: one item, ten deltas sent. Run as a program of its own, for a fresh heap."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import trio
import trio.testing

from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.bench.workload import encoded, turn_events
from turnwire.runtime.host import open_runtime

TURNS = 5_000
DELTAS = 10


def measure_memory(turns: int = TURNS) -> float | None:
    """Give bytes per open turn, measured in a fresh process; None where the system does not tell."""
    command = [sys.executable, "-m", "turnwire.runtime.bench.memory", str(turns)]
    found = subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # ourselves, with a number
    return json.loads(found.stdout)  # type: ignore[no-any-return]  # a number or null, as main() below wrote it


async def _open_turns(turns: int) -> float | None:
    events = encoded([tuple(turn_events(turn, DELTAS))[: DELTAS + 2] for turn in range(turns)])
    async with open_runtime(sink=_ignore) as runtime:
        gc.collect()
        before = _resident()
        opened = [runtime.open_turn(turn_id=f"run_{turn:016x}", thread_id="th") for turn in range(turns)]
        for number in range(DELTAS + 2):
            for turn, mine in zip(opened, events, strict=True):
                await turn.send(mine[number])
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        after = _resident()
        for turn in opened:
            turn.cancel()
    return None if before is None or after is None else (after - before) / turns


async def _ignore(message: StreamMessage) -> None:
    pass


def _resident() -> int | None:
    """Bytes of memory in use by this process; None on systems without /proc."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else None


if __name__ == "__main__":
    print(json.dumps(trio.run(_open_turns, int(sys.argv[1]))))
