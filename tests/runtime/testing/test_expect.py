"""Asserts about outputs: what passes, and how what does not is shown."""

import pytest

from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.outputs import Message, Output, TurnComplete, TurnStarted
from turnwire.runtime.testing import assert_outputs, assert_says

STARTED = TurnStarted(turn_id="t", thread_id="th")
DONE = TurnComplete(turn_id="t", thread_id="th", status="complete")


def said(text: str, status: str = "complete", item_id: str = "m") -> Message:
    return Message(
        turn_id="t",
        thread_id="th",
        item_id=item_id,
        status=status,  # type: ignore[arg-type]  # one of its words
        content=text,
        origin="agent",
    )


TOLD: list[Output] = [STARTED, said("H", "create"), said("Hel", "update"), said("Hello"), DONE]


@pytest.mark.parametrize(
    "expected",
    [
        TOLD,
        [{"type": "turn_started"}, ..., {"type": "turn_complete"}],
        [...],
        [..., ...],
        [{}, {}, {}, {}, {}],
        [..., {"content": "Hel"}, {"content": "Hello"}, ...],
        [..., {"status": "complete", "type": "message"}, DONE],
        [..., *TOLD, ...],
    ],
)
def test_outputs_that_are_as_expected_pass(expected: list[Output]) -> None:
    """Whole outputs, some of their fields, and `...` for any number of them."""
    assert_outputs(TOLD, expected)


@pytest.mark.parametrize(
    ("expected", "report"),
    [
        ([], "5 more than expected, from output 0 on"),
        ([STARTED], "4 more than expected, from output 1 on"),
        (
            [*TOLD, {"type": "message"}],
            "expected output 5 was not told at 5\n  expected message\n  told     nothing more",
        ),
        (
            [STARTED, {"type": "message", "content": "x", "status": "create"}, ...],
            "expected output 1 was not told at 1\n"
            "  expected message content='x' status='create'\n"
            "  told     message content='H' status='create'\n"
            "  differs in content\n"
            "all that was told:\n"
            "    0 turn_started\n"
            "→   1 message itemId='m' status='create' content='H'\n",
        ),
        ([..., {"content": "never"}, ...], "expected output 1 was not told, neither at 0 nor later"),
        ([..., {"content": "Hello"}], "1 more than expected, from output 4 on"),
    ],
)
def test_outputs_that_are_not_are_shown_where_they_differ(expected: list[Output], report: str) -> None:
    """The first place, what was expected there, what was told, and the whole list around it."""
    with pytest.raises(AssertionError) as caught:
        assert_outputs(TOLD, expected)
    assert str(caught.value).startswith(report)


def test_a_long_text_is_shown_short() -> None:
    """Both ends: the difference is mostly at one of them."""
    with pytest.raises(AssertionError) as caught:
        assert_outputs([said("a" * 500 + "end")], [{"content": "b"}])
    assert all(len(line) < 120 for line in str(caught.value).splitlines())
    assert "end'" in str(caught.value)


def test_nothing_told_is_said() -> None:
    """An empty list is a finding too."""
    with pytest.raises(AssertionError, match="nothing was told"):
        assert_outputs([], [DONE])


def test_what_the_agent_says_is_its_last_message() -> None:
    """The user's own do not count."""
    snapshot = TurnSnapshot(started=STARTED, items=(said("one"), said("two", item_id="m2")), terminal=DONE)
    assert_says(snapshot, "two")
    with pytest.raises(AssertionError, match="expected the agent to say 'one'\nbut it said     'two'"):
        assert_says(snapshot, "one")
    with pytest.raises(AssertionError, match="None"):
        assert_says([DONE], "one")
