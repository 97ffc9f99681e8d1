"""Connections and threads: three of each, whatever the load; passwords, TLS and sockets; servers that do not answer."""

import threading

import pytest
import trio
import trio.testing

from tests.kit.logs import Gathered, envelope, redis_log_options, start
from tests.kit.servers import NAMES, RedisServer, find_server, open_tls_server, plain_client
from turnwire.actors.groups import leaves
from turnwire.messages.entries import Entry
from turnwire.messages.errors import ClosedError, LogUnavailableError
from turnwire.runtime.logs.redis import RedisLogOptions, open_redis_log
from turnwire.runtime.logs.redis.tail import Tail


def clients_of(url: str) -> int:
    """How many connections of ours the server has."""
    with plain_client(url) as client:
        return sum(entry["name"].startswith("turnwire-") for entry in client.client_list())


async def test_a_thousand_turns_and_readers_need_no_more_connections_or_threads_than_one(
    redis_url: str, key_prefix: str
) -> None:
    """Counted at the server and in the process, with 1 and with 1,000 of each."""
    counted: list[tuple[int, int]] = []
    before = threading.active_count()
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        for number_of_turns in (1, 1000):
            got = [Gathered[Entry]() for _ in range(number_of_turns)]
            async with trio.open_nursery() as nursery:
                for number in range(number_of_turns):
                    turn = f"{number_of_turns}-{number}"
                    nursery.start_soon(got[number].read, log.follow(turn))
                    nursery.start_soon(log.append, envelope(start(turn), 1))
                for gathered in got:
                    await gathered.wait(1)
                await log.read("1-0")
                assert log.readers == number_of_turns
                counted.append((clients_of(redis_url), threading.active_count() - before))
                assert log.connections == 3
                nursery.cancel_scope.cancel()
    assert counted[0][0] == counted[1][0] == 3
    assert max(threads for _, threads in counted) <= 3


async def test_a_reader_that_comes_while_the_shared_one_is_blocked_is_served_at_once(
    redis_url: str, key_prefix: str
) -> None:
    """The blocked read is woken to ask anew: long before it would have ended by itself."""
    one, two = Gathered[Entry](), Gathered[Entry]()
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix, socket_timeout=60)) as log:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.read, log.follow("one"))
            await log.append(envelope(start("one"), 1))
            await one.wait(1)
            await trio.testing.wait_all_tasks_blocked(0.05)
            await log.append(envelope(start("two"), 1))
            calls = log._tail._call
            nursery.start_soon(two.read, log.follow("two"))
            with trio.fail_after(1):  # the blocked read alone would take two seconds
                await two.wait(1)
            assert log._tail._call > calls
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("name", NAMES)
async def test_a_password_in_the_url_is_used(name: str, key_prefix: str) -> None:
    """The right one works; a wrong one is said to be wrong, and is not in the message."""
    with RedisServer(find_server(name), password="pass:w/ord") as server:  # noqa: S106  # of a server that lasts a second
        async with open_redis_log(server.url) as log:
            await log.append(envelope(start(), 1))
            assert len(await log.read("t")) == 1
        async with open_redis_log(server.url.replace("w%2Ford", "secret")) as log:
            with pytest.raises(LogUnavailableError, match="password") as caught:
                await log.append(envelope(start(), 2))
            assert "secret" not in str(caught.value)
        async with open_redis_log(server.unix_url) as log:
            assert len(await log.read("t")) == 1


async def test_tls_is_spoken_when_the_url_says_so() -> None:
    """rediss:// with a certificate that is checked against the authority it names."""
    with open_tls_server() as tls:
        async with open_redis_log(f"{tls.url}?ssl_ca_certs={tls.ca_file}") as log:
            await log.append(envelope(start(), 1))
            assert len(await log.read("t")) == 1
        async with open_redis_log(tls.url) as log:
            with pytest.raises(LogUnavailableError, match=r"(?i)certificate"):
                await log.read("t")


