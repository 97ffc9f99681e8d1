"""The directory of turns: one suite for the one in memory and the one in Redis."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import inf
from typing import Any, TypeAlias

import pytest
import trio

from tests.kit.logs import redis_log_options
from tests.kit.servers import NAMES, RedisServer, find_server, plain_client
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.runs import RunInput
from turnwire.runtime.backend import TurnDirectory
from turnwire.runtime.backend.directory import TakenError
from turnwire.runtime.backend.memory_directory import MemoryDirectory
from turnwire.runtime.backend.redis_directory import RedisDirectory, open_redis_directory
from turnwire.runtime.logs.redis.lane import Lane
from turnwire.runtime.queue.announced import Announced, AnnouncedTurns
from turnwire.runtime.queue.announcement import Announcement
from turnwire.runtime.queue.memory import MemoryQueue
from turnwire.runtime.threads import open_redis_threads

OpenDirectory: TypeAlias = Callable[[], AbstractAsyncContextManager[TurnDirectory]]


@pytest.fixture
def open_directory(log_server: RedisServer | None, key_prefix: str) -> OpenDirectory:
    """Open one of the directories; opened twice, both see the same."""
    if log_server is None:
        memory = MemoryDirectory(MemoryQueue(), expire_after=inf)

        @asynccontextmanager
        async def open_memory() -> AsyncGenerator[TurnDirectory, None]:
            yield memory

        return open_memory
    url = log_server.url
    return lambda: open_redis_directory(url, redis_log_options(key_prefix))


def turn(number: int, thread: str = "th") -> Announcement:
    return Announcement(run_id=f"r{number}", turn_id=f"t{number}", thread_id=thread)


async def test_a_turn_is_found_from_all_sides(open_directory: OpenDirectory) -> None:
    """By its run, by itself, by its thread, and among the recent ones; announced twice, it is there once."""
    async with open_directory() as directory, open_directory() as other:
        for _ in range(2):
            await directory.announce(turn(1))
            await other.announce(turn(1))
        for it in (directory, other):
            assert await it.turn_of("r1") == "t1"
            assert await it.run_of("t1") == "r1"
            assert await it.thread_of("t1") == "th"
            assert await it.threads_of(["no", "t1"]) == (None, "th")
            assert await it.threads_of([]) == ()
            assert [listed.turn_id for listed in await it.turns_of("th")] == ["t1"]
            assert [listed.turn_id for listed in (await it.recent()).turns] == ["t1"]


async def test_what_nobody_announced_is_not_there(open_directory: OpenDirectory) -> None:
    """None, or an empty list."""
    async with open_directory() as directory:
        assert await directory.turn_of("no") is None
        assert await directory.run_of("no") is None
        assert await directory.thread_of("no") is None
        assert await directory.turns_of("no") == ()
        page = await directory.recent()
        assert (page.turns, page.before) == ((), None)


@pytest.mark.parametrize(
    ("run", "name", "thread", "problem"),
    [
        ("r2", "t1", "th", "turn 't1' belongs to run 'r1'"),
        ("r1", "t1", "other", "turn 't1' belongs to thread 'th'"),
        ("r1", "t2", "th", "run 'r1' belongs to turn 't1'"),
    ],
)
async def test_an_id_that_is_taken_is_refused(
    open_directory: OpenDirectory, run: str, name: str, thread: str, problem: str
) -> None:
    """It is said whose it is, and what is there stays as it is."""
    async with open_directory() as directory, open_directory() as other:
        await directory.announce(turn(1))
        for it in (directory, other):
            with pytest.raises(TakenError, match=problem):
                await it.announce(Announcement(run_id=run, turn_id=name, thread_id=thread))
        assert (await other.turn_of("r1"), await other.run_of("t1"), await other.thread_of("t1")) == ("t1", "r1", "th")
        assert (await other.turn_of("r2"), await other.run_of("t2")) == (None, None)
        assert [listed.turn_id for listed in (await other.recent()).turns] == ["t1"]
        await directory.announce(turn(2))


@pytest.fixture
def announce_between(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have one directory announce in the very moment between another's look and its announcement."""

    def arrange(late: RedisDirectory, first: RedisDirectory, turn: Announcement, run: RunInput | None = None) -> None:
        announce = late._announced.announce

        def announce_late(*args: Any) -> bool:
            monkeypatch.undo()
            first._connect()
            first._announce(turn, run)
            return announce(*args)

        monkeypatch.setattr(late._announced, "announce", announce_late)

    return arrange


def input_of(turn: Announcement) -> RunInput:
    return RunInput(run_id=turn.run_id, turn_id=turn.turn_id, thread_id=turn.thread_id, model=f"of {turn.thread_id}")


