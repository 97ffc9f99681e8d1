"""How arguments and outputs of tools are read."""

import pytest

from turnwire.actors.core.voice import parse_arguments, parse_output


@pytest.mark.parametrize(
    ("text", "arguments", "raw"),
    [
        ("", {}, ""),
        ("{}", {}, ""),
        (' {"a": 1} ', {"a": 1}, ""),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}, ""),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}, ""),
        (" ", {}, " "),
        ("[]", {}, "[]"),
        ("null", {}, "null"),
        ('"{}"', {}, '"{}"'),
        ("{'a': 1}", {}, "{'a': 1}"),
        ('{"a": 1} trailing', {}, '{"a": 1} trailing'),
        ('{"a": NaN}', {}, '{"a": NaN}'),
        ('{"a": -Infinity}', {}, '{"a": -Infinity}'),
        ('{"a": 1e999}', {}, '{"a": 1e999}'),
        ("oh \ud83d", {}, "oh \ufffd"),
        ("[" * 100_000, {}, "[" * 100_000),
    ],
)
def test_arguments_are_an_object_or_raw_text(text: str, arguments: object, raw: str) -> None:
    """An object is parsed, all else is {} with the text beside it."""
    assert parse_arguments(text) == (arguments, raw)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", ""),
        ("{}", {}),
        (" \n[1, 2]", [1, 2]),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ("5", "5"),
        ("true", "true"),
        ("null", "null"),
        ('"text"', '"text"'),
        ("[1,", "[1,"),
        ("{not json}", "{not json}"),
        ("[NaN]", "[NaN]"),
        ("words \ud83d", "words \ufffd"),
        ("[\ud83d", "[\ufffd"),
    ],
)
def test_outputs_are_containers_or_text(text: str, output: object) -> None:
    """Objects and arrays are parsed, scalars and all else stay text."""
    assert parse_output(text) == output


@pytest.mark.parametrize("text", ["[1.5e3]", "[-0]", '{"a":{"a":[]}}'])
def test_numbers_and_nesting_are_read_as_json_reads_them(text: str) -> None:
    """No value is lost in a container."""
    assert parse_output(text) in ([1500.0], [0], {"a": {"a": []}})
