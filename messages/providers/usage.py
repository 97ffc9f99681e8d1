"""What a response has cost (C12): each provider's counts in our words, and the sum over a tool loop.

Unknown is None and stays so; only what a provider said is ever added up.
"""

import attrs

from turnwire.messages.json_shapes import JsonObject, count_at, object_at
from turnwire.messages.particulars import Usage


def read_responses_usage(usage: JsonObject) -> Usage | None:
    """Read the `usage` of an OpenAI response."""
    prompt, completion = object_at(usage, "input_tokens_details"), object_at(usage, "output_tokens_details")
    return _known(
        prompt_tokens=count_at(usage, "input_tokens"),
        completion_tokens=count_at(usage, "output_tokens"),
        total_tokens=count_at(usage, "total_tokens"),
        cached_tokens=count_at(prompt, "cached_tokens"),
        cache_write_tokens=count_at(prompt, "cache_write_tokens"),
        reasoning_tokens=count_at(completion, "reasoning_tokens"),
    )


def read_chat_usage(usage: JsonObject) -> Usage | None:
    """Read the `usage` of a chat chunk, with the names that compatible hosts use beside OpenAI's."""
    prompt, completion = object_at(usage, "prompt_tokens_details"), object_at(usage, "completion_tokens_details")
    cached = count_at(prompt, "cached_tokens")
    return _known(
        prompt_tokens=count_at(usage, "prompt_tokens"),
        completion_tokens=count_at(usage, "completion_tokens"),
        total_tokens=count_at(usage, "total_tokens"),
        cached_tokens=count_at(usage, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek's name
        cache_write_tokens=count_at(prompt, "cache_write_tokens"),
        reasoning_tokens=count_at(completion, "reasoning_tokens"),
    )


def read_anthropic_usage(usage: JsonObject) -> Usage | None:
    """Read Anthropic's `usage`, whose input_tokens are only the part of the prompt that no cache had to do with."""
    fresh = count_at(usage, "input_tokens")
    read, written = count_at(usage, "cache_read_input_tokens"), count_at(usage, "cache_creation_input_tokens")
    return _known(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        completion_tokens=count_at(usage, "output_tokens"),
        total_tokens=None,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=None,
    )


def newer_usage(known: Usage | None, newer: Usage | None) -> Usage | None:
    """Overwrite what is known by what a later event says; what that one leaves out stays."""
    if known is None or newer is None:
        return newer or known
    fields = {name: value for name, value in _counts(newer).items() if value is not None}
    return attrs.evolve(known, **fields)


def add_usage(*usages: Usage | None) -> Usage | None:
    """Add up what is known, such as the iterations of a tool loop. A count that none of them knows stays unknown.

    >>> add_usage(Usage(prompt_tokens=2), None, Usage(prompt_tokens=3)) == Usage(prompt_tokens=5)
    True
    """
    known = [_counts(usage) for usage in usages if usage is not None]
    sums: dict[str, int] = {}
    for counts in known:
        for name, count in counts.items():
            if count is not None:
                sums[name] = sums.get(name, 0) + count
    return Usage(**sums) if known else None


def _counts(usage: Usage) -> dict[str, int | None]:
    return {field.name: getattr(usage, field.name) for field in attrs.fields(Usage)}


def _known(*, prompt_tokens: int | None, completion_tokens: int | None, **others: int | None) -> Usage | None:
    if others["total_tokens"] is None and prompt_tokens is not None and completion_tokens is not None:
        others["total_tokens"] = prompt_tokens + completion_tokens
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, **others}
    return Usage(**counts) if any(value is not None for value in counts.values()) else None
