"""A glance at an encoded output or event: what it is and whom it is about, without building it."""

import msgspec


class OutputPeek(msgspec.Struct, frozen=True, gc=False):
    """What a log must know of an output to keep it, and a reader to skip it."""

    type: str = ""
    item_id: str | None = msgspec.field(name="itemId", default=None)
    status: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Does it end its turn?"""
        return self.type in {"turn_complete", "turn_error"}

    @property
    def is_final(self) -> bool:
        """Is it the last state of its item, or of its turn?"""
        return self.status in {"complete", "error"} or self.is_terminal


class EventPeek(msgspec.Struct, frozen=True, gc=False):
    """What a log must know of a StreamEvent."""

    type: str = ""
    event_id: str = ""

    @property
    def is_terminal(self) -> bool:
        """Does it end its turn?"""
        return self.type in {"response_done", "response_error", "turn_aborted_by_user"}


_OUTPUT = msgspec.json.Decoder(OutputPeek)
_EVENT = msgspec.json.Decoder(EventPeek)


def peek_output(payload: str | bytes) -> OutputPeek:
    """Look at an encoded output. What is none, written by somebody else, looks like nothing in particular."""
    try:
        return _OUTPUT.decode(payload)
    except (msgspec.DecodeError, UnicodeError):
        return OutputPeek()


def peek_event(event: str | bytes) -> EventPeek:
    """Look at an encoded StreamEvent. What is none looks like nothing in particular."""
    try:
        return _EVENT.decode(event)
    except (msgspec.DecodeError, UnicodeError):
        return EventPeek()
