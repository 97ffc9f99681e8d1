"""A text on its way to a reader of deltas: what may be sent now, and what is missing to the final text."""

from turnwire.messages.json_text import mend_surrogates, split_waiting_half


class GrowingText:
    """What was sent of one text. A half of a surrogate pair at its end waits for the other half."""

    __slots__ = ("_half", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        """All that was sent. Joins: for the end of a text, or where it is one piece anyway."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def add(self, delta: str) -> str:
        """Take more text; gives what can be sent of it, which may be nothing."""
        if self._half or not delta.isascii():
            delta, self._half = split_waiting_half(self._half + delta)
            delta = mend_surrogates(delta)
        if delta:
            self._parts.append(delta)
        return delta

    def end(self) -> str:
        """Take the end; gives what was held back: half a character, which becomes U+FFFD."""
        rest, self._half = mend_surrogates(self._half), ""
        if rest:
            self._parts.append(rest)
        return rest

    def reach(self, whole: str) -> str | None:
        """Take the whole text; gives what is missing to it, or None if it does not go on where the deltas stopped."""
        whole, sent = mend_surrogates(whole), self.text
        if not whole.startswith(sent):
            return None
        self._parts, self._half = [whole], ""
        return whole[len(sent) :]
