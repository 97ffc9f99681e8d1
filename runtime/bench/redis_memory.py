"""How much memory a turn keeps whose sink is a log in Redis: 10,000 open at once. Run as a program of its own."""

import gc
import json
import subprocess
import sys

import attrs
import trio

from turnwire.actors.turn import Turn
from turnwire.runtime.bench.memory import DELTAS, resident
from turnwire.runtime.bench.workload import encoded, turn_events
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log

TURNS = 10_000


@attrs.frozen(kw_only=True)
class RedisMemory:
    """Bytes per open turn, over the second half of them; None where the system does not tell."""

    turns: int
    per_turn: float | None
    emissions: int
    """How many emissions were written: what is kept of them, in case the server loses them, is in the number."""


def measure_redis_memory(url: str, prefix: str, *, turns: int = TURNS) -> RedisMemory:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "turnwire.runtime.bench.redis_memory", url, prefix, str(turns)]
    found = subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # ourselves
    return RedisMemory(**json.loads(found.stdout))


async def _open_turns(url: str, prefix: str, turns: int) -> RedisMemory:
    """Open half of the turns, then the other half, and give what each of those added."""
    half = turns // 2
    events = encoded([tuple(turn_events(turn, DELTAS))[: DELTAS + 2] for turn in range(2 * half)])
    sizes: list[int | None] = []
    async with open_redis_log(url, options=RedisLogOptions(prefix=prefix)) as log:
        async with open_runtime(sink=log, max_turns=2 * half) as runtime:
            opened: list[Turn] = []
            for lot in (events[:half], events[half:]):
                new = [runtime.open_turn(turn_id=f"run_{len(opened) + n:016x}", thread_id="th") for n in range(half)]
                opened += new
                for number in range(DELTAS + 2):
                    for turn, mine in zip(new, lot, strict=True):
                        await turn.send(mine[number])
                while log.lag:  # noqa: ASYNC110  # nobody tells when all is written
                    await trio.sleep(0.05)
                gc.collect()
                sizes.append(resident())
            for turn in opened:
                turn.cancel()
        before, after = sizes
        per_turn = None if before is None or after is None else (after - before) / half
        return RedisMemory(turns=2 * half, per_turn=per_turn, emissions=log.counts.appended)


if __name__ == "__main__":
    print(json.dumps(attrs.asdict(trio.run(_open_turns, sys.argv[1], sys.argv[2], int(sys.argv[3])))))
