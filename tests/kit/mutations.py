"""The same stream told differently: deltas split and joined anew, ids renamed, strangers put in, bytes recut."""

import copy
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

from turnwire.messages.json_shapes import JsonObject, is_list, is_object

Events = list[dict[str, Any]]

STRANGERS: dict[str, Events] = {
    "anthropic-messages": [
        {"type": "future_event", "x": 1},
        {"type": "content_block_start", "index": 901, "content_block": {"type": "future_block", "text": "no"}},
        {"type": "content_block_delta", "index": 901, "delta": {"type": "text_delta", "text": "never shown"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "future_delta", "text": "never shown"}},
        {"type": "content_block_stop", "index": 901},
    ],
    "openai-responses": [
        {"type": "response.future.delta", "output_index": 0, "delta": "never shown"},
        {"type": "response.output_item.added", "output_index": 901, "item": {"type": "future_call", "id": "fx"}},
        {"type": "response.output_text.delta", "output_index": 901, "delta": "never shown"},
        {"type": "response.output_item.done", "output_index": 901, "item": {"type": "future_call", "id": "fx"}},
        {"type": "future"},
    ],
    "openai-chat": [
        {"object": "future.chunk", "x": 1},
        {"choices": [{"index": 0, "delta": {"future": "never shown"}}]},
        {"choices": [{"index": 7, "delta": {"content": "never shown"}}]},
        {"choices": ["nonsense"]},
    ],
}
"""Events that no version we know has sent; each must be passed over and counted."""


def with_strangers(provider: str, events: Events, rng: random.Random) -> Events:
    """Put unknown fields into every event, and unknown events at random places, in their own order."""
    mixed = [{**event, "future_field": {"a": [1, None]}} for event in events]
    strangers = copy.deepcopy(STRANGERS[provider])
    if provider == "anthropic-messages":
        # A block that is no text ends the message before it, so the unknown block stands in front of all others.
        blocks = [stranger for stranger in strangers if stranger.get("index") == 901]
        mixed[1:1] = blocks
        strangers = [stranger for stranger in strangers if stranger not in blocks]
    places = sorted(rng.randint(0, len(mixed)) for _ in strangers)
    for offset, (place, stranger) in enumerate(zip(places, strangers, strict=True)):
        mixed.insert(place + offset, stranger)
    return mixed


def with_pings(provider: str, events: Events, rng: random.Random) -> Events:
    """Put pings in at random places, for the provider that sends them."""
    mixed = list(events)
    if provider == "anthropic-messages":
        for _ in range(5):
            mixed.insert(rng.randint(0, len(mixed)), {"type": "ping"})
    return mixed


def split_deltas(provider: str, events: Events, rng: random.Random) -> Events:
    """Cut each delta's text in two at a random place."""
    split: Events = []
    for event in events:
        slot = _delta_slot(provider, event)
        if slot is None or len(slot[0][slot[1]]) < 2:
            split.append(event)
            continue
        text = slot[0][slot[1]]
        cut = rng.randint(1, len(text) - 1)
        split += [_with_text(provider, event, text[:cut]), _with_text(provider, event, text[cut:])]
    return _renumbered(split)


def join_deltas(provider: str, events: Events) -> Events:
    """Join neighbouring deltas of one kind and place into one."""
    joined: Events = []
    for event in events:
        last = joined[-1] if joined else None
        slot = _delta_slot(provider, event)
        before = _delta_slot(provider, last) if last is not None else None
        if slot is None or before is None or last is None or _place(provider, last) != _place(provider, event):
            joined.append(event)
        else:
            joined[-1] = _with_text(provider, last, before[0][before[1]] + slot[0][slot[1]])
    return _renumbered(joined)


def rename_ids(provider: str, events: Events) -> Events:
    """Give every id a new name; the Responses stream even a new item id in each event, as some hosts do."""
    renamed = [_map_ids(event, lambda old: f"renamed-{old}") for event in copy.deepcopy(events)]
    if provider == "openai-responses":
        for number, event in enumerate(renamed):
            if "item_id" in event:
                event["item_id"] = f"rotated-{number}"
            if is_object(event.get("item")) and "id" in event["item"]:
                event["item"]["id"] = f"rotated-{number}"
    return renamed


def recut(body: bytes, rng: random.Random, pieces: int) -> Iterable[bytes]:
    """Cut a body into pieces at random places."""
    cuts = sorted({0, len(body), *(rng.randint(0, len(body)) for _ in range(pieces))})
    return [body[start:end] for start, end in itertools.pairwise(cuts)]


def _delta_slot(provider: str, event: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    delta: dict[str, Any]
    if provider == "anthropic-messages":
        if event.get("type") != "content_block_delta":
            return None
        delta, keys = event["delta"], ("text", "thinking", "partial_json")
        return next(((delta, key) for key in keys if isinstance(delta.get(key), str)), None)
    if provider == "openai-responses":
        return (event, "delta") if str(event.get("type")).endswith((".delta",)) and "delta" in event else None
    choices: list[dict[str, Any]] = event.get("choices") or [{}]
    delta = choices[0].get("delta") or {}
    usable = len(choices) == 1 and choices[0].get("index", 0) == 0 and not choices[0].get("finish_reason")
    if not usable or event.get("usage") or event.get("error"):
        return None
    if isinstance(delta.get("content"), str) and set(delta) <= {"content", "role"} and delta["content"]:
        return delta, "content"
    if set(delta) == {"reasoning_content"} and delta["reasoning_content"]:
        return delta, "reasoning_content"
    calls: list[dict[str, Any]] = delta.get("tool_calls") or []
    if set(delta) == {"tool_calls"} and len(calls) == 1 and "id" not in calls[0] and "index" in calls[0]:
        function: dict[str, Any] = calls[0].get("function") or {}
        return (function, "arguments") if isinstance(function.get("arguments"), str) else None
    return None


def _with_text(provider: str, event: dict[str, Any], text: str) -> dict[str, Any]:
    changed = copy.deepcopy(event)
    slot = _delta_slot(provider, changed)
    assert slot is not None
    slot[0][slot[1]] = text
    return changed


def _place(provider: str, event: dict[str, Any]) -> object:
    slot = _delta_slot(provider, event)
    assert slot is not None
    if provider == "openai-chat":
        calls = event["choices"][0]["delta"].get("tool_calls")
        return slot[1], calls[0]["index"] if calls else None
    keys = ("type", "index", "output_index", "content_index", "summary_index")
    return slot[1], tuple(event.get(key) for key in keys)


def _renumbered(events: Events) -> Events:
    return [{key: value for key, value in event.items() if key != "sequence_number"} for event in events]


def _map_ids(value: Any, rename: Callable[[str], str]) -> Any:
    if is_list(value):
        return [_map_ids(inner, rename) for inner in value]
    if not is_object(value):
        return value
    ids = ("id", "item_id", "call_id", "tool_use_id")
    return {key: _renamed(key in ids, inner, rename) for key, inner in _items(value)}


def _items(value: JsonObject) -> Iterable[tuple[str, Any]]:
    return value.items()


def _renamed(is_id: bool, value: Any, rename: Callable[[str], str]) -> Any:
    return rename(value) if is_id and isinstance(value, str) and value else _map_ids(value, rename)
