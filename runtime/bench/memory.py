"""How much memory an open turn keeps: one item, ten deltas sent. Run as a program of its own, for a fresh heap."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import trio
import trio.testing

from turnwire.actors.turn import Turn
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.bench.workload import encoded, turn_events
from turnwire.runtime.host import open_runtime

TURNS = 4_000
DELTAS = 10


def measure_memory(turns: int = TURNS) -> float | None:
    """Give bytes per open turn, measured in a fresh process; None where the system does not tell."""
    command = [sys.executable, "-m", "turnwire.runtime.bench.memory", str(turns)]
    found = subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # ourselves, with a number
    return json.loads(found.stdout)  # type: ignore[no-any-return]  # a number or null, as main() below wrote it


async def _open_turns(turns: int) -> float | None:
    """Open some turns, then as many again, and give what each of the second lot added.

    The first lot pays for what is there once: code, caches, and the heap's own slack.
    """
    events = encoded([tuple(turn_events(turn, DELTAS))[: DELTAS + 2] for turn in range(2 * turns)])
    sizes: list[int | None] = []
    async with open_runtime(sink=_ignore) as runtime:
        opened: list[Turn] = []
        for lot in (events[:turns], events[turns:]):
            new = [runtime.open_turn(turn_id=f"run_{len(opened) + n:016x}", thread_id="th") for n in range(turns)]
            opened += new
            for number in range(DELTAS + 2):
                for turn, mine in zip(new, lot, strict=True):
                    await turn.send(mine[number])
            await trio.testing.wait_all_tasks_blocked()
            gc.collect()
            sizes.append(resident())
        for turn in opened:
            turn.cancel()
    before, after = sizes
    return None if before is None or after is None else (after - before) / turns


async def _ignore(message: StreamMessage) -> None:
    pass


def resident() -> int | None:
    """Bytes of memory in use by this process; None on systems without /proc."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else None


if __name__ == "__main__":
    print(json.dumps(trio.run(_open_turns, int(sys.argv[1]))))
