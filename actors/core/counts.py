"""How often something was ignored, by what it was. A plain dict, because nearly every turn's is empty."""


class Counts(dict[str, int]):
    """Counts by name; what never happened is not there."""

    __slots__ = ()

    def add(self, name: str) -> None:
        """Count one more."""
        self[name] = self.get(name, 0) + 1
