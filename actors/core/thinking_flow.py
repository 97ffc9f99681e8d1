"""The thinking of one stream: one part for the message, where thinking first came, or one for each step.

Signatures and encrypted values are kept with the step they seal, and so is its place among the parts of the message:
what is sealed must go back to where it was thought. No clock, no await.
"""

from turnwire.actors.core.conversation_options import Notices
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.open_message import OpenMessage
from turnwire.actors.core.open_thinking import OpenThinking
from turnwire.actors.core.text_flow import Halves, TextFlow
from turnwire.messages.particulars import Json


class ThinkingFlow:
    """What one stream has thought."""

    __slots__ = (
        "_announced",
        "_halves",
        "_last_step",
        "_messages",
        "_notices",
        "_parts",
        "_per_step",
        "_text",
        "thoughts",
    )

    def __init__(self, messages: MessageList, notices: Notices, text: TextFlow, *, per_step: bool) -> None:
        self._messages = messages
        self._notices = notices
        self._text = text
        self._per_step = per_step
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self.thoughts: list[str] = []
        """All thinking of the stream, in order."""
        self._halves = Halves()
        self._last_step = ""
        self._announced: set[str] = set()
        self.forget()

    def forget(self) -> None:
        """Let go of the parts: their message is gone."""
        self._parts: dict[str, OpenThinking] = {}

    def add(self, step_id: str, delta: str, message: OpenMessage) -> None:
        """Let the thinking of a step grow."""
        self._grow(step_id, self._halves.join(delta), message)

    def finish(self, message: OpenMessage) -> None:
        """Show half a character that waits for its other half: none will come."""
        if rest := self._halves.give_up():
            self._grow(self._last_step, rest, message)

    def text_of(self, step_id: str) -> str:
        """Give what a step has thought so far."""
        part = self._find(step_id)
        return "" if part is None else part.text_of(step_id)

    def seal(self, step_id: str, name: str, value: Json, message: OpenMessage) -> None:
        """Keep opaque data with a step, which need not have thought anything."""
        known = self._find(step_id)
        if known is not None and known.has_seal(step_id, name, value):
            return
        part = self._part_of(step_id, message)
        if not part.knows(step_id):
            part.append(step_id, "", self._messages.moment, len(message.parts))
        part.seal(step_id, name, value, self._messages.moment)

    def announce(self, step_id: str) -> None:
        """Take note of a step that begins, and may have nothing to show but a seal."""
        self._announced.add(step_id)

    def knows(self, step_id: str) -> bool:
        """Has this step begun, or thought, in this stream?"""
        part = self._find(step_id)
        return step_id in self._announced or (part is not None and part.knows(step_id))

    def _grow(self, step_id: str, piece: str, message: OpenMessage) -> None:
        self._last_step = step_id
        if piece:
            self.thoughts.append(piece)
            part = self._part_of(step_id, message)
            part.append(step_id, piece, self._messages.moment, len(message.parts))
            self._notices.add(self._notices.callbacks.on_thinking_update, message.id, part.text.text)

    def _find(self, step_id: str) -> OpenThinking | None:
        """Give the part that shows this step, if there is one."""
        return self._parts.get(step_id if self._per_step else "")

    def _part_of(self, step_id: str, message: OpenMessage) -> OpenThinking:
        """Find the part that is to change, or add it; either is a change of the message."""
        part = self._find(step_id)
        if part is None:
            self._text.flush()
            moment = self._messages.tick()
            part = OpenThinking(moment, step_id if self._per_step else None)
            self._parts[step_id if self._per_step else ""] = part
            message.append(part, moment)
        else:
            if part.begins(step_id):
                self._text.flush()  # what was said before this step stands before it
            message.touch(part, self._messages.tick())
        self._messages.touch(message)
        self._notices.changed = True
        return part
