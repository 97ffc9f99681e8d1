"""Opening, closing and odd ids: nobody hangs, nothing is left, and one caller's mistake is no other's."""

import pytest
import trio

from tests.kit.logs import Gathered, envelope, redis_log_options, start, text
from tests.kit.servers import plain_client
from tests.kit.turns import delta, started
from turnwire.messages.entries import START, Entry, EntryId, RawEntry
from turnwire.messages.errors import ClosedError, LogUnavailableError
from turnwire.runtime import MemoryLog, open_runtime
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.feeds import Feed, RawFeed
from turnwire.runtime.logs.redis import RedisLog, commit, open_redis_log
from turnwire.runtime.logs.redis.book import Book
from turnwire.runtime.logs.redis.lane import Reply
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.rounds import run_round
from turnwire.runtime.logs.redis.tail import Tail
from turnwire.runtime.logs.redis.wire import parse_streams


@pytest.mark.parametrize("what", ["log", "runtime"])
async def test_opening_under_a_cancelled_scope_is_cancelled(redis_url: str, what: str) -> None:
    """What is shielded inside must not be started and then forgotten."""
    opened = False
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_redis_log(redis_url) if what == "log" else open_runtime(sink=MemoryLog()):
            opened = True
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert opened


async def test_readers_are_told_when_their_log_is_closed(redis_url: str, key_prefix: str) -> None:
    """Those who wait, and those who come later; no connection is left or made."""
    outputs, events = Gathered[Entry](), Gathered[RawEntry]()
    told: list[str] = []

    async def read_to_the_end(log: RedisLog) -> None:
        with pytest.raises(ClosedError, match="closed"):
            await outputs.read(log.follow("t"))
        told.append("outputs")

    async def read_events_to_the_end(log: RedisLog) -> None:
        with pytest.raises(ClosedError, match="closed"):
            await events.read(log.follow_events("r"))
        told.append("events")

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
                await log.append(envelope(start(), 1))
                await log.append_events("r", [started()])
                nursery.start_soon(read_to_the_end, log)
                nursery.start_soon(read_events_to_the_end, log)
                await outputs.wait(1)
                await events.wait(1)
        assert sorted(told) == ["events", "outputs"]
        with pytest.raises(ClosedError):
            await anext(log.follow("t"))
        with pytest.raises(LogUnavailableError, match="closed"):
            await log.read("t")
    assert (log.readers, log.connections) == (0, 0)


async def test_an_id_that_cannot_be_sent_is_refused_to_its_caller_alone(redis_url: str, key_prefix: str) -> None:
    """It never gets into a round that others share."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        for _ in range(8):  # more often than any task may be started again
            with pytest.raises(ValueError, match="UTF-8"):
                await log.claim("\ud800")
            with pytest.raises(ValueError, match="UTF-8"):
                await anext(log.follow("\ud800"))
            with pytest.raises(ValueError, match="UTF-8"):
                await log.append_events("\ud800", [started()])
        await log.append(envelope(start(), 1))
        assert log.readers == 0


class HesitantLog(MemoryLog):
    """Gives a page when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = trio.Event(), trio.Event()

    async def read_events(
        self, run_id: str, *, after: EntryId = START, limit: int | None = None
    ) -> tuple[RawEntry, ...]:
        self.asked.set()
        await self.go_on.wait()
        return await super().read_events(run_id, after=after, limit=limit)


async def test_a_raw_reader_closed_while_it_reads_its_first_page_lets_go() -> None:
    """The page is on its way when it is closed: it must not join after that."""
    log = HesitantLog()
    reader = log.follow_events("r")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Gathered[RawEntry]().read, reader)
        await log.asked.wait()
        reader.close()
        log.go_on.set()
    assert log.readers == 0


