"""JSON text: what is taken, what is refused, and that nothing half leaves us."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.messages.json_text import (
    dump_json,
    mend_surrogates,
    parse_json,
    parse_json_or_text,
    refuse_nan,
    split_waiting_half,
)

HALF = "\ud83d"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_values_survive_the_round_trip(value: Any) -> None:
    """What is written is read back, integers of any size included."""
    assert parse_json(dump_json(value)) == value
    assert json.loads(dump_json(value)) == value


@given(VALUES)
def test_text_and_bytes_are_read_alike(value: Any) -> None:
    """As the standard library would read them."""
    text = json.dumps(value)
    assert parse_json(text) == parse_json(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "nul",
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "[-1e999]",
        "01",
        "1.",
        ".5",
        "+1",
        "'a'",
        '"\x01"',
        '"\\x"',
        "[1,]",
        "{1:2}",
        "1 2",
    ],
)
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    """Strict, for text and for bytes."""
    for form in (text, text.encode()):
        with pytest.raises(ValueError, match=r"."):
            parse_json(form)


@pytest.mark.parametrize("depth", [2_000, 200_000])
@pytest.mark.parametrize("brackets", ["[]", ["[", ""], ['{"a":', ""], ['["\\ud83d",', ""]])
def test_deep_nesting_is_a_value_error(brackets: str, depth: int) -> None:
    """Not a RecursionError, on either road."""
    with pytest.raises(ValueError, match=r"."):
        parse_json(brackets[0] * depth + brackets[1] * depth)


@pytest.mark.parametrize(
    "junk",
    [b'"\xff"', b'"\xc3"', b'"\xed\xa0\xbd"', '"é"'.encode("latin-1"), '"a"'.encode("utf-16"), '"a"'.encode("utf-32")],
)
def test_bytes_that_are_no_utf8_are_a_value_error(junk: bytes) -> None:
    """JSON is UTF-8; encoded surrogates are not."""
    with pytest.raises(ValueError, match=r"."):
        parse_json(junk)


@pytest.mark.parametrize(
    ("text", "value"), [('"\\ud83d"', HALF), ('"\\ud83d\\ude00"', "😀"), ('["\\ude00", 1]', ["\ude00", 1])]
)
def test_surrogates_as_escapes_are_read(text: str, value: object) -> None:
    """Pairs are joined, halves come as they are."""
    assert parse_json(text) == value


def test_halves_in_a_string_are_read() -> None:
    """A Python string may hold halves unescaped."""
    assert parse_json(f'"a{HALF}"') == f"a{HALF}"


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**100)])
def test_integers_keep_all_digits(number: int) -> None:
    """Both ways, and never as a float."""
    assert parse_json(str(number)) == number
    assert type(parse_json(f'{{"n":{number}}}')["n"]) is int
    assert dump_json([number]) == f"[{number}]".encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [("[1]", [1]), ("3", 3), ("null", None), ("words", "words"), ("", ""), ("NaN", "NaN"), ('{"a":', '{"a":')],
)
def test_text_that_is_no_json_comes_back(text: str, value: object) -> None:
    """The public helper never raises."""
    assert parse_json_or_text(text) == value


def test_json_is_written_compactly_and_unescaped() -> None:
    """No spaces, no escapes that are not needed."""
    assert dump_json({"a": [1, "é😀"]}) == '{"a":[1,"é😀"]}'.encode()
    assert dump_json({"a": [10**30, "é😀"]}) == ('{"a":[' + "1" + "0" * 30 + ',"é😀"]}').encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [(HALF, '"\ufffd"'), (f"{HALF}\ude00", '"😀"'), ({HALF: [f"\ude00{HALF}"]}, '{"\ufffd":["\ufffd\ufffd"]}')],
)
def test_no_half_leaves_us(value: object, text: str) -> None:
    """In texts and in names, a half without a partner is U+FFFD."""
    assert dump_json(value).decode() == text


def test_a_value_too_deep_to_write_is_a_value_error() -> None:
    """Not a RecursionError."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="deep"):
        dump_json(value)
    while value:  # taken apart by hand: freeing it at once would recurse as deep
        value = value.pop()


def test_nesting_past_the_fast_writers_limit_is_written() -> None:
    """Three hundred levels are legal JSON."""
    value: Any = 1
    for _ in range(300):
        value = [value]
    assert dump_json(value) == b"[" * 300 + b"1" + b"]" * 300


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_nan_is_refused_anywhere(number: float, depth: int) -> None:
    """In lists, tuples and objects, however deep."""
    value: Any = number
    for _ in range(depth):
        value = {"a": (1, [value])}
    with pytest.raises(ValueError, match="not JSON"):
        refuse_nan(value)


@pytest.mark.parametrize("value", [None, 1, 1.5, "nan", [], {"a": [1.5, None, True]}])
def test_numbers_pass(value: object) -> None:
    """What is JSON is not refused."""
    refuse_nan(value)


@given(st.text(st.sampled_from(["a", "é", "😀", "\ud83d", "\ude00", "\udbff", "\udc00"])))
def test_mending_joins_pairs_and_marks_halves(text: str) -> None:
    """As a reader of code units would do it, one by one."""
    units = [ord(char) for char in text]
    expected, at = "", 0
    while at < len(units):
        unit = units[at]
        if 0xD800 <= unit < 0xDC00 and at + 1 < len(units) and 0xDC00 <= units[at + 1] < 0xE000:
            expected += chr(0x10000 + ((unit - 0xD800) << 10) + (units[at + 1] - 0xDC00))
            at += 1
        else:
            expected += "\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit)
        at += 1
    assert mend_surrogates(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "")),
        ("ab", ("ab", "")),
        ("a" + HALF, ("a", HALF)),
        ("a" + "\ude00", ("a" + "\ude00", "")),
        (HALF + "\n", (HALF + "\n", "")),
    ],
)
def test_only_a_first_half_at_the_very_end_can_wait(text: str, expected: tuple[str, str]) -> None:
    """A second half or one in the middle has no future; a line end is no end of text."""
    assert split_waiting_half(text) == expected
