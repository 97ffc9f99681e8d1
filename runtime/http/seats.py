"""How many readers there may be: of one turn, and in this process. A seat is taken before the response begins."""

from collections import Counter

from turnwire.messages.errors import TooManyReadersError


class Seats:
    """Counts readers."""

    def __init__(self, *, most: int, most_each: int) -> None:
        self._most = most
        self._most_each = most_each
        self._taken: Counter[str] = Counter()
        self.total = 0

    def take(self, name: str) -> "Seat":
        """Take a seat before something. Raises TooManyReadersError when there is none."""
        if self.total >= self._most:
            raise TooManyReadersError(f"this process has {self._most} readers, as many as it may have")
        if self._taken[name] >= self._most_each:
            raise TooManyReadersError(f"{name} has {self._most_each} readers, as many as it may have")
        self.total += 1
        self._taken[name] += 1
        return Seat(self, name)

    def give_back(self, name: str) -> None:
        """Free a seat."""
        self.total -= 1
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]


class Seat:
    """One reader's. Given back once, however often it is told."""

    __slots__ = ("_name", "_seats")

    def __init__(self, seats: Seats, name: str) -> None:
        self._seats: Seats | None = seats
        self._name = name

    def close(self) -> None:
        """Give it back."""
        seats, self._seats = self._seats, None
        if seats is not None:
            seats.give_back(self._name)
