"""The queue of turns on real servers: who gets what, when, and what is left of it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests.kit.servers import RedisServer, plain_client
from turnwire.messages.errors import LogUnavailableError, QueueError
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.queue import Announcement, Producer, Ticket, TurnQueue
from turnwire.runtime.queue.announcement import dismiss, parse_tickets
from turnwire.runtime.settings import RedisSettings, WorkerSettings

IDLE = 0.3
MakeQueue = Callable[..., TurnQueue]


@pytest.fixture
def announce(redis_url: str, key_prefix: str) -> Callable[..., None]:
    def announce(*turns: str) -> None:
        with Producer(redis_url, options=RedisLogOptions(prefix=key_prefix)) as producer:
            for turn in turns:
                producer.announce(f"r{turn}", turn, "th")

    return announce


@pytest.fixture
def client(redis_url: str) -> Any:
    return plain_client(redis_url, decode_responses=True)


@pytest.fixture
def make_queue(redis_url: str, key_prefix: str) -> MakeQueue:
    def make(name: str, *, idle: float = IDLE, url: str = redis_url, socket_timeout: float = 0.5) -> TurnQueue:
        worker = WorkerSettings(name=name, claim_idle=idle, heartbeat=0.02)
        return TurnQueue(url, RedisSettings(prefix=key_prefix, socket_timeout=socket_timeout), worker)

    return make


def names(tickets: list[Ticket]) -> list[str]:
    return [ticket.announcement.turn_id for ticket in tickets]


def consumer_names(client: Any, prefix: str) -> set[str]:
    """Name the workers that the server knows, without what makes each name unlike any other."""
    return {consumer["name"].rpartition("-")[0] for consumer in client.xinfo_consumers(f"{prefix}:turns", "workers")}


@asynccontextmanager
async def reading(queue: TurnQueue) -> AsyncGenerator[TurnQueue, None]:
    async with queue.open_reading():
        yield queue
    queue.close()


async def test_workers_share_what_is_announced(make_queue: MakeQueue, announce: Callable[..., None]) -> None:
    """Each turn goes to one of them, never more than it asks for."""
    announce("a", "b", "c")
    async with reading(make_queue("one")) as one, reading(make_queue("two")) as two:
        first = await one.take(2)
        assert names(first) == ["a", "b"]
        assert first[0].announcement == Announcement(run_id="ra", turn_id="a", thread_id="th")
        assert names(await two.take(2)) == ["c"]
        assert await two.take(2) == []


async def test_two_workers_with_the_same_settings_are_told_apart(make_queue: MakeQueue) -> None:
    """What is pending is kept by name."""
    assert make_queue("one").name != make_queue("one").name


async def test_what_is_no_announcement_is_taken_out(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str
) -> None:
    """Whoever put it there."""
    client.xadd(f"{key_prefix}:turns", {"run_id": "r"})
    client.xadd(f"{key_prefix}:turns", {"run_id": "r", "turn_id": "t", "thread_id": "th", "kind": "odd"})
    announce("a")
    async with reading(make_queue("one")) as one:
        assert names(await one.take(5)) == ["a"]
        assert one.malformed == 2
    assert client.xlen(f"{key_prefix}:turns") == 1


async def test_a_turn_is_taken_over_after_the_idle_time_and_not_before(
    make_queue: MakeQueue, announce: Callable[..., None]
) -> None:
    """One that is kept alive is not."""
    announce("a", "b")
    async with reading(make_queue("one")) as one, reading(make_queue("two")) as two:
        kept, fallen = await one.take(5)
        assert await two.take_over(5) == []
        for _ in range(8):
            await trio.sleep(IDLE / 6)
            await one.keep([kept.id])
        assert names(await two.take_over(5)) == [fallen.announcement.turn_id]
        assert await two.take_over(5) == []


async def test_a_late_worker_does_not_keep_what_another_has_taken(
    make_queue: MakeQueue, announce: Callable[..., None]
) -> None:
    """Or a turn whose new owner died would never be taken up again."""
    announce("a")
    async with reading(make_queue("one")) as one, reading(make_queue("two", idle=0.05)) as two:
        (ticket,) = await one.take(5)
        await trio.sleep(0.1)
        assert names(await two.take_over(5)) == ["a"]
        await trio.sleep(0.1)
        await one.keep([ticket.id])
        assert names(await two.take_over(5)) == ["a"]  # still idle: nobody spoke of it


async def test_what_is_handed_over_is_taken_at_once(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str
) -> None:
    """By whoever asks first."""
    announce("a", "b")
    async with reading(make_queue("one", idle=60)) as one, reading(make_queue("two", idle=60)) as two:
        assert len(await one.take(5)) == 2
        assert await two.take_over(5) == []
        assert await one.hand_over() == 2
        assert sorted(names(await two.take_over(5))) == ["a", "b"]
        assert await one.hand_over() == 0


async def test_a_turn_that_comes_in_the_moment_of_the_hand_over_is_not_lost(
    make_queue: MakeQueue,
    announce: Callable[..., None],
    client: Any,
    key_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server may still give it to the read that we have broken off: it is pending then, and taken over."""
    queue = f"{key_prefix}:turns"
    async with reading(make_queue("one")) as one, reading(make_queue("two")) as two:
        assert await one.take(5) == []
        ask = one._ask

        async def ask_and_be_given_one(commands: Any) -> Any:
            replies = await ask(commands)
            if commands and commands[0][0] == "XPENDING":
                client.xreadgroup("workers", one.name, {queue: ">"})
            return replies

        announce("a")
        monkeypatch.setattr(one, "_ask", ask_and_be_given_one)
        assert await one.hand_over() == 0
        await trio.sleep(IDLE + 0.05)
        assert names(await two.take_over(5)) == ["a"]


