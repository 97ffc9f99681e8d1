"""How often something was ignored, by what it was. Plain dicts, because nearly every turn's is empty."""

from typing import TypeAlias

Counts: TypeAlias = dict[str, int]
"""What never happened is not there."""


def count(counts: Counts, name: str) -> None:
    """Count one more."""
    counts[name] = counts.get(name, 0) + 1
