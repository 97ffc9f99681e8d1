"""The text and the thinking of an AG-UI stream, as message and reasoning items."""

from collections import Counter

from turnwire.messages.agui.events import StepFinished, StepStarted, TextMessageEnd, TextMessageStart
from turnwire.messages.agui.more_events import ReasoningMessageEnd, ReasoningMessageStart
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.block_ends import BlockEnds
from turnwire.messages.json_shapes import NOTHING
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.transcript import Transcript


class SpokenBlocks:
    """Which messages and thoughts are open. Blocks may interleave; a canonical step ends when anything else begins."""

    def __init__(self, transcript: Transcript, counts: Counter[str], ends: BlockEnds) -> None:
        self._transcript = transcript
        self._counts = counts
        self._ends = ends
        self._texts: dict[str, Item] = {}
        self._thoughts: dict[str, Item] = {}
        self._steps: set[str] = set()
        """Which of the thoughts are canonical steps of which nobody will tell the end."""
        self._users: set[str] = set()
        """Messages of the user's."""

    def find(self, message_id: str) -> Item | None:
        """Give the item of an open block."""
        return self._thoughts.get(message_id) or self._texts.get(message_id)

    def start_text(self, event: TextMessageStart) -> None:
        """A message begins. One of the user's is not the agent's to tell: a turn is given it as its prompt."""
        if event.role == "user":
            self._counts["user_message"] += 1
            self._users.add(event.message_id)
        elif event.message_id in self._texts:
            self._counts["repeated_start"] += 1
        elif not self._ends.succeeds(event.message_id, event.metadata):
            self._begin_text(event.message_id, None if event.role == "assistant" else "system")

    def grow_text(self, message_id: str, delta: str) -> None:
        """A message grows; one that was never announced begins."""
        item = self._texts.get(message_id)
        if item is not None:
            self._transcript.delta(item, delta)
        elif message_id in self._users or self._ends.grow(message_id, delta):
            pass
        elif delta and message_id not in self._transcript.used_ids:
            self._transcript.delta(self._begin_text(message_id, None), delta)
        else:
            self._counts["unknown_block"] += 1

    def end_text(self, event: TextMessageEnd) -> None:
        """A message is over."""
        if event.message_id not in self._users:
            self._ends.end(self._texts.pop(event.message_id, None), event.message_id, event.metadata)

    def start_thinking(self, event: ReasoningMessageStart) -> None:
        """A block of thinking begins."""
        if event.message_id in self._thoughts:
            self._counts["repeated_start"] += 1
        elif not self._ends.succeeds(event.message_id, event.metadata):
            self._transcript.start(self._begin_thinking(event.message_id))

    def grow_thinking(self, message_id: str, delta: str) -> None:
        """A block of thinking grows; one that was never announced begins."""
        if delta and not self._ends.grow(message_id, delta):
            item = self._thoughts.get(message_id) or self._begin_thinking(message_id)
            self._transcript.delta(item, delta)

    def end_thinking(self, event: ReasoningMessageEnd) -> None:
        """A block of thinking is over."""
        self._ends.end(self._thoughts.pop(event.message_id, None), event.message_id, event.metadata)

    def start_step(self, event: StepStarted) -> None:
        """A canonical step begins. Unless its end will be told it waits for its text: it may be a mere mark."""
        if words.ENDS in (event.metadata or NOTHING):
            self.start_thinking(ReasoningMessageStart(message_id=event.step_id, metadata=event.metadata))

    def step(self, event: StepFinished) -> None:
        """A canonical step grows, or is over. One of AG-UI 1.0 is a mere mark."""
        step_id = event.step_id
        delta = self._rest(step_id, event.content) if event.delta is None else event.delta
        is_new = step_id not in self._thoughts and not self._ends.brings(step_id)
        if is_new and (delta or event.signature):
            self._begin_thinking(step_id)
            self._steps.add(step_id)
        self.grow_thinking(step_id, delta)
        item = self._thoughts.get(step_id)
        if words.ENDS in (event.metadata or NOTHING):
            self.end_thinking(ReasoningMessageEnd(message_id=step_id, metadata=event.metadata))
        elif item is not None and event.signature:
            item.native["signature"] = event.signature

    def leave_steps(self) -> None:
        """Something else begins: thinking whose end will not be told is over."""
        for step_id in self._steps:
            self._transcript.done(self._thoughts.pop(step_id))
        self._steps.clear()

    def close_all(self) -> None:
        """End what is still open as it is, because the run ends."""
        self.leave_steps()
        for item in (*self._texts.values(), *self._thoughts.values()):
            self._transcript.done(item)
        self._texts.clear()
        self._thoughts.clear()

    def _begin_text(self, message_id: str, origin: str | None) -> Item:
        self.leave_steps()
        item = self._texts[message_id] = self._transcript.notice("message", message_id)
        item.origin = origin
        return self._transcript.start(item)

    def _begin_thinking(self, message_id: str) -> Item:
        self.leave_steps()
        item = self._thoughts[message_id] = self._transcript.notice("reasoning", message_id)
        return item

    def _rest(self, step_id: str, content: str | None) -> str:
        sent = self._thoughts[step_id].text if step_id in self._thoughts else ""
        return content[len(sent) :] if content and content.startswith(sent) else ""
