"""One suite for every log: in memory, in Redis, in Valkey. The fake cannot lie about what the real ones do."""

from contextlib import suppress

import pytest
import trio
import trio.testing

from tests.kit.logs import Gathered, OpenLog, at, end, envelope, start, text
from tests.kit.turns import begin, delta, event, finished, said, started
from turnwire.messages.entries import Entry, RawEntry
from turnwire.messages.errors import FencedError
from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import TurnAbortedByUser
from turnwire.messages.folds import fold_outputs
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output
from turnwire.runtime.logs.follow import Follower
from turnwire.runtime.logs.interface import TurnLog

WHOLE: tuple[Output, ...] = (
    start(),
    text("Hel", item="a", status="create"),
    text("Wor", item="b", status="create"),
    text("Hello", item="a", status="complete"),
    text("World", item="b", status="complete"),
    end(),
)


async def write(log: TurnLog, *outputs: Output, epoch: int = 1, first: int = 1) -> None:
    for seq, output in enumerate(outputs, first):
        await log.append(envelope(output, seq, epoch=epoch))


def says(entries: list[Entry] | tuple[Entry, ...]) -> list[Output]:
    return [decode_output(entry.message.payload) for entry in entries]


async def read_all(reader: Follower) -> list[Entry]:
    with trio.fail_after(10):
        return [entry async for entry in reader]


# Writing and reading


async def test_what_was_appended_is_read_in_order(open_log: OpenLog) -> None:
    """Entries come back as they were written, each under the id that its event id names."""
    async with open_log() as log:
        await write(log, *WHOLE)
        entries = await log.read("t")
    assert [str(entry.id) for entry in entries] == ["1-1", "1-2", "1-3", "1-4", "1-5", "1-6"]
    assert [entry.message for entry in entries] == [envelope(output, seq) for seq, output in enumerate(WHOLE, 1)]


async def test_the_newest_entries_of_many_turns_are_read_at_once(open_log: OpenLog) -> None:
    """None where there is none; a fence behind it, as of a turn that was claimed again, is no entry."""
    async with open_log() as log:
        await write(log, *WHOLE)
        await write(log, start("u"))
        for _ in range(3):
            await log.claim("t")
        newest = await log.newest(["u", "nobody", "t"])
        assert [entry and decode_output(entry.message.payload) for entry in newest] == [start("u"), None, end()]
        assert await log.newest([]) == ()


async def test_what_is_there_can_be_taken_without_waiting(open_log: OpenLog) -> None:
    """After the first entry, which a reader waits for; None at the end of what there is, and after the end."""
    async with open_log() as log:
        await write(log, *WHOLE[:3])
        async with log.follow("t") as reader:
            first = await anext(reader)
            rest = [reader.take_nowait(), reader.take_nowait()]
            assert says([first, *(entry for entry in rest if entry)]) == list(WHOLE[:3])
            assert reader.take_nowait() is None
            await write(log, *WHOLE[3:], first=4)
            last = [entry async for entry in reader]
            assert says(last) == list(WHOLE[3:])
            assert reader.take_nowait() is None


async def test_reading_goes_on_after_an_id(open_log: OpenLog) -> None:
    """Whoever says how far it has read gets the rest, at most as many as it asks for."""
    async with open_log() as log:
        await write(log, *WHOLE)
        assert says(await log.read("t", after=at("1-4"))) == list(WHOLE[4:])
        assert says(await log.read("t", after=at("1-1"), limit=2)) == list(WHOLE[1:3])
        assert await log.read("t", after=at("1-6")) == ()
        assert await log.read("t", after=at("7-0")) == ()


async def test_a_turn_that_nobody_wrote_is_empty(open_log: OpenLog) -> None:
    """Reading what is not there gives nothing and makes nothing."""
    async with open_log() as log:
        assert await log.read("nobody") == ()
        assert await log.read_events("nobody") == ()
        assert (await log.snapshot("nobody")).outputs == ()


async def test_a_snapshot_is_the_fold_of_the_log(open_log: OpenLog) -> None:
    """It holds what a reader of every entry ended up with."""
    async with open_log() as log:
        await write(log, *WHOLE)
        assert await log.snapshot("t") == fold_outputs(WHOLE)
        assert await log.outputs("t") == WHOLE


async def test_turns_do_not_mix(open_log: OpenLog) -> None:
    """Each turn has a log of its own, whatever characters its id has."""
    names = ("t:1", "t:1-1", "ü {x}", "t")
    async with open_log() as log:
        for name in names:
            await write(log, start(name), end(name))
        for name in names:
            assert says(await log.read(name)) == [start(name), end(name)]


