"""What was acknowledged lately is kept, for some seconds and up to some bytes."""

from hypothesis import given
from hypothesis import strategies as st

from turnwire.actors.core.kept_tail import COMMAND_BYTES, RECORD_BYTES, KeptTail
from turnwire.messages.entries import EntryId


def minors(tail: KeptTail, key: str) -> list[int]:
    return [kept.id.minor for name, entries in tail.tails() if name == key for kept in entries]


def test_what_is_old_is_let_go() -> None:
    """By the time of its acknowledgement; what is just as old as allowed stays."""
    tail = KeptTail(seconds=10, most_bytes=10**9)
    for minor in range(1, 6):
        tail.add("a", EntryId(1, minor), (b"v",), now=float(minor))
    tail.trim(now=12.0)
    assert minors(tail, "a") == [2, 3, 4, 5]
    assert tail.dropped("a") == EntryId(1, 1)
    tail.trim(now=99.0)
    assert not tail.keeps("a")
    assert tail.dropped("a") is None
    assert list(tail.gone()) == []
    assert (len(tail), tail.bytes) == (0, 0)


def test_of_too_much_the_oldest_goes_whichever_log_it_is_of() -> None:
    """The limit is one for all logs."""
    tail = KeptTail(seconds=10, most_bytes=3 * (RECORD_BYTES + COMMAND_BYTES + 10))
    for minor, key in enumerate("abab", 1):
        tail.add(key, EntryId(1, minor), (b"v" * 9,), now=0.0)
    assert minors(tail, "a") == [3]
    assert minors(tail, "b") == [2, 4]
    assert tail.dropped("a") == EntryId(1, 1)
    assert tail.dropped("b") is None


def test_what_had_to_go_early_is_still_known_by_its_id() -> None:
    """Until it is old enough: should it be lost, that can be said."""
    tail = KeptTail(seconds=10, most_bytes=RECORD_BYTES)
    tail.add("a", EntryId(1, 1), (b"a long value",), now=0.0)
    assert not tail.keeps("a")
    assert list(tail.gone()) == [("a", EntryId(1, 1))]
    tail.trim(now=11.0)
    assert list(tail.gone()) == []


def test_a_log_that_is_forgotten_can_be_begun_anew() -> None:
    """Nothing of what was kept before comes back, and the others are as they were."""
    tail = KeptTail(seconds=10, most_bytes=10**9)
    for minor, key in enumerate("aba", 1):
        tail.add(key, EntryId(1, minor), (b"v",), now=0.0)
    assert tail.newest("a") == EntryId(1, 3)
    before = tail.bytes
    tail.forget("a")
    assert (tail.keeps("a"), tail.newest("a"), tail.bytes) == (False, None, before // 3)
    tail.add("a", EntryId(1, 1), (b"v", b"w"), now=5.0)
    assert tail.newest("a") == EntryId(1, 2)
    tail.trim(now=12.0)
    assert (minors(tail, "a"), minors(tail, "b")) == ([1], [])
    assert tail.dropped("a") is None
    tail.trim(now=99.0)
    assert (len(tail), tail.bytes) == (0, 0)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 500), st.floats(0, 3))),
    st.floats(0.1, 20),
    st.integers(RECORD_BYTES, 5000),
)
def test_what_is_kept_is_the_end_of_each_log(
    adds: list[tuple[str, int, float]], seconds: float, most_bytes: int
) -> None:
    """Never a hole: per log the newest entries in order, and the newest of those that went is named."""
    tail, now = KeptTail(seconds=seconds, most_bytes=most_bytes), 0.0
    added: dict[str, list[int]] = {}
    at: dict[int, float] = {}
    for minor, (key, size, wait) in enumerate(adds, 1):
        now += wait
        tail.add(key, EntryId(1, minor), (b"v" * size,), now=now)
        added.setdefault(key, []).append(minor)
        at[minor] = now
        assert tail.bytes <= most_bytes
    for key, entries in added.items():
        kept = minors(tail, key)
        assert kept == entries[len(entries) - len(kept) :]
        gone = entries[: len(entries) - len(kept)]
        newest = EntryId(1, gone[-1]) if gone else None
        assert tail.dropped(key) in (newest, None)
        if gone and now - at[gone[-1]] < seconds:
            assert tail.dropped(key) == newest
        assert dict(tail.gone()).get(key) == (None if kept else tail.dropped(key))
