"""Counts."""

from turnwire.actors.core.counts import Counts, count


def test_what_never_happened_is_not_there() -> None:
    """A count begins with the first."""
    counts: Counts = {}
    assert counts == {}
    count(counts, "late_events")
    count(counts, "late_events")
    count(counts, "unknown_items")
    assert counts == {"late_events": 2, "unknown_items": 1}