async def test_an_event_id_that_names_no_entry_is_refused(open_log: OpenLog) -> None:
    """A log could not tell such a message from its repetition."""
    async with open_log() as log:
        message = envelope(start(), 1)
        for event_id in ("t", "other:1-1", "t:1", "t:x-1", "t:1-1-1", "t:1-99999999999999999999"):
            with pytest.raises(ValueError, match="id"):
                await log.append(type(message)(event_id=event_id, timestamp=0, turn_id="t", payload=message.payload))
        assert await log.read("t") == ()


# Trying again


async def test_appending_again_changes_nothing(open_log: OpenLog) -> None:
    """A writer that did not hear the answer tries again; the entry is there once."""
    async with open_log() as log:
        await write(log, *WHOLE[:3])
        await log.append(envelope(WHOLE[2], 3))
        await log.append(envelope(WHOLE[0], 1))
        assert says(await log.read("t")) == list(WHOLE[:3])
        assert log.counts.landed == 2
        assert log.counts.fenced == 0


# Several at once


async def test_several_outputs_of_a_turn_are_written_in_one_call(open_log: OpenLog) -> None:
    """In order, each under its own id; the call says how many."""
    async with open_log() as log:
        messages = [envelope(output, seq) for seq, output in enumerate(WHOLE, 1)]
        assert await log.append_many(messages[:1]) == 1
        assert await log.append_many(messages[1:]) == 5
        assert await log.append_many(()) == 0
        assert [entry.message for entry in await log.read("t")] == messages
        assert log.counts.appended == 6


async def test_of_several_outputs_those_that_had_landed_count_as_written(open_log: OpenLog) -> None:
    """A writer that did not hear the answer hands all of them over again; what is missing is added, once."""
    async with open_log() as log:
        messages = [envelope(output, seq) for seq, output in enumerate(WHOLE, 1)]
        assert await log.append_many(messages[:3]) == 3
        assert await log.append_many(messages) == 6
        assert await log.append_many(messages) == 6
        assert [entry.message for entry in await log.read("t")] == messages
        assert (log.counts.appended, log.counts.landed, log.counts.fenced) == (6, 9, 0)


async def test_of_several_outputs_a_former_owner_is_told_which_had_landed(open_log: OpenLog) -> None:
    """Those it had written are; the first that is not is refused with what it is refused for."""
    async with open_log() as mine, open_log() as theirs:
        messages = [envelope(output, seq) for seq, output in enumerate(WHOLE, 1)]
        await mine.append_many(messages[:2])
        await theirs.claim("t")
        assert await mine.append_many(messages[:4]) == 2
        with pytest.raises(FencedError, match="t:1-3"):
            await mine.append_many(messages[2:4])
        assert says(await theirs.read("t")) == list(WHOLE[:2])


async def test_of_several_outputs_some_may_be_left_for_another_call(open_log: OpenLog) -> None:
    """Ids with a gap, another epoch, another turn: as many calls as it takes, and nothing is lost or mixed up."""
    async with open_log() as log:
        await log.claim("t")
        first = [envelope(output, seq) for seq, output in zip((1, 2, 5, 6), WHOLE, strict=False)]
        await log.claim("t")
        rest = [*(envelope(text(str(seq)), seq, epoch=2) for seq in (1, 2)), envelope(end("u"), 1)]
        with pytest.raises(FencedError):
            await log.append_many(first)
        left = rest
        while left:
            taken = await log.append_many(left)
            assert taken >= 1
            left = left[taken:]
        assert [str(entry.id) for entry in await log.read("t")] == ["2-1", "2-2"]
        assert says(await log.read("u")) == [end("u")]
        gaps = [envelope(text(str(seq)), seq, epoch=2) for seq in (4, 5, 9, 12)]
        while gaps:
            gaps = gaps[await log.append_many(gaps) :]
        assert [str(entry.id) for entry in await log.read("t")] == ["2-1", "2-2", "2-4", "2-5", "2-9", "2-12"]


async def test_a_message_that_cannot_be_written_is_the_trouble_of_its_own_caller(open_log: OpenLog) -> None:
    """What comes before it in the same call is written; it is refused by itself; others do not notice."""
    async with open_log() as log:
        good = envelope(start(), 1)
        bad = type(good)(event_id="t:x", timestamp=0, turn_id="t", payload=good.payload)
        assert await log.append_many([good, bad]) == 1
        with pytest.raises(ValueError, match="id"):
            await log.append_many([bad])
        assert says(await log.read("t")) == [start()]


# Owners


async def test_the_first_owner_writes_under_the_first_epoch(open_log: OpenLog) -> None:
    """Claims count the owners of a turn; a claim is not seen by readers."""
    async with open_log() as log:
        assert await log.claim("t") == 1
        assert await log.read("t") == ()
        await write(log, start())
        assert await log.claim("t") == 2
        await write(log, end(), epoch=2)
        assert [str(entry.id) for entry in await log.read("t")] == ["1-1", "2-1"]


