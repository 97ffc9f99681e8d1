"""A message that is done: a finished noun, until a late result or an answer opens it again. No clock, no await."""

from typing import TypeAlias

from turnwire.actors.core.call_facts import CallFacts
from turnwire.actors.core.open_message import OpenMessage
from turnwire.messages.ui import TextPart, ThinkingPart, ToolResultPart, UIMessage


class SettledMessage:
    """A message that no stream adds to any more."""

    __slots__ = ("_message", "_opened", "_settled", "id", "serial")

    def __init__(self, message: UIMessage, moment: int, serial: int) -> None:
        self.id = message.id
        self.serial = serial
        self._message = message
        self._settled = moment
        self._opened: OpenMessage | None = None

    def facts(self, call_id: str) -> CallFacts:
        """Say what is known of a call."""
        return self._open().facts(call_id)

    def arguments(self, call_id: str) -> str:
        """Give the text of a call's arguments."""
        return self._open().arguments(call_id)

    def set_facts(self, call_id: str, facts: CallFacts, moment: int) -> None:
        """Know better about a call."""
        self._open().set_facts(call_id, facts, moment)

    def result(self, call_id: str) -> ToolResultPart | None:
        """Give the answer to a call, if there is one."""
        return self._open().result(call_id)

    def set_result(self, part: ToolResultPart, moment: int) -> None:
        """Put the answer to a call at the end, or in the place of an earlier one."""
        self._open().set_result(part, moment)

    def newest(self) -> UIMessage:
        """Give the message as it is."""
        return self._message if self._opened is None else self.at(self._opened.changed)

    def at(self, moment: int) -> UIMessage:
        """Give the message as it was."""
        if self._opened is None or self._opened.changed == self._settled:  # opened to be read, and nothing was learned
            return self._message
        return self._opened.at(max(moment, self._settled))

    def _open(self) -> OpenMessage:
        if self._opened is None:
            self._opened = OpenMessage.reopened(self._message, serial=self.serial, moment=self._settled)
        return self._opened


AnyMessage: TypeAlias = OpenMessage | SettledMessage


def is_blank(message: UIMessage) -> bool:
    """Does a message hold nothing but white space?"""
    return message.provider_data is None and all(
        isinstance(part, TextPart | ThinkingPart) and part.provider_data is None and not part.content.strip()
        for part in message.parts
    )
