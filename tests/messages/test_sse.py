"""The SSE parser: the same events however the bytes are cut (C15)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.messages.sse import ServerSentEvent, SseParser


def parse(*pieces: bytes | str) -> list[ServerSentEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.finish()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_c15_all_three_line_ends(end: str) -> None:
    """LF, CRLF and CR end lines, and a blank line ends an event."""
    body = end.join(["event: one", "data: 1", "", "data: 2", "", ""])
    assert parse(body.encode()) == [ServerSentEvent(data="1", name="one"), ServerSentEvent(data="2")]


def test_c15_comments_fields_and_several_data_lines() -> None:
    """Comments and unknown fields are passed over, data lines are joined, ids and retry are remembered."""
    parser = SseParser()
    events = parser.feed(": hello\nid: 7\nretry: 1500\nfuture: x\ndata: a\ndata\ndata:  b\n\n: bye\n\n")
    assert events == [ServerSentEvent(data="a\n\n b", last_id="7")]
    assert parser.retry == 1500


def test_c15_a_last_block_without_a_blank_line_is_given() -> None:
    """A body that forgets its last blank line loses nothing."""
    assert parse("data: 1\n\ndata: 2") == [ServerSentEvent(data="1"), ServerSentEvent(data="2")]
    assert parse("event: end") == []


def test_c15_a_byte_order_mark_is_skipped() -> None:
    """Only at the very beginning."""
    assert parse(b"\xef\xbb\xbfdata: \xef\xbb\xbf1\n\n") == [ServerSentEvent(data="\ufeff1")]


def test_line_separators_inside_json_are_text() -> None:
    """Only CR and LF end lines; U+2028, form feeds and their kin are data."""
    assert parse("data: a\u2028b\x0cc\x85d\n\n") == [ServerSentEvent(data="a\u2028b\x0cc\x85d")]


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    """One bad byte costs one character, not the stream."""
    assert parse(b"data: a\xffb\n\n") == [ServerSentEvent(data="a\ufffdb")]


def test_an_event_past_all_measure_is_refused() -> None:
    """Memory is bounded, in one line and in many."""
    with pytest.raises(ValueError, match="more than 10"):
        SseParser(max_event_characters=10).feed("data: 0123456789abc")
    with pytest.raises(ValueError, match="more than 10"):
        SseParser(max_event_characters=10).feed("data: 012345\n" * 3)


TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)


@given(
    data=st.lists(st.lists(TEXTS, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400)),
)
def test_c15_cut_anywhere_it_is_the_same(data: list[list[str]], end: str, cuts: list[int]) -> None:
    """Cut in a character, a line end or a field name: the events do not depend on it."""
    body = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in data).encode()
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    pieces = [body[start:stop] for start, stop in itertools.pairwise(places)]
    assert [event.data for event in parse(*pieces)] == ["\n".join(lines) for lines in data]
    assert parse(*(body[place : place + 1] for place in range(len(body)))) == parse(body)
