"""One item on its way to a reader of AG-UI: a message, a block of thinking, or a call. Opened once, closed once.

A final text that does not go on where the deltas stopped cannot be told under the same id: AG-UI has no event that
takes text back. So the block is closed as it was streamed, with a note, and the final text follows as a block of its
own that says which one it supersedes. A reader that knows the notes shows the second alone; one that does not shows
both, and still has the final text.
"""

from turnwire.messages.agui.events import TextRole
from turnwire.messages.dialects.agui_voice import AguiVoice
from turnwire.messages.dialects.agui_words import CALL_ID, ITEM_ID, ORIGIN, SUPERSEDED_BY, SUPERSEDES, Notes
from turnwire.messages.dialects.growing_text import GrowingText
from turnwire.messages.json_shapes import is_object, object_at, text_at
from turnwire.messages.json_text import parse_json_or_none
from turnwire.messages.particulars import Json


class SpokenItem:
    """A message, or a block of thinking."""

    __slots__ = ("_is_thinking", "_role", "_say", "_sent", "_voice", "id")

    def __init__(self, voice: AguiVoice, item_id: str, role: TextRole = "assistant", *, thinking: bool = False) -> None:
        self.id = voice.free_id(item_id)
        self._role: TextRole = role
        self._is_thinking = thinking
        self._voice = voice
        self._say = voice.thinking if thinking else voice.text
        self._sent = GrowingText()
        self._start({})

    def grow(self, delta: str) -> None:
        """More text. What is empty is not sent."""
        if ready := self._sent.add(delta):
            self._say(self.id, ready)

    def reach(self, whole: str) -> bool:
        """The text so far, whole. False, and nothing sent, if it does not begin with what was sent before."""
        rest = self._sent.reach(whole)
        if rest:
            self._say(self.id, rest)
        return rest is not None

    def restart(self, whole: str, *, tell: bool) -> None:
        """The text so far is another one: told as a block of its own, or else known to the reader already."""
        if tell:
            self._replace(whole)
        else:
            self._sent = GrowingText()
            self._sent.reach(whole)

    def end(self, whole: str | None, notes: Notes, data: Json = None) -> None:
        """The end, with the final text if that is known."""
        if whole is None:
            if rest := self._sent.end():
                self._say(self.id, rest)
        elif not self.reach(whole):
            self._replace(whole)
        if data is not None:
            self._voice.keep("message", self.id, data, notes)
        self._end(notes, _signature(data))

    def _start(self, notes: Notes) -> None:
        if self._is_thinking:
            self._voice.start_thinking(self.id, notes)
        else:
            self._voice.start_text(self.id, self._role, notes)

    def _end(self, notes: Notes, signature: str | None = None) -> None:
        if self._is_thinking:
            self._voice.end_thinking(self.id, notes, signature=signature)
        else:
            self._voice.end_text(self.id, notes)

    def _replace(self, whole: str) -> None:
        old, new = self.id, self._voice.free_id(f"{self.id}-final")
        self._end({SUPERSEDED_BY: new})
        self.id, self._sent = new, GrowingText()
        self._start({SUPERSEDES: old})
        self.reach(whole)


class CallItem:
    """A tool call. Two things it waits for, because AG-UI could not mend them later.

    The start waits for the tool's name. The arguments wait for the end unless they begin like a JSON object: those of
    a custom tool are free text, which becomes a JSON object only when it is whole.
    """

    __slots__ = ("_item_id", "_origin", "_sent", "_started", "_streams", "_voice", "_waiting", "call_id", "id", "name")

    def __init__(self, voice: AguiVoice, item_id: str, *, name: str, call_id: str, origin: str | None) -> None:
        self.id = ""
        self.name = name
        self.call_id = call_id
        self._item_id = item_id
        self._origin = origin
        self._voice = voice
        self._sent = GrowingText()
        self._waiting: list[str] = []
        self._streams: bool | None = None
        """Whether the arguments can be sent as they come; None until their first character has come."""
        self._started = False
        if name:
            self._start()

    @property
    def started(self) -> bool:
        """Whether anybody has heard of this call."""
        return self._started

    @property
    def is_ours(self) -> bool:
        """Whether the tool is ours to run: the provider runs its own."""
        return self._origin != "provider"

    def grow(self, delta: str) -> None:
        """More text of its arguments. What is empty is not sent."""
        if self._streams is None and delta.strip():
            self._streams = delta.lstrip().startswith("{")
        if self._streams and self._started:
            self._send(delta)
        else:
            self._waiting.append(delta)

    def end(self, arguments: str, *, name: str, call_id: str, notes: Notes, data: Json = None) -> None:
        """The arguments are final."""
        self.name, self.call_id = self.name or name, call_id
        if not self._started:
            self._start()
        parsed = parse_json_or_none(arguments)
        rest = self._sent.reach(arguments)
        if rest:
            self._voice.arguments(self.id, rest)
        elif rest is None and (parsed is None or not self._voice.parses):
            self._replace(arguments)
        if self.id != call_id:
            notes[CALL_ID] = call_id
        if data is not None:
            self._voice.keep("tool-call", self.id, data, notes)
        self._voice.end_call(self.id, self.name, parsed, notes)

    def fail(self, why: str, notes: Notes) -> None:
        """The call did not come about; no tool may run on it."""
        self._send("")
        if rest := self._sent.end():
            self._voice.arguments(self.id, rest)
        self._voice.end_call(self.id, self.name, None, notes)
        self._voice.refuse_call(self.id, why)

    def _send(self, delta: str) -> None:
        if self._waiting:
            delta, self._waiting = "".join((*self._waiting, delta)), []
        if ready := self._sent.add(delta):
            self._voice.arguments(self.id, ready)

    def _start(self) -> None:
        self._started = True
        self.id = self._voice.free_id(self.call_id or self._item_id)
        notes: Notes = {} if self.id == self._item_id else {ITEM_ID: self._item_id}
        if self._origin is not None:
            notes[ORIGIN] = self._origin
        self._voice.start_call(self.id, self.name, notes)

    def _replace(self, arguments: str) -> None:
        old, self.id, self._sent = self.id, self._voice.free_id(f"{self.id}-final"), GrowingText()
        self._voice.end_call(old, self.name, None, {SUPERSEDED_BY: self.id})
        self._voice.refuse_call(old, f"superseded by the call {self.id}")
        self._voice.start_call(self.id, self.name, {SUPERSEDES: old})
        if rest := self._sent.reach(arguments):
            self._voice.arguments(self.id, rest)


def _signature(data: Json) -> str | None:
    """Give the seal on a thought, where a provider's data has one in plain sight."""
    return text_at(object_at(data, "block"), "signature") or None if is_object(data) else None
