"""What one conversation holds, and what belongs to the stream that it listens to. No clock, no await."""

from collections.abc import Iterable

from turnwire.actors.core.approvals import Approvals
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions, Notices
from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.open_message import OpenMessage
from turnwire.actors.core.settled_message import is_blank
from turnwire.actors.core.text_flow import TextFlow
from turnwire.actors.core.thinking_flow import ThinkingFlow
from turnwire.actors.core.tool_desk import ToolDesk
from turnwire.messages.agui.events import AguiEvent, TextMessageContent
from turnwire.messages.dialects.agui_chunks import AguiChunks
from turnwire.messages.json_text import mend_surrogates, parse_json_or_text
from turnwire.messages.particulars import Json, Usage
from turnwire.messages.providers.usage import add_usage
from turnwire.messages.ui import ProcessorResult, ProviderData, Role, TextPart, UIMessage


class ConversationScope:
    """A conversation and the stream that it listens to."""

    __slots__ = (
        "_has_started",
        "_wish",
        "approvals",
        "chunks",
        "classic",
        "counts",
        "desk",
        "finish_reason",
        "has_failed",
        "held",
        "is_done",
        "messages",
        "notices",
        "others",
        "sealed",
        "state",
        "state_changed",
        "text",
        "thinking",
        "usage",
    )

    def __init__(
        self,
        options: ConversationOptions,
        callbacks: ConversationCallbacks,
        messages: Iterable[UIMessage],
        state: Json,
    ) -> None:
        self.counts: Counts = {}
        self.state = state
        self.state_changed = False
        self.messages = MessageList(messages)
        self.notices = Notices(callbacks)
        self.text = TextFlow(self.messages, self.notices, options.strategy)
        per_step = options.thinking == "step"
        self.thinking = ThinkingFlow(self.messages, self.notices, self.text, per_step=per_step)
        self.classic = options.states == "classic"
        self.desk = ToolDesk(
            self.messages,
            self.notices,
            self.text,
            self.counts,
            classic=self.classic,
            partial=options.partial_arguments,
        )
        self.approvals = Approvals(self.messages, self.desk, self.counts)
        self.begin_stream(None)

    def begin_stream(self, message_id: str | None) -> None:
        """Begin a new stream, whose message is to have this id if that is free."""
        self.messages.settle()
        self.text.reset()
        self.thinking.reset()
        self.desk.reset()
        self.chunks = AguiChunks(self.counts)
        self.others: dict[str, Role] = {}
        """Who is not the assistant and speaks in this stream, by message id."""
        self.held: dict[str, tuple[list[str], float | str | None]] = {}
        """What they say, until it is whole."""
        self._wish = message_id
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.sealed: dict[str, str] = {}
        self.has_failed = False
        self._has_started = False
        self.is_done = False

    def end_stream(self) -> None:
        """End the stream: complete its calls, show its text, take its message out if it holds nothing."""
        self.is_done = True
        self.desk.complete_all()
        self.flush()
        for message_id in [*self.held]:
            self.release(message_id)
        message = self.messages.open
        if message is not None and not self.has_failed and is_blank(message.newest()):
            self.messages.remove_open()
            self.notices.changed = True
        settled = self.messages.settle()
        for _ in self.sealed:
            count(self.counts, "encrypted_values_of_nothing")
        if self._has_started:
            self.notices.add(self.notices.callbacks.on_stream_end, settled)

    def flush(self) -> None:
        """Show all text that waits, and what stands for half a character that nothing followed."""
        if self.messages.open is not None:
            self.text.flush()
            self.thinking.finish(self.messages.open)

    def result(self) -> ProcessorResult:
        """Say what the stream has come to."""
        return ProcessorResult(
            content="".join(self.text.texts),
            thinking="".join(self.thinking.thoughts),
            tool_calls=self.desk.called(),
            finish_reason=self.finish_reason,
            usage=self.usage,
        )

    # What several events do

    def begin_message(self, event: AguiEvent) -> OpenMessage:
        """Make the assistant message of the stream: there is something to put in."""
        message = self.messages.begin(self._wish, "assistant", event.timestamp)
        for entity_id, value in self.sealed.items():
            message.keep(entity_id, value, self.messages.moment)
        self.sealed.clear()
        if not self._has_started:  # a snapshot may have taken the stream's first message away
            self._has_started = True
            self.notices.add_start()
        self.notices.changed = True
        return message

    def answer(self, call_id: str, content: str, error: str | None, data: ProviderData | None) -> None:
        """Put what a tool said, as raw text, into its call."""
        content = mend_surrogates(content)
        self.desk.answer(call_id, content, output=parse_json_or_text(content), error=error, data=data)

    def hold(self, event: TextMessageContent) -> None:
        """Hold what somebody other than the assistant says until it is whole."""
        self.held.setdefault(event.message_id, ([], event.timestamp))[0].append(event.delta)

    def release(self, message_id: str) -> None:
        """Add a message of somebody else's, which is whole now."""
        texts, created_at = self.held.pop(message_id, ([], None))
        if text := mend_surrogates("".join(texts)):
            self.messages.append_new(message_id, self.others[message_id], (TextPart(content=text),), created_at)
            self.notices.changed = True

    def spend(self, usage: Usage | None) -> None:
        """Add to what the stream has used."""
        self.usage = add_usage(self.usage, usage)

    def set_state(self, state: Json) -> None:
        """Put another state beside the messages."""
        self.state = state
        self.state_changed = True
        self.notices.add(self.notices.callbacks.on_state_change, state)