async def test_a_finished_turn_leaves_the_queue(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str
) -> None:
    """What leads to it stays as long as its logs do."""
    announce("a")
    async with reading(make_queue("one")) as one:
        (ticket,) = await one.take(5)
        client.delete(f"{key_prefix}:run:ra:turn")
        await one.finish(ticket.announcement, [ticket.id])
        assert client.xlen(f"{key_prefix}:turns") == 0
        assert client.xpending(f"{key_prefix}:turns", "workers")["pending"] == 0
        assert client.get(f"{key_prefix}:run:ra:turn") == "a"
        assert client.ttl(f"{key_prefix}:thread:th:turns") > 1000


async def test_whoever_waits_for_turns_is_let_go_at_once(make_queue: MakeQueue) -> None:
    """However long the server would have had it wait."""
    began = trio.current_time()
    with trio.move_on_after(0.1):
        async with reading(make_queue("one", socket_timeout=4.0)) as one:
            while True:
                await one.take(5)
    assert trio.current_time() - began < 1.0  # it would have waited for two seconds


async def test_a_queue_that_is_gone_is_made_again(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str
) -> None:
    """With its group, from the beginning."""
    async with reading(make_queue("one")) as one:
        assert await one.take(5) == []
        client.delete(f"{key_prefix}:turns")
        assert await one.take_over(5) == []
        await one.keep([])
        assert await one.hand_over() == 0
        announce("a")
        assert names(await one.take(5) + await one.take(5)) == ["a"]


async def test_a_key_of_another_kind_is_an_error_that_waiting_does_not_mend(
    make_queue: MakeQueue, client: Any, key_prefix: str
) -> None:
    """So a worker does not wait for ever."""
    client.set(f"{key_prefix}:turns", "mine")
    queue = make_queue("one")
    with pytest.raises(QueueError, match="WRONGTYPE"):
        await queue.take(1)
    with pytest.raises(QueueError, match="WRONGTYPE"):
        await queue.take_over(1)
    queue.close()


