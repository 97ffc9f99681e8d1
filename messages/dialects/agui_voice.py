"""Says text, thinking, tool calls and results as AG-UI events, in either dialect.

The dialects differ in three things. Thinking is STEP_STARTED and STEP_FINISHED with deltas in the canonical one, and
REASONING_* in AG-UI 1.0. A tool's result stands on a second TOOL_CALL_END, or is a TOOL_CALL_RESULT. And only the
canonical TOOL_CALL_END can say what the arguments are, parsed.

A call that did not come about (cut off, cancelled) has to be ended like any other, and an end says that the tool may
run. So its END is followed by a TOOL_CALL_RESULT that says why it must not, in both dialects: the result of a call
that nobody ran is no result of a tool.
"""

from typing import Literal

from turnwire.messages.agui.codec import Dialect
from turnwire.messages.agui.events import (
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    TextRole,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from turnwire.messages.agui.more_events import (
    AnyAguiEvent,
    ReasoningEncryptedValue,
    ReasoningEnd,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    ReasoningMessageStart,
    ReasoningStart,
    ToolCallResult,
)
from turnwire.messages.dialects.agui_words import ENDS, ITEM_ID, PROVIDER_DATA, Notes
from turnwire.messages.free_ids import FreeIds
from turnwire.messages.json_text import dump_json
from turnwire.messages.particulars import Json


class AguiVoice:
    """Collects events until they are taken. Knows how things are said, not whether they may be said now."""

    __slots__ = ("_canonical", "_ids", "_told", "timestamp")

    def __init__(self, dialect: Dialect) -> None:
        self._canonical = dialect == "canonical"
        self._told: list[AnyAguiEvent] = []
        self._ids = FreeIds()
        self.timestamp: int | None = None
        """When what is said next happened, in milliseconds since the epoch."""

    @property
    def parses(self) -> bool:
        """Whether the end of a call says what its arguments are, so that they need not be what was streamed."""
        return self._canonical

    def take(self) -> tuple[AnyAguiEvent, ...]:
        """Give what was said since the last time."""
        told = tuple(self._told)
        self._told.clear()
        return told

    def tell(self, event: AnyAguiEvent) -> None:
        """Say an event that needs no translation."""
        self._told.append(event)

    def free_id(self, wanted: str) -> str:
        """Give an id that no message, thought or call of this stream has: clients would take them for one."""
        return self._ids.take(wanted)

    def keep(self, subtype: Literal["message", "tool-call"], entity_id: str, data: Json, notes: Notes) -> None:
        """Send provider data along with an item that is about to end: as a note, or in AG-UI 1.0's own event for it."""
        if self._canonical:
            notes[PROVIDER_DATA] = data
        else:
            text = dump_json(data).decode()
            self._told.append(
                ReasoningEncryptedValue(
                    subtype=subtype, entity_id=entity_id, encrypted_value=text, timestamp=self.timestamp
                )
            )

    # Text

    def start_text(self, message_id: str, role: TextRole, notes: Notes) -> None:
        """A message begins."""
        self._told.append(
            TextMessageStart(message_id=message_id, role=role, timestamp=self.timestamp, metadata=notes or None)
        )

    def text(self, message_id: str, delta: str) -> None:
        """A message grows. The text so far is not repeated in `content`: that would cost its square."""
        self._told.append(TextMessageContent(message_id=message_id, delta=delta, timestamp=self.timestamp))

    def end_text(self, message_id: str, notes: Notes) -> None:
        """A message is over."""
        self._told.append(TextMessageEnd(message_id=message_id, timestamp=self.timestamp, metadata=notes or None))

    # Thinking

    def start_thinking(self, step_id: str, notes: Notes) -> None:
        """A block of thinking begins."""
        at = self.timestamp
        if self._canonical:
            self._told.append(StepStarted(step_id=step_id, timestamp=at, metadata={**notes, ENDS: True}))
        else:
            self._told.append(ReasoningStart(message_id=step_id, timestamp=at))
            self._told.append(ReasoningMessageStart(message_id=step_id, timestamp=at, metadata=notes or None))

    def thinking(self, step_id: str, delta: str) -> None:
        """A block of thinking grows."""
        at = self.timestamp
        if self._canonical:
            self._told.append(StepFinished(step_id=step_id, delta=delta, timestamp=at))
        else:
            self._told.append(ReasoningMessageContent(message_id=step_id, delta=delta, timestamp=at))

    def end_thinking(self, step_id: str, notes: Notes, *, signature: str | None) -> None:
        """A block of thinking is over. The canonical dialect has no event for that: a last, empty delta says it."""
        at = self.timestamp
        if self._canonical:
            self._told.append(
                StepFinished(
                    step_id=step_id, delta="", signature=signature, timestamp=at, metadata={**notes, ENDS: True}
                )
            )
        else:
            self._told.append(ReasoningMessageEnd(message_id=step_id, timestamp=at, metadata=notes or None))
            self._told.append(ReasoningEnd(message_id=step_id, timestamp=at))

    # Tools

    def start_call(self, tool_call_id: str, name: str, notes: Notes) -> None:
        """A call begins."""
        self._told.append(
            ToolCallStart(tool_call_id=tool_call_id, tool_name=name, timestamp=self.timestamp, metadata=notes or None)
        )

    def arguments(self, tool_call_id: str, delta: str) -> None:
        """The arguments of a call grow."""
        self._told.append(ToolCallArgs(tool_call_id=tool_call_id, delta=delta, timestamp=self.timestamp))

    def end_call(self, tool_call_id: str, name: str, parsed: Json, notes: Notes) -> None:
        """The arguments of a call are final."""
        canonical = {"tool_name": name, "input": parsed} if self._canonical else {}
        self._told.append(
            ToolCallEnd(tool_call_id=tool_call_id, timestamp=self.timestamp, metadata=notes or None, **canonical)
        )

    def result(self, tool_call_id: str, name: str, message_id: str, text: str, error: str | None, notes: Notes) -> None:
        """A tool has run."""
        if not self._canonical:
            self._tell_result(tool_call_id, message_id, text, error, notes)
            return
        self._told.append(
            ToolCallEnd(
                tool_call_id=tool_call_id,
                tool_name=name or None,
                result=text,
                error=error,
                timestamp=self.timestamp,
                metadata={**notes, ITEM_ID: message_id},
            )
        )

    def refuse_call(self, tool_call_id: str, why: str) -> None:
        """A call that was ended did not come about: no tool may run on it."""
        self._tell_result(tool_call_id, self.free_id(f"{tool_call_id}-result"), why, why, {})

    def _tell_result(self, tool_call_id: str, message_id: str, text: str, error: str | None, notes: Notes) -> None:
        self._told.append(
            ToolCallResult(
                message_id=message_id,
                tool_call_id=tool_call_id,
                content=text,
                role="tool",
                error=error,
                timestamp=self.timestamp,
                metadata=notes or None,
            )
        )
