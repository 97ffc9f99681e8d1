"""One item's text: how it is counted, when it is due, and how halves of a pair meet again."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.actors.core.gradient import Gradient
from turnwire.actors.core.item_buffer import BufferInfo, ItemBuffer
from turnwire.actors.core.text import estimate_tokens, has_halves, utf8_length, utf16_length

HIGH, LOW, MARK = "\ud83d", "\ude00", "\ufffd"


def buffer(*steps: float, held: bool = False) -> ItemBuffer:
    return ItemBuffer("a", "message", Gradient(steps or (10,)), now=0.0, held=held)


def grown(*texts: str) -> ItemBuffer:
    item = buffer()
    for text in texts:
        item.append(text, now=0.0)
    return item


@pytest.mark.parametrize(
    ("text", "units", "tokens", "size"),
    [
        ("", 0, 0, 0),
        ("abc", 3, 1, 3),
        ("abcd", 4, 1, 4),
        ("abcde", 5, 2, 5),
        ("é", 1, 1, 2),
        ("€", 1, 1, 3),
        ("😀", 2, 1, 4),
        ("😀" * 2 + "a", 5, 2, 9),
        (HIGH, 1, 1, 3),
    ],
)
def test_text_is_counted_as_user_interfaces_count(text: str, units: int, tokens: int, size: int) -> None:
    """UTF-16 code units, a quarter of them as tokens, UTF-8 bytes for the limits."""
    assert (utf16_length(text), estimate_tokens(text), utf8_length(text)) == (units, tokens, size)
    info = grown(text).info()
    assert (info.content_length, info.token_count) == (units, tokens)
    assert grown(text).size == size


@pytest.mark.parametrize(
    ("text", "expected"), [("", False), ("a", False), ("😀", False), (HIGH, True), ("é" + LOW, True)]
)
def test_halves_are_found(text: str, expected: bool) -> None:
    """A whole pair is no half."""
    assert has_halves(text) is expected


def test_a_buffer_describes_itself() -> None:
    """The look inside that hosts get."""
    item = ItemBuffer("a", "thinking", Gradient([1]), now=0.0)
    item.append("some text", now=0.0)
    item.take()
    assert item.info() == BufferInfo(
        item_id="a",
        content_type="thinking",
        token_count=3,
        content_length=9,
        batch_index=2,
        is_held=False,
        is_complete=False,
    )


def test_an_emission_is_due_past_the_limit() -> None:
    """At the limit nothing is due, one unit past it something is."""
    item = buffer(10)
    assert not item.append("x" * 40, now=0.0)
    assert item.append("x", now=0.0)


def test_the_limit_moves_when_the_text_is_taken() -> None:
    """Taking moves the index past what is exceeded, and no further."""
    item = buffer(10)
    item.append("x" * 41, now=0.0)
    assert item.take() == "x" * 41
    assert (item.batch_index, item.limit) == (1, 80)
    item.append("x", now=0.0)
    item.take()
    assert item.batch_index == 1


def test_news_is_judged_by_text() -> None:
    """One character that adds no token is news; nothing is none."""
    item = grown("abc")
    item.take()
    assert not item.has_news
    item.append("", now=0.0)
    assert not item.has_news
    item.append("d", now=0.0)
    assert item.has_news
    assert item.take() == "abcd"


def test_the_first_emission_is_remembered() -> None:
    """What was shown once is an update from then on."""
    item = grown("a")
    assert not item.shown
    item.take()
    assert item.shown


@pytest.mark.parametrize(
    "parts",
    [
        (f"a{HIGH}", f"{LOW}b"),
        (f"a{HIGH}", LOW, "b"),
        ("a", HIGH, LOW, "b"),
        (f"a{HIGH}", "", f"{LOW}b"),
        (f"a{HIGH}{LOW}b",),
    ],
)
def test_halves_are_joined_over_deltas(parts: tuple[str, ...]) -> None:
    """Two halves are one character, over two deltas, three, or an empty one between."""
    item = grown(*parts)
    assert item.take() == "a😀b"
    assert item.units == 4
    assert item.size == 6


def test_a_waiting_half_is_held_back() -> None:
    """It counts toward the length, is no news, and comes with its partner."""
    item = grown("a" + HIGH)
    assert item.has_news
    assert item.take() == "a"
    assert not item.has_news
    item.append(LOW, now=0.0)
    assert item.has_news
    assert item.take() == "a😀"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((HIGH, "a"), MARK + "a"),
        ((LOW,), MARK),
        (("a", LOW), "a" + MARK),
        ((HIGH, HIGH, LOW), MARK + "😀"),
        ((HIGH, "é"), MARK + "é"),
        ((LOW + HIGH, LOW), MARK + "😀"),
    ],
)
def test_a_half_without_a_partner_becomes_a_mark(parts: tuple[str, ...], text: str) -> None:
    """What can no longer be joined is U+FFFD, one for each half."""
    item = grown(*parts)
    assert item.take() == text
    assert item.units == utf16_length(text)


def test_at_the_end_a_waiting_half_becomes_a_mark() -> None:
    """Giving up makes it news; looking ahead shows the same text."""
    item = grown("a" + HIGH)
    item.take()
    assert item.text() == "a" + MARK
    item.give_up_half()
    item.give_up_half()
    assert item.has_news
    assert item.take() == item.text() == "a" + MARK


def test_the_deadline_counts_from_the_last_delta() -> None:
    """It starts at the start and again at each delta, empty ones included."""
    item = buffer()
    assert item.deadline(1.0, inf) == 1.0
    item.append("x", now=0.5)
    assert item.deadline(1.0, inf) == 1.5
    item.append("", now=0.75)
    assert item.deadline(1.0, inf) == 1.75


def test_a_held_item_has_no_deadline() -> None:
    """Neither by timeout nor by latency."""
    item = buffer(held=True)
    item.append("x", now=0.0)
    assert item.deadline(1.0, 0.5) == inf


def test_a_fired_timeout_rests_until_the_next_delta() -> None:
    """Once per stall."""
    item = grown("x")
    item.take()
    item.fire(1.0, 1.0)
    assert item.deadline(1.0, inf) == inf
    item.append("y", now=5.0)
    assert item.deadline(1.0, inf) == 6.0


def test_latency_counts_from_the_oldest_text_not_emitted() -> None:
    """Later deltas do not move it; an emission does."""
    item = buffer()
    assert item.deadline(9.0, 1.0) == 9.0
    item.append("x", now=2.0)
    item.append("y", now=2.5)
    assert item.deadline(9.0, 1.0) == 3.0
    item.take()
    assert item.deadline(9.0, 1.0) == 11.5
    item.append("z", now=4.0)
    assert item.deadline(9.0, 1.0) == 5.0


def test_latency_firing_leaves_the_timeout_running() -> None:
    """The batch timeout of the last delta is still to come."""
    item = buffer()
    item.append("x", now=0.0)
    item.take()
    item.fire(0.5, 1.0)
    assert item.deadline(1.0, 0.5) == 1.0


def test_an_earlier_deadline_is_announced() -> None:
    """Whoever sleeps until the deadline is told when it may have come nearer: at new text after all was emitted."""
    item = buffer()
    item.append("x", now=0.0)
    assert item.moved
    item.moved = False
    item.append("y", now=0.1)
    assert not item.moved
    item.take()
    item.append("z", now=0.2)
    assert item.moved


TEXTS = st.text(st.sampled_from("ab é€😀🎉\n"), max_size=30)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, data=st.data())
def test_any_split_gives_the_same_text(text: str, data: st.DataObject) -> None:
    """However a text is cut into code units, it arrives whole, counted the same, and no emission has half a pair."""
    units = [
        text.encode("utf-16-le")[at : at + 2].decode("utf-16-le", "surrogatepass")
        for at in range(0, 2 * utf16_length(text), 2)
    ]
    item, seen = buffer(1), ""
    while units:
        size = data.draw(st.integers(1, len(units)))
        item.append("".join(units[:size]), now=0.0)
        del units[:size]
        if data.draw(st.booleans()):
            taken = item.take()
            assert not has_halves(taken)
            assert taken.startswith(seen)
            assert text.startswith(taken)
            seen = taken
    item.give_up_half()
    assert item.has_news == (seen != text)
    assert item.take() == text
    assert item.units == utf16_length(text)
    assert item.size == utf8_length(text)


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.text(st.sampled_from(["a", "😀", HIGH, LOW]), max_size=4), max_size=8))
def test_any_halves_end_as_whole_text(parts: list[str]) -> None:
    """Whatever halves come, the end is the text as UTF-16 would read it, marks for halves left alone."""
    item = grown(*parts)
    whole = "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert item.text() == whole
    item.give_up_half()
    assert item.take() == whole