async def test_names_of_workers_long_gone_are_cleared_away(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of one that still has something."""

    def consumers() -> set[str]:
        return consumer_names(client, key_prefix)

    announce("a", "b")
    async with reading(make_queue("gone")) as gone, reading(make_queue("dead")) as dead:
        (ticket,) = await gone.take(1)
        await gone.finish(ticket.announcement, [ticket.id])
        assert len(await dead.take(1)) == 1
    assert consumers() == {"gone", "dead"}
    async with reading(make_queue("one")) as one:
        await one.forget_gone_workers()
        assert consumers() == {"gone", "dead"}
        monkeypatch.setattr("turnwire.runtime.queue.turn_queue.GONE_FOR", 0.05)
        await trio.sleep(0.1)
        await one.forget_gone_workers()
    assert consumers() == {"dead"}


async def test_a_worker_that_wakes_after_an_hour_loses_nothing_with_its_name(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take a turn in the very moment in which another clears its name away: that turn goes to the other."""
    monkeypatch.setattr("turnwire.runtime.queue.turn_queue.GONE_FOR", 0.05)
    queue = f"{key_prefix}:turns"
    async with reading(make_queue("late")) as late, reading(make_queue("one")) as one:
        assert await late.take(5) == []
        client.xgroup_createconsumer(
            queue, "workers", late.name
        )  # some servers know a name once it was given something
        await trio.sleep(0.1)
        ask = one._ask

        async def ask_while_it_wakes(commands: Any) -> Any:
            replies = await ask(commands)
            if commands[0][0] == "XINFO":
                client.xreadgroup("workers", late.name, {queue: ">"})
            return replies

        announce("a", "b")
        monkeypatch.setattr(one, "_ask", ask_while_it_wakes)
        await one.forget_gone_workers()
        assert consumer_names(client, key_prefix) == {"one"}
        assert names(await one.take_over(5)) == ["a", "b"]


async def test_an_acknowledgement_cut_short_leaves_nothing_that_looks_like_a_turn(
    make_queue: MakeQueue, announce: Callable[..., None], client: Any, key_prefix: str
) -> None:
    """Its first command takes the entry out; what is pending then without an entry is passed over, and goes."""
    announce("a")
    async with reading(make_queue("one")) as one, reading(make_queue("two")) as two:
        (ticket,) = await one.take(5)
        client.execute_command(*dismiss(one.keys, ticket.id)[0])
        assert client.xlen(f"{key_prefix}:turns") == 0
        await trio.sleep(IDLE + 0.05)
        assert await two.take_over(5) == []
        assert client.xpending(f"{key_prefix}:turns", "workers")["pending"] == 0


def test_an_entry_deleted_meanwhile_is_no_ticket() -> None:
    """Servers of all ages: some leave it out, some give its id alone, some give nothing in its place."""
    fields = [b"run_id", b"r", b"turn_id", b"t", b"thread_id", b"th"]
    tickets, malformed = parse_tickets([None, (b"1-1", None), (b"1-2", fields)])
    assert [str(ticket.id) for ticket in tickets] == ["1-2"]
    assert malformed == []


async def test_what_was_taken_over_before_the_server_went_away_is_worked_on(
    make_queue: MakeQueue, announce: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ours on the server already: nobody else would take it before another idle time is over."""
    announce(*"abc")
    async with reading(make_queue("one")) as one, reading(make_queue("two")) as two:
        assert len(await one.take(5)) == 3
        await trio.sleep(IDLE + 0.05)
        ask, asked = two._ask, list[Any]()

        async def ask_once(commands: Any) -> Any:
            if asked:
                raise LogUnavailableError("gone")
            asked.append(commands)
            (reply,) = await ask(commands)
            return [[b"1-1", *reply[1:]]]  # as if there were more

        monkeypatch.setattr(two, "_ask", ask_once)
        assert names(await two.take_over(5)) == ["a", "b", "c"]
        with pytest.raises(LogUnavailableError):
            await two.take_over(5)


async def test_a_server_that_is_away_is_said_so(make_queue: MakeQueue, own_server: RedisServer) -> None:
    """Every call says it, and works again afterwards."""
    queue = make_queue("one", url=own_server.url)
    await queue.take(1)
    own_server.kill()
    for call in (queue.take, queue.take_over):
        with pytest.raises(LogUnavailableError):
            await call(1)
    own_server.start()
    assert await queue.take(1) == []
    assert await queue.take_over(1) == []
    queue.close()
