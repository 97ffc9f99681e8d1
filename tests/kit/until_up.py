"""Runs a command that would run for ever, tells it to end as soon as it listens for that, and ends as it did.

A program of its own, put before such commands where pages are run: a shell that waits for one child while it starts
others to look at it loses count now and then.
"""

import subprocess
import sys
import time
from pathlib import Path

SIGTERM_BIT = 1 << 14
LOOK_EVERY = 0.05  # seconds
UP_BY_NOW = 2.0  # seconds, where nothing tells whether a program listens for signals


def listens(pid: int) -> bool:
    """Has a program said what it does when it is told to end?"""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) & SIGTERM_BIT)
    return False


def main(command: list[str]) -> int:
    """Run it, and give its exit code, as a shell would."""
    process = subprocess.Popen(command)  # noqa: S603  # what our own pages say
    if Path("/proc/self/status").exists():
        while process.poll() is None and not listens(process.pid):
            time.sleep(LOOK_EVERY)
    else:
        time.sleep(UP_BY_NOW)
    process.terminate()
    ended = process.wait()
    return ended if ended >= 0 else 128 - ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
