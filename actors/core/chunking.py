"""When accumulated text is worth showing. No clock, no await, no state.

A strategy is asked once for each piece of text, with the piece and how many pieces wait by then, this one included.
It answers how many characters of the piece may be shown, with all that waited before it; -1 means not yet. So what a
strategy costs depends on the piece alone, and all text parts are whole in the end whatever it answers.
"""

import re
from typing import Protocol

import attrs

_PUNCTUATION = re.compile(r"[.,!?;:…\n。、！？；：]")  # noqa: RUF001  # the wide ones are meant
_LAST_SPACE = re.compile(r"\s(?=\S*\Z)")


class ChunkStrategy(Protocol):
    """Decides when text is shown. Write your own by giving it this method."""

    def visible(self, piece: str, waiting: int) -> int:
        """Say how many characters of this piece may be shown now; -1: none, and nothing of what waits."""
        ...


@attrs.frozen
class Immediate:
    """Shows every piece as it comes."""

    def visible(self, piece: str, waiting: int) -> int:  # noqa: ARG002  # the protocol's
        """All of it."""
        return len(piece)


@attrs.frozen
class Punctuation:
    """Shows what there is when a piece has punctuation in it, or a line ends."""

    def visible(self, piece: str, waiting: int) -> int:  # noqa: ARG002
        """All of it, or nothing."""
        return len(piece) if _PUNCTUATION.search(piece) else -1


@attrs.frozen
class WordBoundary:
    """Shows whole words: everything up to the last white space, which models put before a word as often as after."""

    def visible(self, piece: str, waiting: int) -> int:  # noqa: ARG002
        """Up to the last white space in the piece, that included."""
        found = _LAST_SPACE.search(piece)
        return -1 if found is None else found.end()


def _check_n(_instance: object, _attribute: object, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"n must be a whole number from 1 on, not {value!r}")


@attrs.frozen
class EveryN:
    """Shows what there is when so many pieces wait."""

    n: int = attrs.field(default=5, validator=_check_n)

    def visible(self, piece: str, waiting: int) -> int:
        """All of it, or nothing."""
        return len(piece) if waiting >= self.n else -1


@attrs.frozen
class AnyOf:
    """Shows as much as any of these strategies would."""

    strategies: tuple[ChunkStrategy, ...]

    def visible(self, piece: str, waiting: int) -> int:
        """What the most generous of them says."""
        return max((strategy.visible(piece, waiting) for strategy in self.strategies), default=-1)


def parse_strategy(text: str) -> ChunkStrategy:
    """Make a strategy of its name: immediate, punctuation, word, every:N, or several of them with commas between.

    >>> parse_strategy("punctuation,every:20")
    AnyOf(strategies=(Punctuation(), EveryN(n=20)))
    """
    strategies = tuple(_parse_one(word.strip()) for word in text.split(","))
    return strategies[0] if len(strategies) == 1 else AnyOf(strategies)


def _parse_one(word: str) -> ChunkStrategy:
    name, _, number = word.partition(":")
    match name:
        case "immediate" if not number:
            return Immediate()
        case "punctuation" if not number:
            return Punctuation()
        case "word" if not number:
            return WordBoundary()
        case "every" if number.isdecimal() and int(number):
            return EveryN(int(number))
        case _:
            raise ValueError(f"{word!r} is none of immediate, punctuation, word, every:N")
