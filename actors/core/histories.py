"""Values that change and can be read as they were at any moment: versions, and text that grows. No clock, no await.

A moment is a number that the owner counts up. Appending to a text costs the same however long it is, and so does
asking for it again and again while it grows: the joined text is extended in place as long as nobody holds on to an
earlier one (CPython does that for a string with a single owner; elsewhere it is copied). Whoever keeps every state pays
for every state.
"""

from bisect import bisect_right
from typing import Generic, TypeVar

_T = TypeVar("_T")


class History(Generic[_T]):
    """The versions of one value."""

    __slots__ = ("_versions", "newest")

    def __init__(self, value: _T, moment: int) -> None:
        self.newest = value
        self._versions = [(moment, value)]

    def set(self, value: _T, moment: int) -> None:
        """Give it a newer version."""
        self.newest = value
        self._versions.append((moment, value))

    def at(self, moment: int) -> _T:
        """Give the version of a moment; before the first one, the first."""
        for since, value in reversed(self._versions):
            if since <= moment:
                return value
        return self._versions[0][1]


class TextHistory:
    """Pieces, when each came, and what they come to."""

    __slots__ = ("_joined", "_moments", "_pieces", "_taken")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._moments: list[int] = []
        self._joined = ""  # the first `_taken` pieces
        self._taken = 0

    def append(self, piece: str, moment: int) -> None:
        """Let it grow. Moments never run backwards."""
        self._pieces.append(piece)
        self._moments.append(moment)

    def text(self) -> str:
        """Give all of it."""
        if self._taken < len(self._pieces):
            joined, self._joined = self._joined, ""  # ours alone now, so that the next line need not copy it
            joined += "".join(self._pieces[self._taken :])
            self._joined = joined
            self._taken = len(self._pieces)
        return self._joined

    def at(self, moment: int) -> str:
        """Give it as it was at a moment."""
        if not self._moments or self._moments[-1] <= moment:
            return self.text()
        return "".join(self._pieces[: bisect_right(self._moments, moment)])

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return len(self._pieces)

    def pieces_from(self, number: int) -> list[str]:
        """Give the pieces from this one on, counted from 0."""
        return self._pieces[number:]
