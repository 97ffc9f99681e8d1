"""A server that is killed loses what it had acknowledged; whoever wrote it puts it back.

The loss is made exact: the server's files are set back to an earlier moment while it is down.
"""

import shutil

import pytest
import trio

from tests.kit.logs import Gathered, end, envelope, redis_log_options, start, text
from tests.kit.servers import RedisServer, plain_client
from tests.kit.turns import delta, started
from turnwire.messages.entries import Entry, EntryId, RawEntry
from turnwire.messages.errors import FencedError, LogUnavailableError
from turnwire.messages.event_codec import encode_event
from turnwire.messages.outputs import Output, StreamMessage
from turnwire.runtime.logs.redis import RedisLog, open_redis_log
from turnwire.runtime.logs.redis.lane import Lane

OPTIONS = redis_log_options("codex", socket_timeout=2)


class TimeMachine:
    """Sets a server's files back to how they were."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._files = server.directory / "appendonlydir"
        self._copy = server.directory / "earlier"

    def remember(self) -> None:
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._files, self._copy)

    async def go_back(self) -> None:
        """Kill the server, and start it with what it knew when we remembered."""
        self._server.kill()
        shutil.rmtree(self._files)
        shutil.copytree(self._copy, self._files)
        await trio.to_thread.run_sync(self._server.start)


async def append(log: RedisLog, message: StreamMessage) -> None:
    """Append as a writer does: again, until the answer is there."""
    for _ in range(100):
        try:
            await log.append(message)
        except LogUnavailableError:
            await trio.sleep(0.01)
        else:
            return
    pytest.fail("the server did not come back")


async def refused_append(log: RedisLog, message: StreamMessage) -> None:
    """Append, again for as long as the server is only not heard."""
    for _ in range(100):
        try:
            await log.append(message)
        except LogUnavailableError as exc:
            if "does not take back" in str(exc):
                raise
            await trio.sleep(0.01)


def ids(entries: tuple[Entry, ...] | list[Entry]) -> list[str]:
    return [str(entry.id) for entry in entries]


async def test_what_the_server_lost_is_put_back_under_the_same_ids(own_server: RedisServer) -> None:
    """Before anything new is written: the log has no hole and no repetition, and its order is kept."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        for seq in range(1, 4):
            await append(log, envelope(text(str(seq)), seq))
        past.remember()
        for seq in range(4, 7):
            await append(log, envelope(text(str(seq)), seq))
        await past.go_back()
        await append(log, envelope(text("7"), 7))
        assert ids(await log.read("t")) == [f"1-{seq}" for seq in range(1, 8)]
        assert await log.outputs("t") == tuple(text(str(seq)) for seq in range(1, 8))
        assert log.counts.healed == 3
        assert log.counts.lost == 0


