"""JSON while it is being written: each character read once, nothing guessed, nothing given changed later."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from turnwire.actors.core.partial_json import ENTRIES_PER_CHARACTER, FREE_ENTRIES, PartialJson, parse_partial

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


SO_FAR: list[tuple[str, Any]] = [
    ("", UNSET),
    ("  ", UNSET),
    ("{", {}),
    ('{"a', {}),
    ('{"a"', {}),
    ('{"a":', {}),
    ('{"a": "', {"a": ""}),
    ('{"a": "x\\', {"a": "x"}),
    ('{"a": "x\\u00e', {"a": "x"}),
    ('{"a": "x\\u00e9', {"a": "xé"}),
    ('{"a": "\\ud83d', {"a": ""}),
    ('{"a": "\\ud83d\\ude00', {"a": "😀"}),
    ('{"a": tru', {}),
    ('{"a": true', {}),
    ('{"a": true}', {"a": True}),
    ('{"a": -', {}),
    ('{"a": 12', {"a": 12}),
    ('{"a": 12.', {"a": 12}),
    ('{"a": 1.5e', {"a": 1.5}),
    ("[1, [2, {", [1, [2, {}]]),
    ("[[], ", [[]]),
    ('"half a tex', "half a tex"),
    ("[1] ", [1]),
    ('{"a": 1e999', {}),
    ('{"a": 1\uff12', {"a": 1}),
    ('{"a": ' + "1" * 4_400, {}),
    ('{"a": "\\u+123', {}),
]


@pytest.mark.parametrize(("text", "value"), SO_FAR)
def test_what_is_said_so_far(text: str, value: Any) -> None:
    assert parse_partial(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "{a",
        "{1:",
        '{"a" 1',
        "[1 2",
        '{"a": 1]',
        "]",
        "[,",
        '{"a": "\\x',
        '"\\u00zz',
        "[01]",
        "tru]",
        "[1]]",
        '{"a":1,}',
        "[}",
    ],
)
def test_what_is_no_json_stops_the_parser_and_its_value_stays(text: str) -> None:
    parser = PartialJson()
    parser.feed(text)
    value = parser.value()
    parser.feed('"more": 1}')
    assert parser.value() == value


def test_too_deep_is_no_json() -> None:
    value, depth = parse_partial("[" * 5000), 0
    while value:
        value, depth = value[0], depth + 1
    assert depth < 250
    assert parse_partial("1" * 6000) is UNSET


@settings(deadline=None)  # a busy machine is no bug
@given(VALUES, st.data(), st.booleans())
def test_a_whole_text_in_any_pieces_is_what_a_parser_makes_of_it(
    value: Any, data: st.DataObject, ascii_only: bool
) -> None:
    text = json.dumps([value], ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parser = PartialJson()
    given_out: list[tuple[Any, str]] = []
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        parser.feed(text[start:stop])
        shown = parser.value()
        assert shown == parse_partial(text[:stop]), "in pieces or at once"
        given_out.append((shown, repr(shown)))
    assert parser.value() == json.loads(text)
    assert parser.work == len(text), "each character is looked at once"
    assert all(repr(shown) == then for shown, then in given_out), "what was given does not change"


@pytest.mark.parametrize("piece", ['abc", "', "abc", '"], ["', "\\u00e9"])
def test_parsing_and_looking_after_each_piece_are_linear(piece: str) -> None:
    """Counted, not timed: 16 times the text is 16 times the characters read, and not much more that is copied."""
    works: list[tuple[int, int]] = []
    for size in (1_000, 16_000):
        parser = PartialJson()
        for part in ['{"rows": [["', *[piece] * size]:
            parser.feed(part)
            parser.value()
        works.append((parser.work, parser.copied))
        length = 12 + size * len(piece)
        assert parser.work == length
        assert parser.copied <= ENTRIES_PER_CHARACTER * length + FREE_ENTRIES * (size + 1)
    assert works[1][1] <= 16.5 * works[0][1] + 100_000


def test_a_long_array_lags_a_little_while_it_is_open_and_is_whole_in_the_end() -> None:
    parser = PartialJson()
    parser.feed("[")
    shortest = 1.0
    for number in range(5_000):
        parser.feed("1,")
        shortest = min(shortest, (len(parser.value()) + 1) / (number + 2))
    assert 0.9 < shortest < 1
    parser.feed("1]")
    assert len(parser.value()) == 5_001
