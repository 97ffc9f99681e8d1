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
"""An SDK takes up to 150 µs per event, and more the longer the stream is: larger sizes are for the patient."""

Feed: TypeAlias = Callable[[Any], object]
_CONTENTS: tuple[Content, ...] = ("text", "tool_arguments")


@attrs.frozen(kw_only=True)
class AdapterCost:
    """One row, in µs per provider event. Ours and the SDK's both begin with the event as a JSON parser gave it.

    Both end with the state brought up to date and the events for a consumer made. The SDK makes an object of what
    came first; `sdk_accumulate_us` is what comes after that alone.
    """

    provider: str
    content: Literal["text", "tool_arguments"]
    deltas: int
    us_per_event: float
    sdk_us_per_event: float | None = None
    sdk_accumulate_us: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the SDK's events per second ours takes."""
        return None if self.sdk_us_per_event is None else self.sdk_us_per_event / self.us_per_event


def measure_adapters(
    *, sizes: Sequence[int] = SIZES, sdk_sizes: Sequence[int] = SDK_SIZES, repeats: int = 5
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
    making = accumulating = None
    if with_sdk and (sdk := _sdk(provider)) is not None:
        objects: list[Any] = []  # measured once: the SDKs are slow enough to be measured well
        making = _seconds(lambda: lambda event: objects.append(sdk.construct(event)), events)
        accumulating = _seconds(sdk.make_accumulator, objects)
    micro = 1e6 / len(events)
    return AdapterCost(
        provider=provider,
        content=content,
        deltas=deltas,
        us_per_event=micro * ours,
        sdk_us_per_event=None if making is None or accumulating is None else micro * (making + accumulating),
        sdk_accumulate_us=None if accumulating is None else micro * accumulating,
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


@attrs.frozen(kw_only=True)
class _Sdk:
    construct: Callable[[Any], object]
    """Makes the SDK's event object of a decoded event, in the way its own client does."""
    make_accumulator: Callable[[], Feed]


def _sdk(provider: str) -> _Sdk | None:
    try:
        return _SDKS[provider]()
    except ImportError:
        return None


def _openai_chat() -> _Sdk:
    chunk = importlib.import_module("openai.types.chat").ChatCompletionChunk
    state = importlib.import_module("openai.lib.streaming.chat").ChatCompletionStreamState
    construct = importlib.import_module("openai._models").construct_type
    return _Sdk(
        construct=lambda event: construct(type_=chunk, value=event),
        make_accumulator=lambda: state().handle_chunk,
    )


def _openai_responses() -> _Sdk:
    kinds = importlib.import_module("openai.types.responses").ResponseStreamEvent
    construct = importlib.import_module("openai._models").construct_type
    state = importlib.import_module("openai.lib.streaming.responses._responses").ResponseStreamState
    omit = importlib.import_module("openai").omit
    return _Sdk(
        construct=lambda event: construct(type_=kinds, value=event),
        make_accumulator=lambda: state(input_tools=omit, text_format=omit).handle_event,
    )


def _anthropic() -> _Sdk:
    kinds = importlib.import_module("anthropic.types").RawMessageStreamEvent
    construct = importlib.import_module("anthropic._models").construct_type
    module = importlib.import_module("anthropic.lib.streaming._messages")

    def make_accumulator() -> Feed:
        snapshot: Any = None
        buffers: dict[int, bytes] = {}

        def feed(event: Any) -> None:  # what its MessageStream does with each event; OpenAI's states do both in one
            nonlocal snapshot
            snapshot = module.accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
            module.build_events(event=event, message_snapshot=snapshot)

        return feed

    return _Sdk(construct=lambda event: construct(type_=kinds, value=event), make_accumulator=make_accumulator)


_SDKS: dict[str, Callable[[], _Sdk]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-messages": _anthropic,
}