async def test_many_long_logs_are_not_loaded_in_one_reply(
    redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one reply may hold does not grow with the number of readers that come at once."""
    most = 0
    take_in = Tail._take_in

    def count(self: Tail, asked: dict[str, Feed | RawFeed], reply: Reply) -> None:
        nonlocal most
        most = max(most, sum(len(entries) for _, entries in parse_streams(reply)))
        take_in(self, asked, reply)

    monkeypatch.setattr(Tail, "_take_in", count)
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log:
        turns = [f"t{number}" for number in range(30)]
        for seq in range(1, 101):
            async with trio.open_nursery() as nursery:
                for turn in turns:
                    nursery.start_soon(log.append, envelope(text(str(seq), turn=turn), seq))
        async with trio.open_nursery() as nursery:
            got = [Gathered[Entry]() for _ in turns]
            for gathered, turn in zip(got, turns, strict=True):
                nursery.start_soon(gathered.read, log.follow(turn))
            for gathered in got:
                await gathered.wait(2)
            nursery.cancel_scope.cancel()
    assert all(EntryId(1, 1) == gathered.entries[0].id for gathered in got)
    assert 0 < most <= 8 * 64


async def test_a_raw_cursor_ahead_of_the_log_does_not_harm_other_readers(redis_url: str, key_prefix: str) -> None:
    """It is told everything anew; the others wait for news and do not ask again and again."""
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log, trio.open_nursery() as nursery:
        await log.append_events("r", [started()])
        await log.append(envelope(start(), 1))
        first, ahead, late = Gathered[Entry](), Gathered[RawEntry](), Gathered[RawEntry]()
        nursery.start_soon(first.read, log.follow("t"))
        await first.wait(1)
        nursery.start_soon(ahead.read, log.follow_events("r", after=EntryId(2**63, 5)))
        await ahead.wait(1)
        nursery.start_soon(late.read, log.follow_events("r"))
        await late.wait(1)
        with plain_client(redis_url) as client:
            before = client.info("stats")["total_commands_processed"]
            await trio.sleep(0.2)
            assert client.info("stats")["total_commands_processed"] - before < 20
        await log.append_events("r", [delta("m", "a")])
        await ahead.wait(2)
        await late.wait(2)
        nursery.cancel_scope.cancel()


async def test_what_is_no_event_is_not_given_to_a_live_raw_reader(redis_url: str, key_prefix: str) -> None:
    """As it is not to one who reads the log."""
    got = Gathered[RawEntry]()
    async with open_redis_log(redis_url, options=redis_log_options(key_prefix)) as log, trio.open_nursery() as nursery:
        await log.append_events("r", [started()])
        nursery.start_soon(got.read, log.follow_events("r"))
        await got.wait(1)
        with plain_client(redis_url) as client:
            client.xadd(log.keys.raw("r"), {"other": "x"})
        await log.append_events("r", [delta("m", "a")])
        await got.wait(2)
        assert all(entry.event for entry in got.entries)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("query", ["protocol=3", "decode_responses=true", "socket_timeout=0.1"])
async def test_what_a_url_says_cannot_break_the_log(redis_url: str, key_prefix: str, query: str) -> None:
    """How replies are read, and for how long, is ours to say."""
    got = Gathered[Entry]()
    async with open_redis_log(f"{redis_url}?{query}", options=redis_log_options(key_prefix)) as log:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(got.read, log.follow("t"))
            await log.append(envelope(start(), 1))
            await got.wait(1)
            await trio.sleep(0.3)
            assert log._tail.connects == 1
            nursery.cancel_scope.cancel()


async def test_a_writer_that_was_started_again_finds_what_waits(
    redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that fails in a way nobody thought of costs its own requests, not those behind it."""
    fails = iter([True, True])

    def failing(*args: object, **options: object) -> None:
        if next(fails, False):
            raise RuntimeError("unheard of")
        run_round(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(commit, "run_round", failing)
    failed: list[int] = []

    async def append(log: RedisLog, number: int) -> None:
        try:
            await log.append(envelope(start(f"t{number}"), 1))
        except LogUnavailableError:
            failed.append(number)

    with trio.fail_after(5):
        async with open_redis_log(redis_url, options=redis_log_options(key_prefix, round_entries=1)) as log:
            async with trio.open_nursery() as nursery:
                for number in range(6):
                    nursery.start_soon(append, log, number)
    assert len(failed) == 2


def test_ten_thousand_turns_at_once_are_not_gone_through_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a turn costs must not grow with the number of others."""
    book = Book(RedisLogOptions(), LogCounts())
    looks = 0
    keeps = book.outputs.keeps

    def count(key: str) -> bool:
        nonlocal looks
        looks += 1
        return keeps(key)

    monkeypatch.setattr(book.outputs, "keeps", count)
    for number in range(10_000):
        book.own(f"k{number}", 1, "token", now=0)
    for number in range(10_000):
        book.appended(f"k{number}", EntryId(1, 1), (b"x",), is_terminal=True, now=0)
    assert looks < 60_000
