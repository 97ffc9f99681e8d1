"""When text is shown."""

import pytest

from turnwire.actors.core.chunking import AnyOf, EveryN, Immediate, Punctuation, WordBoundary, parse_strategy


def test_immediate_shows_every_piece() -> None:
    assert Immediate().visible("abc", 1) == 3


@pytest.mark.parametrize(("piece", "count"), [("abc", -1), ("a, b", 4), ("line\n", 5), ("好。", 2), ("", -1)])
def test_punctuation_shows_pieces_with_punctuation(piece: str, count: int) -> None:
    assert Punctuation().visible(piece, 1) == count


@pytest.mark.parametrize(("piece", "count"), [("abc", -1), (" abc", 1), ("abc ", 4), ("a b c", 4), ("", -1)])
def test_words_are_never_cut(piece: str, count: int) -> None:
    assert WordBoundary().visible(piece, 1) == count


def test_every_n_shows_when_so_many_wait() -> None:
    assert [EveryN(3).visible("ab", waiting) for waiting in (1, 2, 3)] == [-1, -1, 2]
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="whole number from 1"):
            EveryN(wrong)  # type: ignore[arg-type]  # that is the test


def test_any_of_shows_what_the_most_generous_would() -> None:
    strategy = AnyOf((WordBoundary(), EveryN(2)))
    assert [strategy.visible("a b", 1), strategy.visible("a b", 2), strategy.visible("ab", 1)] == [2, 3, -1]
    assert AnyOf(()).visible("x", 1) == -1


def test_strategies_have_names() -> None:
    assert parse_strategy("immediate") == Immediate()
    assert parse_strategy("word, every:3") == AnyOf((WordBoundary(), EveryN(3)))
    for wrong in ("", "never", "every", "every:0", "every:x", "word:2", "word,"):
        with pytest.raises(ValueError, match="is none of immediate"):
            parse_strategy(wrong)
