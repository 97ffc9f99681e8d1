"""The bench of the adapters measures what it says, and what it measures is linear."""

import pytest

from tests.kit.recordings import adapt, each_provider, told
from turnwire.messages.providers.contract import check_contract
from turnwire.runtime.bench.adapters import measure_adapter
from turnwire.runtime.bench.provider_streams import Content, make_stream


@each_provider
@pytest.mark.parametrize("content", ["text", "tool_arguments"])
def test_the_made_up_streams_are_real_ones(provider: str, content: Content) -> None:
    """They come to one long message, or to one whole call with long arguments."""
    events = adapt(provider, make_stream(provider, content, 50))
    check_contract(events)
    seen = told(events)
    assert (len(seen.texts), len(seen.calls)) == ((1, 0) if content == "text" else (0, 1))
    assert seen.finish_reason == ("stop" if content == "text" else "tool_calls")


@each_provider
def test_a_row_holds_our_cost_and_the_sdks(provider: str) -> None:
    """Ours is smaller than the SDK's accumulator on the same stream in the same run."""
    row = measure_adapter(provider, "text", 300, with_sdk=True, repeats=2)
    assert row.ratio is not None
    assert row.ratio > 2
    assert row.sdk_accumulate_us is not None


@each_provider
def test_the_cost_is_linear_in_tool_arguments(provider: str) -> None:
    """Sixteen times the deltas cost sixteen times the time, within what a busy machine allows."""
    small = measure_adapter(provider, "tool_arguments", 1_000, with_sdk=False, repeats=5)
    large = measure_adapter(provider, "tool_arguments", 16_000, with_sdk=False, repeats=3)
    assert large.us_per_event < 3 * small.us_per_event  # quadratic would be sixteen
