"""Text that grows piece by piece and can be read as it was at any moment. No clock, no await.

A moment is a number that the owner counts up. Appending costs the same however long the text is, and so does asking
for it again and again while it grows: the joined text is extended in place as long as nobody holds on to an earlier
one (CPython does that for a string with a single owner; elsewhere it is copied). Whoever keeps every state pays for
every state.
"""

from bisect import bisect_right


class GrowingText:
    """Pieces, when each came, and what they come to."""

    __slots__ = ("_joined", "_moments", "_pieces", "_taken", "length")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._moments: list[int] = []
        self._joined = ""  # the first `_taken` pieces
        self._taken = 0
        self.length = 0

    def append(self, piece: str, moment: int) -> None:
        """Let it grow. Moments never run backwards."""
        self._pieces.append(piece)
        self._moments.append(moment)
        self.length += len(piece)

    def text(self) -> str:
        """Give all of it."""
        if self._taken < len(self._pieces):
            joined, self._joined = self._joined, ""  # ours alone now, so that the next line need not copy it
            joined += "".join(self._pieces[self._taken :])
            self._joined = joined
            self._taken = len(self._pieces)
        return self._joined

    def is_newest(self, moment: int) -> bool:
        """Has nothing come since this moment?"""
        return not self._moments or self._moments[-1] <= moment

    def at(self, moment: int) -> str:
        """Give it as it was at a moment."""
        if self.is_newest(moment):
            return self.text()
        return "".join(self._pieces[: bisect_right(self._moments, moment)])

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return len(self._pieces)

    def pieces_from(self, number: int) -> list[str]:
        """Give the pieces from this one on, counted from 0."""
        return self._pieces[number:]
