"""Tokens spent, as AG-UI streams tell them: one object of ours, or AG-UI 1.0's list with one entry for each model."""

from typing import Any, cast

import attrs

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.particulars import Count, Usage
from turnwire.messages.providers.usage import add_usage
from turnwire.messages.shapes import Shape, each
from turnwire.messages.wire import json_name


@attrs.frozen(kw_only=True)
class _TokenUsage:
    """What AG-UI 1.0 calls the same counts; here each is Usage's attribute, there each has another name."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None


_TOKEN_USAGE = Shape(
    _TokenUsage,
    names={
        "prompt_tokens": "inputTokens",
        "completion_tokens": "outputTokens",
        "cached_tokens": "cachedInputTokens",
        "cache_write_tokens": "cacheWriteInputTokens",
    },
)
_USAGE = Shape(
    Usage,
    names={"prompt_tokens": ("promptTokens", "inputTokens"), "completion_tokens": ("completionTokens", "outputTokens")},
)
_structure_all, _ = each(_TOKEN_USAGE.nested)


def structure_usage(value: Any, path: str, event: str | None) -> Usage:
    """Make usage of either form; the entries of a list are added up."""
    if isinstance(value, list):
        entries = cast("tuple[_TokenUsage, ...]", _structure_all(value, path, event))
        return add_usage(*(Usage(**attrs.asdict(entry)) for entry in entries)) or Usage()
    if not isinstance(value, dict):
        raise InvalidEventError(f"expected an object or an array, got {json_name(value)}", path=path, event=event)
    return _USAGE.structure(cast("object", value), path, event)


def unstructure_usage(usage: Usage) -> dict[str, Any]:
    """Give usage as the canonical dialect tells it."""
    return _USAGE.unstructure(usage)


def unstructure_token_usages(usage: Usage) -> list[dict[str, Any]]:
    """Give usage as AG-UI 1.0 tells it."""
    return [_TOKEN_USAGE.unstructure(_TokenUsage(**attrs.asdict(usage)))]