@pytest.mark.parametrize("run", ["r", "r2"])
async def test_of_two_processes_that_announce_one_turn_at_once_one_has_it(
    redis_url: str, key_prefix: str, run: str, announce_between: Callable[..., None]
) -> None:
    """Two threads or two runs: the late one is told whose it is, the queue has it once, with its own input."""
    options = redis_log_options(key_prefix)
    first = Announcement(run_id="r", turn_id="t", thread_id="one", kind="engine")
    late = Announcement(run_id=run, turn_id="t", thread_id="two", kind="engine")
    async with (
        open_redis_directory(redis_url, options) as one,
        open_redis_directory(redis_url, options) as two,
        open_redis_threads(redis_url, prefix=key_prefix) as threads,
    ):
        announce_between(two, one, first, input_of(first))
        with pytest.raises(TakenError, match="turn 't' belongs to thread 'one'"):
            await two.announce(late, input_of(late))
        assert (await one.run_of("t"), await one.thread_of("t"), two.kept) == ("r", "one", 0)
        assert await threads.get_input("r") == input_of(first)
        assert plain_client(redis_url).xlen(f"{key_prefix}:turns") == 1
        await two.announce(turn(7))  # nothing is watched any more


async def test_two_processes_that_announce_the_same_at_once_announce_it_once(
    redis_url: str, key_prefix: str, announce_between: Callable[..., None]
) -> None:
    """The one that comes late finds it there."""
    options = redis_log_options(key_prefix)
    async with open_redis_directory(redis_url, options) as one, open_redis_directory(redis_url, options) as two:
        announce_between(two, one, turn(1))
        await two.announce(turn(1))
        assert plain_client(redis_url).xlen(f"{key_prefix}:turns") == 1
        assert (one.kept, two.kept) == (1, 0)


async def test_recent_turns_come_in_pages_newest_first(open_directory: OpenDirectory) -> None:
    """Each once, whatever the size of the page; also those of one and the same millisecond."""
    async with open_directory() as directory:
        for number in range(23):
            await directory.announce(turn(number, thread=f"th{number % 3}"))
        whole = [listed.turn_id for listed in (await directory.recent(limit=100)).turns]
        assert sorted(whole) == sorted(f"t{number}" for number in range(23))
        for limit in (1, 4, 22, 23, 24):
            found: list[str] = []
            before: str | None = None
            while True:
                page = await directory.recent(before=before, limit=limit)
                assert len(page.turns) <= limit
                found += [listed.turn_id for listed in page.turns]
                before = page.before
                if before is None:
                    break
            assert found == whole
        times = [listed.announced_ms for listed in (await directory.recent(limit=100)).turns]
        assert times == sorted(times, reverse=True)
        assert len(await directory.turns_of("th1")) == 8


@pytest.mark.parametrize("cursor", ["", "x", "1", ":t", "1:", "x:t", "-1:t", "٣:t", f"{'9' * 16}:t"])
async def test_what_is_no_cursor_is_refused(open_directory: OpenDirectory, cursor: str) -> None:
    """ValueError, before anything is asked."""
    async with open_directory() as directory:
        with pytest.raises(ValueError, match="a cursor is"):
            await directory.recent(before=cursor)


async def test_an_announcement_reaches_the_queue_once(redis_url: str, key_prefix: str) -> None:
    """Also when two processes announce the same turn."""
    options = redis_log_options(key_prefix)
    async with open_redis_directory(redis_url, options) as one, open_redis_directory(redis_url, options) as two:
        for directory in (one, two, one, two):
            await directory.announce(turn(1))
        assert plain_client(redis_url).xlen(f"{key_prefix}:turns") == 1


async def test_old_turns_leave_the_list(redis_url: str, key_prefix: str) -> None:
    """What was announced before the logs of today began to expire is gone, and the list itself expires."""
    client = plain_client(redis_url, decode_responses=True)
    client.zadd(f"{key_prefix}:recent", {"old": 1})
    async with open_redis_directory(redis_url, redis_log_options(key_prefix)) as directory:
        await directory.announce(turn(1))
        assert client.zrange(f"{key_prefix}:recent", 0, -1) == ["t1"]
        assert 90_000 < client.pttl(f"{key_prefix}:recent") <= 100_000


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_server_forgot_is_announced_again(name: str) -> None:
    """By itself, after the reconnect; a turn that has its terminal is not."""
    with RedisServer(find_server(name)) as server:
        options = redis_log_options("p", keep_seconds=30.0)
        async with open_redis_directory(server.url, options) as directory:
            await directory.announce(turn(1))
            await directory.announce(turn(2))
            server.kill()
            server.start()
            client = plain_client(server.url, decode_responses=True)
            payload = '{"type":"turn_complete","turnId":"t2","threadId":"th","status":"complete"}'
            fields = {"eventId": "t2:1-1", "timestamp": "0", "turnId": "t2", "payload": payload}
            client.xadd("p:turn:t2:processed", fields, id="1-1")
            with trio.fail_after(10):
                while not client.xlen("p:turns"):  # noqa: ASYNC110  # another process's doing
                    await trio.sleep(0.05)
            assert [fields["turn_id"] for _, fields in client.xrange("p:turns")] == ["t1"]
            assert await directory.turn_of("r1") == "t1"
            assert [listed.turn_id for listed in await directory.turns_of("th")] == ["t1"]


