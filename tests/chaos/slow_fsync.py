"""A disk that takes its time, for one server: its fsync thread is held for up to two seconds, again and again.

While an fsync is under way, Redis under `appendfsync everysec` acknowledges writes that it has not even handed to the
kernel; a SIGKILL then loses them. On a fast disk that hardly ever happens, however busy it is kept. Holding the one
thread that syncs (ptrace, Linux only) is what a slow disk does to it; the rest of the server goes on.
"""

import ctypes
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from turnwire.runtime.bench.redis_server import RedisServer

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17  # requests of ptrace(2)
_ANY_THREAD = 0x40000000  # __WALL: wait for threads too
_THREAD_NAME = "bio_aof"  # how the thread is called begins like this, in Redis and in Valkey
HOLD = (0.5, 2.0)  # seconds; after two Redis no longer waits for the disk but writes on
BETWEEN = (0.05, 0.3)  # seconds
POLL = 0.005  # seconds


class SlowFsync:
    """Slows a server's fsync down until closed, over all its restarts. `holds` says how often it did."""

    def __init__(self, server: RedisServer, chance: random.Random) -> None:
        self.holds = 0
        self._server = server
        self._chance = chance
        self._running = True
        self._thread = threading.Thread(target=self._run, name="slow fsync", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go."""
        self._running = False
        self._thread.join()

    def _run(self) -> None:
        # One thread does all of it: whoever seizes a thread is the one who must wait for it and let it go.
        while self._running:
            thread_id = _find_thread(self._server.pid)
            if thread_id is not None and sys.platform == "linux":
                self.holds += _hold(thread_id, self._chance.uniform(*HOLD), lambda: self._running)
            time.sleep(self._chance.uniform(*BETWEEN))


def _find_thread(pid: int) -> int | None:
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text().startswith(_THREAD_NAME):
                return int(task.name)
    except OSError:
        pass  # it has just died, or this system has no /proc
    return None


def _hold(thread_id: int, seconds: float, is_wanted: Callable[[], bool]) -> bool:
    """Hold a thread, and say whether that worked. One that is killed meanwhile is buried, so that its process can go."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    if ptrace(_SEIZE, thread_id, None, None) != 0:
        return False
    ptrace(_INTERRUPT, thread_id, None, None)
    until = time.monotonic() + seconds
    while time.monotonic() < until and is_wanted():
        try:
            found, status = os.waitpid(thread_id, _ANY_THREAD | os.WNOHANG)
        except ChildProcessError:
            return True
        if found and not os.WIFSTOPPED(status):
            return True
        time.sleep(POLL)
    ptrace(_DETACH, thread_id, None, None)
    return True
