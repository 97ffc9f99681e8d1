"""The quick way to a message and its envelope comes to the same as the ordinary one."""

import attrs
import pytest

from turnwire.messages.outputs import Message, StreamMessage
from turnwire.messages.quick_outputs import make_envelope, make_message


def test_a_message_made_quickly_is_like_any_other() -> None:
    """Equal, with the same hash and words, every field set, and as frozen."""
    quick = make_message("t", "th", "m", "update", "text", "agent")
    plain = Message(turn_id="t", thread_id="th", item_id="m", status="update", content="text", origin="agent")
    assert quick == plain
    assert (hash(quick), repr(quick), attrs.asdict(quick)) == (hash(plain), repr(plain), attrs.asdict(plain))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        quick.content = "other"  # type: ignore[misc]  # the mistake under test


def test_an_envelope_made_quickly_is_like_any_other() -> None:
    """Equal, with the same hash and words, every field set, and as frozen."""
    quick = make_envelope("t:1-1", 7, "t", "{}")
    plain = StreamMessage(event_id="t:1-1", timestamp=7, turn_id="t", payload="{}")
    assert quick == plain
    assert (hash(quick), repr(quick), attrs.asdict(quick)) == (hash(plain), repr(plain), attrs.asdict(plain))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        quick.payload = "other"  # type: ignore[misc]  # the mistake under test