async def test_a_former_owner_is_refused_from_the_moment_of_the_claim(open_log: OpenLog) -> None:
    """Also before the new owner has written anything, also for an entry that would have been next."""
    async with open_log() as mine, open_log() as theirs:
        assert await mine.claim("t") == 1
        await write(mine, start(), text("x", status="create"))
        assert await theirs.claim("t") == 2
        with pytest.raises(FencedError, match="turn t"):
            await write(mine, text("xy"), first=3)
        with pytest.raises(FencedError):
            await write(mine, text("xyz"), first=8)
        await write(theirs, end(), epoch=2)
        with pytest.raises(FencedError):
            await write(mine, end(), first=9)
        assert says(await mine.read("t")) == [start(), text("x", status="create"), end()]


async def test_a_former_owner_still_hears_that_its_last_append_had_landed(open_log: OpenLog) -> None:
    """What is in the log is in the log: trying it again is no offence, whoever owns the turn by now."""
    async with open_log() as mine, open_log() as theirs:
        await write(mine, start())
        await theirs.claim("t")
        await mine.append(envelope(start(), 1))
        assert mine.counts.landed == 1


async def test_of_two_hundred_claims_at_once_each_gets_an_epoch_of_its_own(open_log: OpenLog) -> None:
    """Claims of one turn through one log are settled one after the other or refused; no epoch is given twice."""
    epochs: list[int] = []

    async def claim(log: TurnLog) -> None:
        with suppress(FencedError):
            epochs.append(await log.claim("t"))

    async with open_log() as log:
        async with trio.open_nursery() as nursery:
            for _ in range(200):
                nursery.start_soon(claim, log)
        assert epochs
        assert sorted(set(epochs)) == sorted(epochs)
        assert max(epochs) == len(epochs)


# Following


async def test_a_follower_gets_what_is_there_and_what_comes(open_log: OpenLog) -> None:
    """Replay first, then live, each entry once, and the end after the terminal."""
    got = Gathered[Entry]()
    async with open_log() as log, trio.open_nursery() as nursery:
        await write(log, *WHOLE[:2])
        nursery.start_soon(got.read, log.follow("t"))
        await got.wait(2)
        for seq, output in enumerate(WHOLE[2:], 3):
            await log.append(envelope(output, seq))
            await got.wait(seq)
    assert says(got.entries) == list(WHOLE)
    assert not any(entry.rewound for entry in got.entries)


async def test_a_follower_may_come_before_the_turn(open_log: OpenLog) -> None:
    """Following a turn that has not begun waits for it."""
    got = Gathered[Entry]()
    async with open_log() as log, trio.open_nursery() as nursery:
        nursery.start_soon(got.read, log.follow("t"))
        await trio.testing.wait_all_tasks_blocked(0.05)
        await write(log, *WHOLE)
        await got.wait(len(WHOLE))
    assert says(got.entries) == list(WHOLE)


async def test_following_goes_on_from_every_place(open_log: OpenLog) -> None:
    """A reader that comes back with its cursor gets exactly the rest, and ends with the same state."""
    async with open_log() as log:
        await write(log, *WHOLE)
        for seen in range(len(WHOLE) + 1):
            got = await read_all(log.follow("t", after=at(f"1-{seen}")))
            assert says(got) == list(WHOLE[seen:])


async def test_a_late_reader_is_spared_the_states_between(open_log: OpenLog) -> None:
    """Of a long text it gets the first state and the newest ones; its items stand in the order of first sight."""
    states = [text("x" * n) for n in range(2, 400)]
    outputs: list[Output] = [
        start(),
        text("x", status="create"),
        text("other", item="o", status="complete"),
        *states,
        text("x" * 400, status="complete"),
        end(),
    ]
    async with open_log() as log:
        await write(log, *outputs)
        got = await read_all(log.follow("t"))
        assert fold_outputs(says(got)) == await log.snapshot("t")
    assert len(got) < 80
    assert says(got)[:3] == outputs[:3]
    assert [entry.id for entry in got] == sorted({entry.id for entry in got})


async def test_a_reader_whose_cursor_is_ahead_is_told_everything_anew(open_log: OpenLog) -> None:
    """The log cannot have given that cursor: it has lost something since, so the reader begins again."""
    async with open_log() as log:
        await write(log, *WHOLE)
        got = await read_all(log.follow("t", after=at("3-7")))
    assert says(got) == list(WHOLE)
    assert [entry.rewound for entry in got] == [True] + [False] * 5


async def test_two_followers_share_one_view_and_both_get_everything(open_log: OpenLog) -> None:
    """The second one to come reads what the first one's reading brought in."""
    one, two = Gathered[Entry](), Gathered[Entry]()
    async with open_log() as log, trio.open_nursery() as nursery:
        await write(log, *WHOLE[:4])
        nursery.start_soon(one.read, log.follow("t"))
        await one.wait(4)
        nursery.start_soon(two.read, log.follow("t"))
        await write(log, *WHOLE[4:], first=5)
        await one.wait(6)
        await two.wait(6)
    assert says(one.entries) == says(two.entries) == list(WHOLE)


