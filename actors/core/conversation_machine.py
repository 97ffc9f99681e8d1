"""A conversation as its host drives it: AG-UI events in, the state of all messages out. No clock, no await.

It is the single owner of its messages. It runs no tools and knows no tool names, and it trusts the order of events
within one id: what does not fit is counted, never guessed. What each event does: conversation_effects.py.

Two scopes: what belongs to a stream (texts, thinking, its calls, why it finished) begins anew with
`prepare_assistant_message`; what belongs to the conversation (messages, approvals, state) stays.
"""

from collections.abc import Iterable

from turnwire.actors.core.conversation_effects import apply_event
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.actors.core.conversation_scope import ConversationScope
from turnwire.actors.core.counts import Counts
from turnwire.actors.core.message_list import Messages
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import UnknownCallError
from turnwire.messages.json_text import dump_json, refuse_nan
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ProcessorResult, UIMessage
from turnwire.messages.ui_changes import ConversationChange, StateChanged


class ConversationMachine:
    """One conversation. Needs no event loop: `process` a whole stream, or `process_event` one at a time."""

    __slots__ = ("_notices", "_scope", "options")

    def __init__(
        self,
        options: ConversationOptions | None = None,
        callbacks: ConversationCallbacks | None = None,
        *,
        messages: Iterable[UIMessage] = (),
        state: Json = None,
    ) -> None:
        self.options = options or ConversationOptions()
        callbacks = callbacks or ConversationCallbacks()
        self._scope = ConversationScope(self.options, callbacks, messages, state)
        self._notices = self._scope.notices

    # What a host looks at

    @property
    def messages(self) -> Messages:
        """The messages as they are now: immutable, free to take, made when looked at."""
        return self._scope.messages.view()

    @property
    def state(self) -> Json:
        """The state beside the messages, as STATE_SNAPSHOT and STATE_DELTA keep it."""
        return self._scope.state

    @property
    def counts(self) -> Counts:
        """How often something was ignored, by what it was."""
        return dict(self._scope.counts)

    @property
    def result(self) -> ProcessorResult:
        """What the stream has come to so far. Costs as much as the stream is long."""
        return self._scope.result()

    @property
    def is_done(self) -> bool:
        """Has the stream been finalized?"""
        return self._scope.is_done

    @property
    def pending_approvals(self) -> tuple[str, ...]:
        """The ids of the approvals that nobody has answered yet."""
        return self._scope.approvals.pending()

    def take_changes(self) -> list[ConversationChange]:
        """Give what has changed since the last time, each message once and as it is now."""
        changes = self._scope.messages.take_changes()
        if self._scope.state_changed:
            self._scope.state_changed = False
            changes.append(StateChanged(state=self._scope.state))
        return changes

    # What a host does

    def process(self, stream: Iterable[AnyAguiEvent]) -> ProcessorResult:
        """Process a whole stream, from before its first event to after its last."""
        self.prepare_assistant_message()
        for event in stream:
            self.process_event(event)
        return self.finalize()

    def prepare_assistant_message(self, message_id: str | None = None) -> None:
        """Get ready for a new stream. Its assistant message is made when there is something to put in.

        It gets this id, if one is given and free; else the next number. A stream that is still open is ended first.
        """
        self._end()
        self._scope.begin_stream(message_id)

    def process_event(self, event: AnyAguiEvent) -> None:
        """Take one event in, and tell the callbacks what it changed.

        Raises InvalidEventError, and changes nothing, if it is malformed. After `finalize` it begins a new stream.
        """
        if self._scope.is_done:
            self._scope.begin_stream(None)
        apply_event(self._scope, event)
        self._notices.tell(self._scope.messages.view)

    def finalize(self) -> ProcessorResult:
        """End the stream: complete open calls, show all text, tell that it has ended. Twice is once."""
        self._end()
        return self._scope.result()

    def flush(self) -> None:
        """Show all text that waits, whatever the strategy says. The stream goes on."""
        self._scope.text.show_waiting()
        self._tell()

    def add_message(self, message: UIMessage) -> None:
        """Add a whole message, such as the user's next one. Raises ValueError if its id is taken."""
        self._scope.messages.append(message)
        self._scope.approvals.learn_from(message)
        self._notices.changed = True
        self._tell()

    def add_tool_result(self, tool_call_id: str, output: Json, error: str | None = None) -> None:
        """Give the output of a tool that the client ran. Raises UnknownCallError if there is no such call.

        And TypeError or ValueError, with nothing changed, if the output is not JSON: NaN is not.
        """
        refuse_nan(output)
        content = output if isinstance(output, str) else dump_json(output).decode()
        if not self._scope.desk.answer(tool_call_id, content, output=output, error=error):
            raise UnknownCallError(f"there is no call {tool_call_id} in this conversation")
        self._tell()

    def add_tool_approval_response(self, approval_id: str, approved: bool) -> None:  # the word says it
        """Give the user's answer. Raises UnknownCallError, or ApprovalAnsweredError with the first answer."""
        self._scope.approvals.answer(approval_id, approved=approved)
        self._tell()

    def _end(self) -> None:
        if not self._scope.is_done:
            self._scope.end_stream()
            self._tell()

    def _tell(self) -> None:
        self._notices.tell(self._scope.messages.view)