@pytest.mark.parametrize("name", NAMES)
async def test_an_id_that_a_forgetful_server_gave_to_another_is_that_ones(name: str) -> None:
    """Both were told yes; the second one is being worked on, and the first is given up instead of taking it back."""
    with RedisServer(find_server(name)) as server:
        options = redis_log_options("p", keep_seconds=30.0)
        first = Announcement(run_id="r1", turn_id="t", thread_id="one")
        second = Announcement(run_id="r2", turn_id="t", thread_id="two")
        async with open_redis_directory(server.url, options) as one:
            await one.announce(first)
            server.kill()
            server.start()
            client = plain_client(server.url, decode_responses=True)
            async with open_redis_directory(server.url, options) as two:
                await two.announce(second)
            with trio.fail_after(10):
                while one.kept:  # noqa: ASYNC110  # until it has noticed
                    await trio.sleep(0.05)
            assert (await one.run_of("t"), await one.thread_of("t")) == ("r2", "two")
            assert [fields["run_id"] for _, fields in client.xrange("p:turns")] == ["r2"]


@pytest.mark.parametrize("name", NAMES)
async def test_an_announcement_that_landed_unanswered_is_looked_after_when_it_is_repeated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever announced it again was told yes: so it is there again when the server has lost it."""
    announce = AnnouncedTurns.announce

    def announce_unheard(self: AnnouncedTurns, lane: Lane, announced: Announced) -> bool:
        announce(self, lane, announced)
        lane.close()
        raise LogUnavailableError("the answer was lost")

    with RedisServer(find_server(name)) as server:
        async with open_redis_directory(server.url, redis_log_options("p", keep_seconds=30.0)) as directory:
            with monkeypatch.context() as patched, pytest.raises(LogUnavailableError):
                patched.setattr(AnnouncedTurns, "announce", announce_unheard)
                await directory.announce(turn(1))
            await directory.announce(turn(1))
            client = plain_client(server.url, decode_responses=True)
            assert (client.xlen("p:turns"), directory.kept) == (1, 1)
            server.kill()
            server.start()
            with trio.fail_after(10):
                while not client.xlen("p:turns"):  # noqa: ASYNC110  # another task's doing
                    await trio.sleep(0.05)
            assert [fields["turn_id"] for _, fields in client.xrange("p:turns")] == ["t1"]


async def test_what_is_old_enough_is_not_kept(redis_url: str, key_prefix: str) -> None:
    """A service announces for ever: what the server must have on its disk by now is let go."""
    options = redis_log_options(key_prefix, keep_seconds=0.2)
    async with open_redis_directory(redis_url, options) as directory:
        await directory.announce(turn(1))
        assert directory.kept == 1
        with trio.fail_after(5):
            while directory.kept:  # noqa: ASYNC110
                await trio.sleep(0.05)


async def test_a_server_that_is_away_is_said_so() -> None:
    """At once: whoever asked decides how long to try."""
    with RedisServer(find_server("valkey")) as server:
        async with open_redis_directory(server.url, redis_log_options("p")) as directory:
            await directory.announce(turn(1))
            server.kill()
            for ask in (directory.turn_of("r1"), directory.recent(), directory.announce(turn(2))):
                with pytest.raises(LogUnavailableError):
                    await ask
            server.start()
            await directory.announce(turn(2))
            assert sorted(listed.turn_id for listed in await directory.turns_of("th")) == ["t1", "t2"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_server_that_is_full_refuses_the_whole_announcement(name: str) -> None:
    """Nothing of it is there, so it is not taken for announced when it is tried again."""
    with RedisServer(find_server(name)) as server:
        client = plain_client(server.url)
        async with open_redis_directory(server.url, redis_log_options("p")) as directory:
            client.config_set("maxmemory", 1)
            with pytest.raises(LogUnavailableError, match="refused an announcement: OOM"):
                await directory.announce(turn(1))
            assert (directory.kept, await directory.turn_of("r1")) == (0, None)
            client.config_set("maxmemory", 0)
            await directory.announce(turn(1))
            assert (await directory.turn_of("r1"), client.xlen("p:turns")) == ("t1", 1)


async def test_the_directory_in_memory_forgets_in_time(autojump_clock: trio.testing.MockClock) -> None:
    """With its run and its place in its thread."""
    directory = MemoryDirectory(MemoryQueue(), expire_after=100)
    await directory.announce(turn(1))
    await trio.sleep(60)
    await directory.announce(turn(2))
    await trio.sleep(60)
    assert (await directory.turn_of("r1"), await directory.turn_of("r2")) == (None, "t2")
    assert [listed.turn_id for listed in await directory.turns_of("th")] == ["t2"]
    await trio.sleep(60)
    assert await directory.turns_of("th") == ()
