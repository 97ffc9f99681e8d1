"""How long a text is, as user interfaces count it and as memory does. No clock, no await.

UIs count UTF-16 code units. A character past U+FFFF takes two, its surrogate pair, and a producer that cuts its text
by code units may send the two halves in two deltas: each is then a lone surrogate in a Python string.
"""

import re

_HALF = re.compile("[\ud800-\udfff]")


def utf16_length(text: str) -> int:
    """Count UTF-16 code units.

    >>> utf16_length("abc"), utf16_length("é"), utf16_length("😀")
    (3, 1, 2)
    """
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens as its UTF-16 code units divided by four, rounded up.

    >>> estimate_tokens(""), estimate_tokens("word"), estimate_tokens("words")
    (0, 1, 2)
    """
    return -(-utf16_length(text) // 4)


def utf8_length(text: str) -> int:
    """Count bytes of UTF-8, half surrogates included as three each."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def has_halves(text: str) -> bool:
    """Tell whether a lone surrogate is in the text. Free for plain ASCII."""
    return not text.isascii() and _HALF.search(text) is not None
