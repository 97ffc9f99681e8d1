"""Ids that are nobody else's: the one that is wanted, or with a number behind it if that is taken."""

from collections.abc import Iterable, Iterator


class FreeIds:
    """Knows which ids are taken.

    >>> ids = FreeIds()
    >>> [ids.take("call_0") for _ in range(3)]
    ['call_0', 'call_0-2', 'call_0-3']
    """

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}  # and the last number behind each: who repeats an id a thousand times may

    def __iter__(self) -> Iterator[str]:
        return iter(self._taken)

    def take(self, wanted: str) -> str:
        """Give an id that is free, and take it."""
        taken, free = self._taken, wanted
        while free in taken:
            taken[wanted] += 1
            free = f"{wanted}-{taken[wanted]}"
        taken[free] = 1
        return free

    def mark(self, ids: Iterable[str]) -> None:
        """Take ids that there are already."""
        for each in ids:
            self._taken.setdefault(each, 1)
