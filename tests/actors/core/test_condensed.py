"""What a reader of a log needs, however late or slow it is."""

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.logs import end, envelope, start, text
from turnwire.actors.core.condensed import KEEP_BYTES, KEEP_STATES, CondensedLog
from turnwire.messages.entries import START, Entry, EntryId, id_of
from turnwire.messages.folds import fold_outputs
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Output, StreamMessage


def entries_of(outputs: list[Output]) -> list[Entry]:
    messages = [envelope(output, seq) for seq, output in enumerate(outputs, 1)]
    return [Entry(id=id_of(message), message=message) for message in messages]


def rest(log: CondensedLog, cursor: EntryId = START) -> list[Entry]:
    found: list[Entry] = []
    while (entry := log.after(cursor)) is not None:
        found.append(entry)
        cursor = entry.id
    return found


def condensed(outputs: list[Output]) -> CondensedLog:
    log = CondensedLog()
    for entry in entries_of(outputs):
        log.push(entry)
    return log


def test_few_states_are_all_there() -> None:
    """A reader that keeps up sees every single one."""
    outputs: list[Output] = [start(), text("a", status="create"), text("ab"), text("abc", status="complete"), end()]
    log = condensed(outputs)
    assert [decode_output(entry.message.payload) for entry in rest(log)] == outputs
    assert log.terminal_id == log.last_id == EntryId(1, 5)


def test_of_many_states_the_first_and_the_newest_stay() -> None:
    """The states between go, oldest first, as new ones come."""
    log = condensed([start(), *(text("x" * n) for n in range(1, 501))])
    kept = [entry.id.minor for entry in rest(log)]
    assert kept == [1, 2, *range(501 - KEEP_STATES, 502)]


def test_long_states_between_are_limited_by_their_bytes() -> None:
    """A long text's states are large: not sixty-four of them are held for readers who are late."""
    log = condensed([text("x" * 100_000) for _ in range(100)])
    assert sum(len(entry.message.payload) for entry in rest(log)) < KEEP_BYTES + 2 * 100_200
    assert rest(log)[-1].id == EntryId(1, 100)


def test_an_entry_that_is_known_changes_nothing() -> None:
    """Entries come once, in order; what comes again, or after the end, is not told twice."""
    log = condensed([start(), text("a"), end()])
    before = rest(log)
    for entry in (*before, *entries_of([start(), text("a"), end(), text("late")])):
        log.push(entry)
    assert rest(log) == before


def test_what_is_no_output_is_passed_on() -> None:
    """An entry that somebody else wrote is not ours to judge."""
    log = CondensedLog()
    strange = StreamMessage(event_id="t:1-1", timestamp=0, turn_id="t", payload="\udc80 no JSON")
    log.push(Entry(id=EntryId(1, 1), message=strange))
    assert [entry.message for entry in rest(log)] == [strange]


@given(items=st.lists(st.sampled_from("abc"), max_size=300), data=st.data())
def test_a_reader_ends_with_the_same_state_whenever_it_reads(items: list[str], data: st.DataObject) -> None:
    """In any rhythm, from any place: same items in the same order, ids rising, none given twice."""
    outputs: list[Output] = [
        start(),
        *(text(f"{item}{number}", item=item) for number, item in enumerate(items)),
        end(),
    ]
    log, cursor, got = CondensedLog(), START, list[Entry]()
    for entry in entries_of(outputs):
        log.push(entry)
        if data.draw(st.integers(0, 9)) == 0:
            for _ in range(data.draw(st.integers(0, 5))):
                if (following := log.after(cursor)) is not None:
                    got.append(following)
                    cursor = following.id
    got += rest(log, cursor)
    assert fold_outputs(decode_output(entry.message.payload) for entry in got) == fold_outputs(outputs)
    assert [entry.id for entry in got] == sorted({entry.id for entry in got})
    assert len(log) <= 2 + 2 * 3 + KEEP_STATES
