"""A process of our own collects rarely; whoever embeds us keeps the collector as it was."""

import gc

import pytest

from turnwire.runtime.collector import THRESHOLDS, collect_rarely


def test_inside_the_block_collections_are_rare_and_what_was_there_is_not_looked_at() -> None:
    """Objects of the time before are frozen."""
    with collect_rarely():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 1000


def test_after_the_block_the_collector_is_as_it_was() -> None:
    """Also when the block is left by an error."""
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="out"), collect_rarely():
        raise ValueError("out")
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
