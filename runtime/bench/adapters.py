"""What a provider event costs: our adapters, and the official SDKs' own accumulators on the same stream.

Plain functions that measure and give rows; whoever prints them decides how. The SDKs are optional: a row whose SDK
is not installed has no `sdk_us`.
"""

import gc
import importlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from turnwire.messages.providers import ADAPTERS
from turnwire.runtime.bench.provider_streams import Content, make_stream

SIZES = (5_000, 20_000, 80_000)
SDK_SIZES = (5_000,)
"""The accumulators of two SDKs are quadratic on tool arguments: at 80,000 deltas one row would take minutes."""

Feed: TypeAlias = Callable[[Any], object]
_CONTENTS: tuple[Content, ...] = ("text", "tool_arguments")


@attrs.frozen(kw_only=True)
class AdapterCost:
    """One row: µs per provider event. `ratio` is how many times more events per second ours takes."""

    provider: str
    content: Literal["text", "tool_arguments"]
    deltas: int
    us_per_event: float
    sdk_us_per_event: float | None = None

    @property
    def ratio(self) -> float | None:
        """The SDK's cost over ours."""
        return None if self.sdk_us_per_event is None else self.sdk_us_per_event / self.us_per_event


def measure_adapters(
    *, sizes: Sequence[int] = SIZES, sdk_sizes: Sequence[int] = SDK_SIZES, repeats: int = 3
) -> list[AdapterCost]:
    """Measure every adapter on text and on tool arguments, best of several runs."""
    return [
        measure_adapter(provider, content, deltas, with_sdk=deltas in sdk_sizes, repeats=repeats)
        for provider in ADAPTERS
        for content in _CONTENTS
        for deltas in sizes
    ]


def measure_adapter(provider: str, content: Content, deltas: int, *, with_sdk: bool, repeats: int = 3) -> AdapterCost:
    """Measure one adapter on a stream of so many deltas, and the SDK's accumulator on the same stream."""
    events = make_stream(provider, content, deltas)
    ours = min(_seconds(lambda: _our_feed(provider), events) for _ in range(repeats))
    theirs: float | None = None
    if with_sdk and (prepared := _sdk_objects(provider, events)) is not None:
        make_feed, objects = prepared
        theirs = _seconds(make_feed, objects)  # once: it is slow enough to be measured well
    return AdapterCost(
        provider=provider,
        content=content,
        deltas=deltas,
        us_per_event=1e6 * ours / len(events),
        sdk_us_per_event=None if theirs is None else 1e6 * theirs / len(events),
    )


def _seconds(make_feed: Callable[[], Feed], events: Iterable[Any]) -> float:
    feed = make_feed()
    gc.collect()
    began = time.perf_counter()
    for event in events:
        feed(event)
    return time.perf_counter() - began


def _our_feed(provider: str) -> Feed:
    return ADAPTERS[provider](run_id="bench", thread_id="bench").feed


def _sdk_objects(provider: str, events: list[dict[str, Any]]) -> tuple[Callable[[], Feed], list[Any]] | None:
    """Give the SDK's accumulator and the stream as its objects; making those is not part of what is measured."""
    try:
        return _SDKS[provider](events)
    except ImportError:
        return None


def _openai_chat(events: list[dict[str, Any]]) -> tuple[Callable[[], Feed], list[Any]]:
    chunk = importlib.import_module("openai.types.chat").ChatCompletionChunk
    state = importlib.import_module("openai.lib.streaming.chat").ChatCompletionStreamState
    return lambda: state().handle_chunk, [chunk.model_validate(event) for event in events]


def _openai_responses(events: list[dict[str, Any]]) -> tuple[Callable[[], Feed], list[Any]]:
    types = importlib.import_module("openai.types.responses").ResponseStreamEvent
    construct = importlib.import_module("openai._models").construct_type
    module = importlib.import_module("openai.lib.streaming.responses._responses")
    omit = importlib.import_module("openai").omit

    def make_feed() -> Feed:
        feed: Feed = module.ResponseStreamState(input_tools=omit, text_format=omit).handle_event
        return feed

    return make_feed, [construct(type_=types, value=event) for event in events]


def _anthropic(events: list[dict[str, Any]]) -> tuple[Callable[[], Feed], list[Any]]:
    types = importlib.import_module("anthropic.types").RawMessageStreamEvent
    construct = importlib.import_module("anthropic._models").construct_type
    accumulate = importlib.import_module("anthropic.lib.streaming._messages").accumulate_event

    def make_feed() -> Feed:
        snapshot: Any = None
        buffers: dict[int, bytes] = {}

        def feed(event: Any) -> None:
            nonlocal snapshot
            snapshot = accumulate(event=event, current_snapshot=snapshot, json_bufs=buffers)

        return feed

    return make_feed, [construct(type_=types, value=event) for event in events]


_SDKS: dict[str, Callable[[list[dict[str, Any]]], tuple[Callable[[], Feed], list[Any]]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-messages": _anthropic,
}
