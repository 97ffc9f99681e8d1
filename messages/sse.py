"""Server-sent events from bytes that may be cut anywhere: in a character, in a line end, in a field name (C15).

Push bytes (or text) in, take events out; no I/O, and the cost is linear however small the pieces are. Follows the
parsing rules of the HTML standard, with one liberty that `finish` documents.
"""

import codecs
import re

import attrs

MAX_EVENT_CHARACTERS = 64 * 1024 * 1024
"""One event must not be able to take the process's memory; a generated image inside an event is 1 to 10 MB."""

_LINE_END = re.compile(r"\r\n|\n|\r")  # not str.splitlines: that one also splits at characters that JSON may contain


@attrs.frozen(kw_only=True)
class ServerSentEvent:
    """One event. `name` is "" when the stream did not name it; `last_id` is the newest id the stream has sent."""

    data: str
    name: str = ""
    last_id: str = ""


class SseParser:
    """Turns the pieces of one SSE body into its events."""

    __slots__ = (
        "_after_cr",
        "_data",
        "_decode",
        "_limit",
        "_line",
        "_line_length",
        "_name",
        "_size",
        "_started",
        "last_id",
        "retry",
    )  # fmt: skip

    def __init__(self, *, max_event_characters: int = MAX_EVENT_CHARACTERS) -> None:
        self.last_id = ""
        self.retry: int | None = None
        """How many milliseconds the server asks a client to wait before it connects again."""
        self._limit = max_event_characters
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._started = False
        self._after_cr = False
        self._line: list[str] = []
        self._line_length = 0
        self._data: list[str] = []
        self._size = 0
        self._name = ""

    def feed(self, piece: bytes | str) -> list[ServerSentEvent]:
        """Take the next piece of the body; give the events that it completes.

        Raises ValueError if an event grows past the limit.
        """
        text = piece if isinstance(piece, str) else self._decode(piece)
        if not text:
            return []
        if not self._started:
            self._started = True
            text = text.removeprefix("\ufeff")
        if self._after_cr and text.startswith("\n"):  # the other half of a CRLF that was cut in two
            text = text[1:]
            self._after_cr = False
        if text:
            self._after_cr = text.endswith("\r")
        return self._take_lines(_LINE_END.split(text))

    def finish(self) -> list[ServerSentEvent]:
        """Take the end of the body. A last event with no blank line after it is given too, for what it is worth.

        The standard drops it, but providers forget the blank line; a caller uses it if its data can be read.
        """
        rest = "".join(self._line) + self._decode(b"", True)
        self._line.clear()
        self._line_length = 0
        if rest:
            self._take_field(rest)
        return self._dispatch()

    def _take_lines(self, lines: list[str]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        *complete, last = lines
        for end in complete:
            line = "".join((*self._line, end)) if self._line else end
            self._line.clear()
            self._line_length = 0
            if line:
                self._take_field(line)
            else:
                events += self._dispatch()
        if last:
            self._line.append(last)
            self._line_length += len(last)
            self._check_size(self._line_length)
        return events

    def _take_field(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                self._data.append(value)
                self._size += len(value)
                self._check_size(0)
            case "event":
                self._name = value
            case "id" if "\0" not in value:
                self.last_id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry = int(value[:9])  # more digits than that are no waiting time
            case _:
                pass  # a comment has an empty field name; unknown fields are to be passed over

    def _dispatch(self) -> list[ServerSentEvent]:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return [ServerSentEvent(data="\n".join(data), name=name, last_id=self.last_id)] if data else []

    def _check_size(self, pending: int) -> None:
        if self._size + pending > self._limit:
            raise ValueError(f"an event of more than {self._limit} characters")
