"""Counts."""

from turnwire.actors.core.counts import Counts


def test_what_never_happened_is_not_there() -> None:
    """A count begins with the first."""
    counts = Counts()
    assert counts == {}
    counts.add("late_events")
    counts.add("late_events")
    counts.add("unknown_items")
    assert counts == {"late_events": 2, "unknown_items": 1}
