"""What JSON says so far, while it is still being written. No clock, no await.

An incremental parser: each character is looked at once, whatever the pieces. Nothing is guessed: a key without a value,
half a word (`tru`) or a number that could not stand alone (`-`) is not there yet; a string shows as far as it has come.
Text that turns out not to be JSON stops the parser, and its value stays what it was.

Looking at the value after each piece is linear too. What is closed is shared, so only the containers that are still
open are copied, and a string grows in place. A long open array would still be copied at every look; so copying is paid
for by text: a look that is not paid for gets the value of the last one. Arrays have to be long for that: 256 entries
are always free, and each character pays for 16.
"""

import re
from typing import Any, Literal, TypeAlias

from msgspec import UNSET

from turnwire.messages.json_text import MAX_DEPTH, parse_json

_PLAIN = re.compile(r'[^"\\]+')
_SPACE = re.compile(r"[ \t\r\n]+")
_WORD = re.compile(r"[-+.\w]+")
_SHOWABLE_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

FREE_ENTRIES = 256  # copied in a microsecond: less than the rest of an event costs
ENTRIES_PER_CHARACTER = 16

_Mode: TypeAlias = Literal["value", "first", "key", "colon", "comma", "string", "word", "done", "broken"]


class PartialJson:
    """Parses a JSON text as it grows."""

    __slots__ = (
        "_credit",
        "_escape",
        "_given",
        "_half",
        "_in_key",
        "_keys",
        "_mode",
        "_pieces",
        "_root",
        "_stack",
        "_text",
        "_word",
        "copied",
        "work",
    )

    def __init__(self) -> None:
        self._mode: _Mode = "value"  # what may come next
        self._stack: list[Any] = []  # containers that are open, outermost first
        self._keys: list[str | None] = []  # for each of them the key that waits for its value
        self._root: Any = UNSET
        self._text = ""  # of the string that is being read, as far as it was joined
        self._pieces: list[str] = []  # of the same, since then
        self._half = ""  # the first half of a surrogate pair, which may wait for the second
        self._escape = ""  # an escape that has begun, from its backslash on
        self._in_key = False
        self._word = ""  # a number, true, false or null that is being read
        self._credit = 0
        self._given: Any = UNSET  # at the last look
        self.copied = 0
        """Entries copied so far, for all looks."""
        self.work = 0
        """Characters looked at so far: what the parser has cost, for whoever wants to be sure that it is linear."""

    def feed(self, text: str) -> None:
        """Read on."""
        self._credit += ENTRIES_PER_CHARACTER * len(text)
        at = 0
        while at < len(text) and self._mode != "broken":
            began = at
            match self._mode:
                case "string":
                    at = self._read_string(text, at)
                case "word":
                    at = self._read_word(text, at)
                case _:
                    at = self._read_mark(text, at)
            self.work += at - began

    def value(self) -> Any:
        """Give what the text says so far; UNSET if that is nothing. Later reading does not change what was given."""
        if self._root is not UNSET:
            return self._root
        entries = sum(map(len, self._stack))
        if entries > FREE_ENTRIES:
            if entries > self._credit:
                return self._given
            self._credit -= entries
        self.copied += entries
        inner = self._unfinished()
        for container, key in zip(reversed(self._stack), reversed(self._keys), strict=True):
            outer = container.copy()
            if inner is not UNSET:
                if key is None:
                    outer.append(inner)
                else:
                    outer[key] = inner
            inner = outer
        self._given = inner if entries > FREE_ENTRIES else UNSET  # what is held here cannot grow in place
        return inner

    def _unfinished(self) -> Any:
        if self._mode == "string" and not self._in_key:
            return self._joined()
        found = _SHOWABLE_NUMBER.match(self._word)
        try:
            return UNSET if found is None else parse_json(found[0])
        except ValueError:  # out of range, or too long for any number: it will be refused when it is whole
            return UNSET

    def _read_mark(self, text: str, at: int) -> int:
        """Read white space, or one character that begins, separates or ends something."""
        if (space := _SPACE.match(text, at)) is not None:
            return space.end()
        mark, mode = text[at], self._mode
        if mark == '"' and mode in ("value", "first", "key"):
            self._in_key = mode == "key" or (mode == "first" and isinstance(self._stack[-1], dict))
            self._mode = "string"
        elif mark in "]}" and mode in ("first", "comma") and self._stack and _closes(mark, self._stack[-1]):
            self._keys.pop()
            self._close(self._stack.pop())
        elif mark in "[{" and self._wants_value() and len(self._stack) < MAX_DEPTH:
            self._stack.append([] if mark == "[" else {})
            self._keys.append(None)
            self._mode = "first"
        elif mark == ":" and mode == "colon":
            self._mode = "value"
        elif mark == "," and mode == "comma":
            self._mode = "key" if isinstance(self._stack[-1], dict) else "value"
        elif self._wants_value() and _WORD.match(mark):
            self._mode = "word"
            return at
        else:
            self._mode = "broken"
        return at + 1

    def _wants_value(self) -> bool:
        return self._mode == "value" or (self._mode == "first" and isinstance(self._stack[-1], list))

    def _read_string(self, text: str, at: int) -> int:
        if self._escape:
            return self._read_escape(text, at)
        if text[at] == "\\":
            self._escape = "\\"
            return at + 1
        self._add("")
        if (plain := _PLAIN.match(text, at)) is not None:
            self._pieces.append(plain[0])
            return plain.end()
        string, self._text = self._joined(), ""
        if self._in_key:
            self._keys[-1] = string
            self._mode = "colon"
        else:
            self._close(string)
        return at + 1

    def _read_escape(self, text: str, at: int) -> int:
        self._escape += text[at]
        if self._escape[1] != "u":
            char = _ESCAPES.get(self._escape[1])
        elif len(self._escape) < 6:
            return at + 1
        else:
            char = _unescape(self._escape[2:])
        self._escape = ""
        if char is None:
            self._mode = "broken"
        else:
            self._add(char)
        return at + 1

    def _add(self, char: str) -> None:
        """Add an unescaped character, which may be half of one; "" says that something else follows."""
        half, self._half = self._half, ""
        if half and "\udc00" <= char <= "\udfff":
            self._pieces.append((half + char).encode("utf-16-le", "surrogatepass").decode("utf-16-le"))
            return
        if half:
            self._pieces.append(half)
        if "\ud800" <= char <= "\udbff":
            self._half = char
        elif char:
            self._pieces.append(char)

    def _joined(self) -> str:
        if self._pieces:
            text, self._text = self._text, ""  # ours alone, so that the next line need not copy it
            text += "".join(self._pieces)
            self._text = text
            self._pieces.clear()
        return self._text

    def _read_word(self, text: str, at: int) -> int:
        if (word := _WORD.match(text, at)) is not None:
            self._word += word[0]  # linear: words are short, and what is longer than any number is refused
            if len(self._word) > 5000:
                self._mode, self._word = "broken", ""
            return word.end()
        try:
            value = parse_json(self._word)
        except ValueError:
            self._mode, self._word = "broken", ""
            return at
        self._close(value)
        return at

    def _close(self, value: Any) -> None:
        """Put a whole value where it belongs."""
        self._word = ""
        if not self._stack:
            self._root = value
            self._mode = "done"
            return
        key = self._keys[-1]
        if key is None:
            self._stack[-1].append(value)
        else:
            self._stack[-1][key] = value
            self._keys[-1] = None
        self._mode = "comma"


def parse_partial(text: str) -> Any:
    """Give what an unfinished JSON text says; UNSET if that is nothing.

    >>> parse_partial('{"city": "Par')
    {'city': 'Par'}
    """
    parser = PartialJson()
    parser.feed(text)
    return parser.value()


def _closes(mark: str, container: object) -> bool:
    return isinstance(container, dict) if mark == "}" else isinstance(container, list)


def _unescape(digits: str) -> str | None:
    return chr(int(digits, 16)) if _HEX.fullmatch(digits) else None
