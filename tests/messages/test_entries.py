"""Entry ids, and the glance at what an entry holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.messages.entries import START, EntryId, id_of
from turnwire.messages.outputs import StreamMessage
from turnwire.messages.peek import EventPeek, OutputPeek, peek_event, peek_output

HALVES = st.integers(0, 2**64 - 1)


@given(HALVES, HALVES)
def test_an_id_reads_back_as_it_was_written(major: int, minor: int) -> None:
    """Text and back is the same id."""
    assert EntryId.parse(str(EntryId(major, minor))) == EntryId(major, minor)


@pytest.mark.parametrize(
    "text", ["", "1", "-", "1-", "-1", "1-1-1", "01-1", "1-٣", "1-1 ", "-1-1", f"{2**64}-0", "a-b"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    """The message shows what came and what an id looks like."""
    with pytest.raises(ValueError, match="such as 1-7"):
        EntryId.parse(text)


def test_reading_from_the_start_comes_before_every_entry() -> None:
    """The smallest id that an entry can have is greater."""
    assert EntryId(0, 1) > START


def test_a_message_says_where_it_stands() -> None:
    """By the end of its event id; the turn's own id may hold colons and dashes."""
    message = StreamMessage(event_id="a:b-1:2-7", timestamp=0, turn_id="a:b-1", payload="")
    assert id_of(message) == EntryId(2, 7)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ('{"type":"message","itemId":"m","content":"x"}', OutputPeek(type="message", item_id="m")),
        ('{"turnId":"t","type":"turn_complete"}', OutputPeek(type="turn_complete")),
        ("no JSON", OutputPeek()),
        ("[1]", OutputPeek()),
        ('{"type": 7}', OutputPeek()),
    ],
)
def test_a_glance_at_an_output(payload: str, expected: OutputPeek) -> None:
    """Its type and item; what is no output looks like nothing in particular."""
    assert peek_output(payload) == expected
    assert peek_output(payload).is_terminal == (expected.type == "turn_complete")


@pytest.mark.parametrize(
    ("event", "ends"),
    [
        (b'{"type":"response_done","event_id":"e"}', True),
        (b'{"type":"response_error","event_id":"e"}', True),
        (b'{"type":"turn_aborted_by_user","event_id":"e"}', True),
        (b'{"type":"item_done","event_id":"e"}', False),
        (b"\xff", False),
    ],
)
def test_a_glance_at_an_event(event: bytes, *, ends: bool) -> None:
    """Whether it ends its turn."""
    assert peek_event(event).is_terminal is ends
    assert peek_event(event) == EventPeek() or peek_event(event).event_id == "e"
