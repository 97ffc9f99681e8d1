"""What the path to Redis is measured against: redis-benchmark and plain redis-py, both writing entries like ours."""

import re
import shutil
import subprocess
import time
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import redis

REQUESTS = 100_000
PATIENCE = 120.0  # seconds
_FIELDS = {"eventId": "run_0000000000000000:1-100", "timestamp": "1700000000000", "turnId": "run_0000000000000000"}
_RATE = re.compile(r"([\d.]+) requests per second")


def run_redis_benchmark(
    url: str, prefix: str, *, payload_bytes: int, pipeline: int, keys: int, requests: int = REQUESTS
) -> float | None:
    """Give how many XADD a second it makes of entries of this size; None where it is not installed, or cannot do it.

    The keys are as many as we have turns, so that the server's work is the same.
    """
    program = shutil.which("redis-benchmark")
    if program is None:
        return None
    entry = [text for field in (*_FIELDS.items(), ("payload", "x" * payload_bytes)) for text in field]
    how = ("-c", "1", "-P", str(max(1, pipeline)), "-n", str(requests), "-r", str(keys), "-q")
    command = [program, *_where(url), *how, "XADD", f"{prefix}:__rand_int__", "*", *entry]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603  # found on PATH, told where by our user
    rates = _RATE.findall(said.stdout)
    return float(rates[-1]) if rates else None


def run_redis_py(
    url: str, prefix: str, *, payload_bytes: int, pipeline: int, keys: int, requests: int = REQUESTS
) -> float:
    """Give how many XADD a second redis-py's own pipelines make of entries of this size, with nothing else to do."""
    client: Any = cast("Any", redis.Redis).from_url(url)  # redis-py's types leave its own answers open
    entry, pipeline = {**_FIELDS, "payload": "x" * payload_bytes}, max(1, pipeline)
    began, sent = time.perf_counter(), 0
    while sent < requests:
        commands = client.pipeline(transaction=False)
        for number in range(sent, sent + pipeline):
            commands.xadd(f"{prefix}:{number % keys}", entry)
        commands.execute()
        sent += pipeline
    seconds = time.perf_counter() - began
    client.close()
    return sent / seconds


def _where(url: str) -> tuple[str, ...]:
    """Say a URL in the options of redis-benchmark."""
    parts = urlsplit(url)
    login = ("-a", unquote(parts.password)) if parts.password else ()
    user = ("--user", unquote(parts.username)) if parts.username else ()
    if parts.scheme == "unix":
        return "-s", parts.path, *login, *user
    number = parts.path.strip("/")
    database = ("--dbnum", number) if number else ()
    tls = ("--tls",) if parts.scheme == "rediss" else ()
    return "-h", parts.hostname or "localhost", "-p", str(parts.port or 6379), *login, *user, *database, *tls