async def test_a_server_that_refuses_one_lost_entry_is_not_given_those_after_it(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids only grow: were the later ones put back first, the refused one could never be."""
    past, send = TimeMachine(own_server), Lane.send

    def send_with_one_spoiled(lane: Lane, commands: list[bytes]) -> None:
        send(lane, [b"*2\r\n$4\r\nXADD\r\n$1\r\nk\r\n" if b"\r\n1-4\r\n" in it else it for it in commands])

    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        for seq in range(1, 4):
            await append(log, envelope(text(str(seq)), seq))
        past.remember()
        for seq in range(4, 7):
            await append(log, envelope(text(str(seq)), seq))
        with monkeypatch.context() as patched:
            patched.setattr(Lane, "send", send_with_one_spoiled)
            await past.go_back()
            with pytest.raises(LogUnavailableError, match="does not take back"):
                await refused_append(log, envelope(text("7"), 7))
        await append(log, envelope(text("7"), 7))
        assert ids(await log.read("t")) == [f"1-{seq}" for seq in range(1, 8)]
        assert log.counts.healed == 3


async def test_a_turn_that_has_nothing_more_to_say_is_healed_too(own_server: RedisServer) -> None:
    """Any turn's append brings the connection back, and that heals all."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        past.remember()
        outputs: tuple[Output, ...] = (start(), text("x", status="complete"), end())
        for seq, output in enumerate(outputs, 1):
            await append(log, envelope(output, seq))
        await past.go_back()
        await append(log, envelope(start("other"), 1))
        assert ids(await log.read("t")) == ["1-1", "1-2", "1-3"]
        with plain_client(own_server.url) as client:
            assert 0 < client.ttl(log.keys.processed("t")) <= 100
            assert client.ttl(log.keys.processed("other")) == -1


async def test_the_fence_is_put_back_before_the_entries(own_server: RedisServer) -> None:
    """With the fence the claim was lost; after healing the next claimant gets the next epoch, not the same one."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        await append(log, envelope(start(), 1))
        past.remember()
        assert await log.claim("t") == 2
        await append(log, envelope(text("x"), 1, epoch=2))
        await past.go_back()
        await append(log, envelope(text("xy"), 2, epoch=2))
        with plain_client(own_server.url) as client:
            found = [entry_id for entry_id, _ in client.xrange(log.keys.processed("t"))]
        assert found == [b"1-0", b"1-1", b"2-0", b"2-1", b"2-2"]
        assert await log.claim("t") == 3


async def test_a_turn_that_was_claimed_by_another_meanwhile_is_left_alone(own_server: RedisServer) -> None:
    """The other one put up the same fence after ours was lost: it owns the turn, and we are told."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=OPTIONS) as mine:
        await append(mine, envelope(start(), 1))
        past.remember()
        assert await mine.claim("t") == 2
        await append(mine, envelope(text("mine"), 1, epoch=2))
        await past.go_back()
        async with open_redis_log(own_server.url, options=OPTIONS) as theirs:
            assert await theirs.claim("t") == 2
            with pytest.raises(FencedError):
                for _ in range(2):  # the first one may only find out that the connection is gone
                    try:
                        await mine.append(envelope(text("mine too"), 2, epoch=2))
                    except LogUnavailableError:
                        continue
            await append(theirs, envelope(text("theirs"), 1, epoch=2))
            assert await theirs.outputs("t") == (start(), text("theirs"))


async def test_raw_events_are_put_back_under_new_ids(own_server: RedisServer) -> None:
    """Also when another producer has written since: none is missing, and ours stay in order."""
    past = TimeMachine(own_server)
    events = [encode_event(each) for each in (started(), *(delta("m", str(n)) for n in range(6)))]
    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        await log.append_events("r", events[:2])
        past.remember()
        lost = await log.append_events("r", events[2:5])
        await past.go_back()
        async with open_redis_log(own_server.url, options=OPTIONS) as other:
            await other.append_events("r", [b'{"type": "heartbeat"}'])
        for _ in range(2):
            try:
                await log.append_events("r", events[5:])
                break
            except LogUnavailableError:
                continue
        entries = await log.read_events("r")
        assert [entry.event for entry in entries] == [*events[:2], b'{"type": "heartbeat"}', *events[2:]]
        assert not set(lost) & {entry.id for entry in entries}
        assert log.counts.healed == 3


async def test_what_is_older_than_what_is_kept_is_reported_as_lost(own_server: RedisServer) -> None:
    """It cannot be put back from here; that is said, never silent."""
    past = TimeMachine(own_server)
    options = redis_log_options("codex", keep_bytes=2500)
    async with open_redis_log(own_server.url, options=options) as log:
        past.remember()
        for seq in range(1, 9):
            await append(log, envelope(text(str(seq)), seq))
        await past.go_back()
        await append(log, envelope(text("9"), 9))
        kept = await log.read("t")
        assert log.counts.lost == 1
        assert 0 < log.counts.healed < 8
        assert ids(kept) == [f"1-{seq}" for seq in range(9 - log.counts.healed, 10)]


async def test_a_loss_is_reported_also_when_nothing_of_the_log_is_kept(own_server: RedisServer) -> None:
    """An entry larger than all that may be kept cannot be put back; its absence is noticed all the same."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=redis_log_options("codex", keep_bytes=1000)) as log:
        past.remember()
        await append(log, envelope(text("x" * 2000), 1))
        await past.go_back()
        await append(log, envelope(start("other"), 1))
        assert log.counts.lost == 1


async def test_nothing_is_put_back_when_nothing_was_lost(own_server: RedisServer) -> None:
    """A connection that breaks costs one look at each log."""
    async with open_redis_log(own_server.url, options=OPTIONS) as log:
        for seq in range(1, 4):
            await append(log, envelope(text(str(seq)), seq))
        own_server.kill()
        await trio.to_thread.run_sync(own_server.start)
        await append(log, envelope(text("4"), 4))
        assert ids(await log.read("t")) == ["1-1", "1-2", "1-3", "1-4"]
        assert (log.counts.healed, log.counts.connects) == (0, 2)


async def test_a_reader_that_had_read_what_was_lost_is_told_everything_anew(own_server: RedisServer) -> None:
    """It may have seen what no longer is; the first entry of the new telling says so."""
    past = TimeMachine(own_server)
    got = Gathered[Entry]()
    async with open_redis_log(own_server.url, options=OPTIONS) as reading, trio.open_nursery() as nursery:
        async with open_redis_log(own_server.url, options=OPTIONS) as dying:
            await append(dying, envelope(start(), 1))
            past.remember()
            await append(dying, envelope(text("seen and gone", status="create"), 2))
            nursery.start_soon(got.read, reading.follow("t"))
            await got.wait(2)
        await past.go_back()
        async with open_redis_log(own_server.url, options=OPTIONS) as successor:
            await got.wait(3)  # told anew before anybody wrote
            assert await successor.claim("t") == 2
            await append(successor, envelope(end(), 1, epoch=2))
    assert ids(got.entries) == ["1-1", "1-2", "1-1", "2-1"]
    assert [entry.rewound for entry in got.entries] == [False, False, True, False]


async def test_a_raw_reader_goes_on_where_the_log_now_ends(own_server: RedisServer) -> None:
    """What the server lost comes again under new ids; what comes twice is dropped by whoever folds it."""
    past = TimeMachine(own_server)
    got = Gathered[RawEntry]()
    async with open_redis_log(own_server.url, options=OPTIONS) as log, trio.open_nursery() as nursery:
        await log.append_events("r", [started()])
        past.remember()
        nursery.start_soon(got.read, log.follow_events("r"))
        await got.wait(1)
        await log.append_events("r", [delta("m", "a")])
        await got.wait(2)
        await past.go_back()
        for _ in range(2):
            try:
                await log.append_events("r", [delta("m", "b")])
                break
            except LogUnavailableError:
                continue
        await got.wait(4)
        nursery.cancel_scope.cancel()
    texts = [entry.event for entry in got.entries]
    assert [b'"a"' in event for event in texts] == [False, True, True, False]
    assert b'"b"' in texts[3]


def test_ids_are_ordered_as_redis_orders_them() -> None:
    """By the number before the dash, then by the one after it; not as text."""
    assert EntryId.parse("2-0") > EntryId.parse("1-10") > EntryId.parse("1-9") > EntryId.parse("0-1")


async def test_a_turn_that_lost_what_its_former_owner_wrote_is_given_up(own_server: RedisServer) -> None:
    """What we wrote tells only the rest: put back, it would hide the loss, and bar the way for the other's entries."""
    past = TimeMachine(own_server)
    async with (
        open_redis_log(own_server.url, options=OPTIONS) as former,
        open_redis_log(own_server.url, options=OPTIONS) as owner,
    ):
        past.remember()
        assert await former.claim("t") == 1
        await append(former, envelope(start(), 1))
        await append(former, envelope(text("a", item="done"), 2))
        assert await owner.claim("t") == 2
        await append(owner, envelope(text("b"), 1, epoch=2))
        await past.go_back()
        with pytest.raises(FencedError):
            await append(owner, envelope(text("c"), 2, epoch=2))
        await append(former, envelope(start("other"), 1))  # any append: it heals first
        assert ids(await owner.read("t")) == ["1-1", "1-2"]
        with pytest.raises(FencedError):
            await append(owner, envelope(text("c"), 2, epoch=2))
        assert await owner.claim("t") == 2  # anew, and built upon what is there
        await append(owner, envelope(text("c"), 1, epoch=2))
        assert ids(await owner.read("t")) == ["1-1", "1-2", "2-1"]


async def test_a_turn_that_lost_only_what_we_wrote_is_healed_though_it_had_an_owner_before(
    own_server: RedisServer,
) -> None:
    """Also when that was ourselves, and all of it is gone: then all of it is put back."""
    past = TimeMachine(own_server)
    async with (
        open_redis_log(own_server.url, options=OPTIONS) as former,
        open_redis_log(own_server.url, options=OPTIONS) as owner,
    ):
        await former.claim("t")
        await append(former, envelope(start(), 1))
        past.remember()
        assert await owner.claim("t") == 2
        await append(owner, envelope(text("b"), 1, epoch=2))
        assert await owner.claim("t") == 3
        await append(owner, envelope(text("c"), 1, epoch=3))
        await past.go_back()
        await append(owner, envelope(text("d"), 2, epoch=3))
        assert ids(await owner.read("t")) == ["1-1", "2-1", "3-1", "3-2"]


async def test_an_owner_that_claimed_its_turn_again_still_knows_what_it_was_built_upon(own_server: RedisServer) -> None:
    """Its own entries in between are no excuse for what is missing before them."""
    past = TimeMachine(own_server)
    async with open_redis_log(own_server.url, options=OPTIONS) as owner:
        past.remember()
        async with open_redis_log(own_server.url, options=OPTIONS) as former:
            await former.claim("t")
            await append(former, envelope(start(), 1))
        for epoch in (2, 3):
            assert await owner.claim("t") == epoch
            await append(owner, envelope(text(str(epoch)), 1, epoch=epoch))
        await past.go_back()
        with pytest.raises(FencedError):
            await append(owner, envelope(text("d"), 2, epoch=3))
        assert await owner.read("t") == ()
        assert await owner.claim("t") == 1
        await append(owner, envelope(start(), 1))
        assert ids(await owner.read("t")) == ["1-1"]