async def test_a_frozen_server_is_noticed_within_the_socket_timeout(own_server: RedisServer) -> None:
    """Append, read and follow give up on it; when it wakes up, all go on, and nothing is there twice."""
    got = Gathered[Entry]()
    options = redis_log_options("t", socket_timeout=0.4)
    async with open_redis_log(own_server.url, options=options) as log, trio.open_nursery() as nursery:
        nursery.start_soon(got.read, log.follow("t"))
        await log.append(envelope(start(), 1))
        await got.wait(1)
        own_server.freeze()
        with trio.fail_after(5):
            with pytest.raises(LogUnavailableError, match=r"(?i)time"):
                await log.append(envelope(start("u"), 1))
            with pytest.raises(LogUnavailableError):
                await log.ping()
        own_server.thaw()
        with trio.fail_after(5):
            await log.append(envelope(start("u"), 1))
            assert len(await log.read("u")) == 1
            await log.append(envelope(start(), 2))
            await got.wait(2)
        nursery.cancel_scope.cancel()


async def test_a_server_that_is_not_there_fails_the_append_and_nothing_else(key_prefix: str) -> None:
    """The log can be opened before its server is up; whoever appends is told, and tries again later."""
    with RedisServer(find_server(next(iter(NAMES)))) as server:
        url = server.url
    async with open_redis_log(url) as log:
        with pytest.raises(LogUnavailableError, match="cannot be reached"):
            await log.append(envelope(start(), 1))
        with pytest.raises(LogUnavailableError):
            await log.claim("t")
        assert log.connections == 0
        assert log.counts.failed == 2


async def test_a_closed_log_refuses_and_says_so(redis_url: str) -> None:
    """Nothing hangs in a log that nobody runs any more."""
    async with open_redis_log(redis_url) as log:
        pass
    with pytest.raises(ClosedError, match="closed"):
        await log.append(envelope(start(), 1))


async def test_closing_does_not_wait_for_a_frozen_server(own_server: RedisServer) -> None:
    """Threads that wait for an answer, to a blocked read or to an append, are made to give up."""
    got = Gathered[Entry]()
    with trio.fail_after(10):  # the socket would wait for thirty
        async with open_redis_log(own_server.url, options=redis_log_options("t", socket_timeout=30)) as log:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(got.read, log.follow("t"))
                await log.append(envelope(start(), 1))
                await got.wait(1)
                own_server.freeze()
                nursery.cancel_scope.cancel()
    assert got.entries


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://localhost/x?socket_timeout=soon"])
async def test_a_url_that_is_none_is_refused_when_the_log_is_opened(url: str) -> None:
    """Not at the first append, when nobody looks any more."""
    with pytest.raises(ValueError):  # noqa: PT011  # redis-py words it
        async with open_redis_log(url):
            pass


@pytest.mark.parametrize(
    "wrong",
    [{"keep_seconds": 0}, {"socket_timeout": -1}, {"expire_after": 10}, {"keep_bytes": "64"}, {"restart_limit": -1}],
)
def test_options_that_cannot_be_right_are_refused_by_name(wrong: dict[str, float]) -> None:
    """Each is named in the message."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RedisLogOptions(**wrong)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("restarts", [0, 2])
async def test_a_part_of_the_log_that_fails_too_often_ends_it(
    redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch, restarts: int
) -> None:
    """It is started again as often as the options say; then its failure goes up."""
    started: list[float] = []

    async def fail(_self: Tail) -> None:
        started.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        raise RuntimeError("a bug")

    monkeypatch.setattr(Tail, "run_waker", fail)
    options = redis_log_options(key_prefix, restart_limit=restarts)
    with pytest.raises(ExceptionGroup) as caught, trio.fail_after(10):
        async with open_redis_log(redis_url, options=options):
            await trio.sleep_forever()
    assert {str(leaf) for leaf in leaves(caught.value)} == {"a bug"}
    assert len(started) == 1 + restarts