async def test_a_reader_that_stops_early_lets_go_of_the_log(open_log: OpenLog) -> None:
    """Leaving its block is enough, and so is forgetting it."""
    async with open_log() as log:
        await write(log, *WHOLE[:3])
        with trio.fail_after(10):
            async with log.follow("t") as reader:
                assert (await anext(reader)).id == at("1-1")
                assert _readers(log) == 1
                assert reader.cursor == at("1-1")
            assert _readers(log) == 0
            with pytest.raises(StopAsyncIteration):
                await anext(reader)
            forgotten = log.follow("t")
            await anext(forgotten)
            assert _readers(log) == 1
            del forgotten
            assert _readers(log) == 0


async def test_closing_a_reader_ends_a_task_that_waits_in_it(open_log: OpenLog) -> None:
    """Whoever waits for the next entry is told that there will be none."""
    got = Gathered[Entry]()
    async with open_log() as log, trio.open_nursery() as nursery:
        reader = log.follow("t")
        nursery.start_soon(got.read, reader)
        await trio.testing.wait_all_tasks_blocked(0.05)
        reader.close()
    assert got.entries == []


async def test_a_reader_can_be_cancelled(open_log: OpenLog) -> None:
    """It holds no lock and no thread: cancelling it ends it at once."""
    async with open_log() as log:
        with trio.move_on_after(0.05) as scope:
            await read_all(log.follow("t"))
        assert scope.cancelled_caught


async def test_a_follower_skips_fences(open_log: OpenLog) -> None:
    """A claim in the middle of a turn is nothing that a reader sees."""
    async with open_log() as log:
        await log.claim("t")
        await write(log, *WHOLE[:3])
        await log.claim("t")
        await write(log, *WHOLE[3:], epoch=2)
        got = await read_all(log.follow("t"))
    assert says(got) == list(WHOLE)
    assert str(got[-1].id) == "2-3"


# Raw events


async def test_raw_events_come_back_as_they_were_written(open_log: OpenLog) -> None:
    """StreamEvents or their JSON; one append may hold many, and they stay together and in order."""
    events = [started(), begin("m"), delta("m", "ü"), said("m", "ü"), finished()]
    async with open_log() as log:
        ids = await log.append_events("r", [events[0], encode_event(events[1])])
        ids += await log.append_events("r", events[2:])
        assert await log.append_events("r", []) == ()
        entries = await log.read_events("r")
        assert [entry.id for entry in entries] == list(ids) == sorted(ids)
        assert [entry.event for entry in entries] == [encode_event(each) for each in events]
        assert await log.read_events("r", after=ids[1], limit=2) == entries[2:4]
        assert await log.read_events("r", after=ids[-1]) == ()


async def test_raw_events_are_followed_to_the_one_that_ends_the_turn(open_log: OpenLog) -> None:
    """Every single event, replayed and live; a stop ends a turn as well as its own end does."""
    got = Gathered[RawEntry]()
    events = [started(), begin("m"), *(delta("m", f"{n} ") for n in range(700))]
    stop = event(TurnAbortedByUser(turn_id="t", reason="enough"))
    async with open_log() as log, trio.open_nursery() as nursery:
        await log.append_events("r", events[:600])
        nursery.start_soon(got.read, log.follow_events("r"))
        await got.wait(600)
        for each in events[600:]:
            await log.append_events("r", [each])
        await log.append_events("r", [stop, delta("m", "late")])
        await got.wait(len(events) + 1)
    assert [entry.event for entry in got.entries] == [encode_event(each) for each in (*events, stop)]


async def test_a_raw_reader_that_falls_behind_misses_nothing(open_log: OpenLog) -> None:
    """What is no longer at hand it reads from the log itself."""
    async with open_log() as log:
        first = await log.append_events("r", [started()])
        with trio.fail_after(20):
            async with log.follow_events("r") as slow, log.follow_events("r", after=first[0]) as quick:
                assert (await anext(slow)).id == first[0]
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(anext, slow)
                    await trio.testing.wait_all_tasks_blocked(0.05)
                    await log.append_events("r", [delta("m", "-1")])
                expected = [delta("m", str(n)) for n in range(900)]
                for start_at in range(0, 900, 100):
                    await log.append_events("r", expected[start_at : start_at + 100])
                    for _ in range(100):
                        await anext(quick)
                read = [(await anext(slow)).event for _ in range(900)]
    assert read == [encode_event(each) for each in expected]


def _readers(log: TurnLog) -> int:
    readers = getattr(log, "readers", None)
    assert isinstance(readers, int)
    return readers
