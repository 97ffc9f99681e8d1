"""What a power cut would leave of a server's append-only file: it was synced up to a second ago, the rest is gone.

SIGKILL alone leaves the kernel with everything the server had written, so on a fast disk little is lost that was
acknowledged. Cutting the file's end off, while the server is dead, loses what `appendfsync everysec` says may be lost.
"""

import os
import threading
import time
from pathlib import Path

from turnwire.runtime.bench.redis_server import RedisServer

EVERY = 0.02  # seconds between looks at the file


class AofWatch:
    """Knows how long the append-only file was at which time, since the server's last start."""

    def __init__(self, server: RedisServer) -> None:
        self._directory = server.directory / "appendonlydir"
        self._sizes: list[tuple[float, Path, int]] = []
        self._running = True
        self._thread = threading.Thread(target=self._watch, name="append-only file", daemon=True)
        self._thread.start()

    def forget(self) -> None:
        """Begin anew: the server has just been started."""
        self._sizes = []

    def cut(self, seconds: float) -> int:
        """Make the file of a dead server as long as it was so many seconds ago, and say how many bytes that cost."""
        now, sizes = time.monotonic(), self._sizes
        latest = self._newest()
        if latest is None:
            return 0
        before = [size for at, path, size in sizes if path == latest and at <= now - seconds]
        since = [size for at, path, size in sizes if path == latest and at > now - seconds]
        keep = before[-1] if before else (since[0] if since else None)
        size = latest.stat().st_size
        if keep is None or keep >= size:
            return 0
        os.truncate(latest, keep)
        return size - keep

    def close(self) -> None:
        """Stop watching."""
        self._running = False
        self._thread.join()

    def _watch(self) -> None:
        while self._running:
            path = self._newest()
            if path is not None:
                self._sizes.append((time.monotonic(), path, path.stat().st_size))
            time.sleep(EVERY)

    def _newest(self) -> Path | None:
        files = sorted(self._directory.glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)
        return files[-1] if files else None
