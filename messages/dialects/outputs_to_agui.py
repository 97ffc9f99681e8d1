"""The outputs of a turn → AG-UI events: any turn that was stored or is running can be read by an AG-UI client.

Outputs are full states, AG-UI wants deltas: what is new in a state is the end of its text. A reader may join in the
middle, with a snapshot or with whatever output comes first: it is told the run's start and the items as they stand.

A state that does not go on where the last one stopped (the provider's final text was another one) cannot be told by
deltas, and AG-UI's one event that replaces text, MESSAGES_SNAPSHOT, replaces the whole conversation. So:
- with `history`, the messages before this turn, it is told by a snapshot of all of them;
- without, the block is closed with a note, and the final text follows as a message of its own (agui_items.py).

What a push costs is a comparison with the text of the state before, plus the new text; only a snapshot costs more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnwire.messages.agui.codec import Dialect
from turnwire.messages.agui.events import RunError, RunErrorInfo, RunFinished, RunStarted
from turnwire.messages.agui.messages import AguiMessage
from turnwire.messages.agui.more_events import AnyAguiEvent, MessagesSnapshot
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.agui_items import CallItem, SpokenItem
from turnwire.messages.dialects.agui_voice import AguiVoice
from turnwire.messages.dialects.agui_words import Notes
from turnwire.messages.dialects.call_texts import UNKNOWN_TOOL, arguments_of, error_of, output_of
from turnwire.messages.dialects.turn_messages import ROLES, turn_messages
from turnwire.messages.outputs import (
    Content,
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnStarted,
    TurnUsage,
)
from turnwire.messages.particulars import ErrorInfo, Usage
from turnwire.messages.providers.endings import truncated


def outputs_to_agui(outputs: Iterable[Output], *, dialect: Dialect = "1.0") -> list[AnyAguiEvent]:
    """Convert the outputs of a turn, as far as they go."""
    converter = OutputsToAgui(dialect=dialect)
    return [event for output in outputs for event in converter.push(output)]


class OutputsToAgui:
    """Converts one turn for one reader, who may join in the middle: push a snapshot's `outputs` first, then the rest.

    `user_messages` tells the user's own messages too, which the client that sent them has already. `history` allows
    snapshots; it is what stands before this turn, which may be nothing.
    """

    def __init__(
        self,
        *,
        dialect: Dialect = "1.0",
        user_messages: bool = False,
        history: Sequence[AguiMessage] | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """What did not fit, by kind."""
        self._voice = AguiVoice(dialect)
        self._user_messages = user_messages
        self._history = history
        self._ids: tuple[str, str] | None = None
        """The turn and its thread, once the run's start is told."""
        self._ended = False
        self._spoken: dict[str, SpokenItem] = {}
        """Open messages and thoughts, by item_id."""
        self._calls: dict[str, CallItem] = {}
        """Calls that wait for their result, by item_id."""
        self._closed: set[str] = set()
        self._states: dict[str, tuple[str, Content]] = {}
        """For snapshots: what each item is called in AG-UI, and its newest state."""

    def push(self, output: Output) -> tuple[AnyAguiEvent, ...]:
        """Take the next output; gives what follows from it. A state that was told before gives nothing."""
        if self._ended:
            self.counts["after_end"] += 1
            return ()
        if self._ids is None:
            self._start(output)
        match output:
            case Message(origin="user") if not self._user_messages:
                pass
            case Message() | Thinking() | ToolCall() if output.item_id in self._closed:
                self.counts["ended_item"] += 1
            case Message() | Thinking():
                self._tell_spoken(output)
            case ToolCall():
                self._tell_call(output)
            case TurnComplete():
                self._finish(output)
            case TurnError():
                self._break(ErrorInfo(code=output.error.code, message=output.error.message))
            case TurnStarted():
                pass  # told already, by whatever came first
        return self._voice.take()

    def finish(self) -> tuple[AnyAguiEvent, ...]:
        """Take the end of a log that has no terminal: the turn was given up, and is told so."""
        if self._ids is not None and not self._ended:
            self._break(truncated())
        return self._voice.take()

    def _start(self, output: Output) -> None:
        self._ids = output.turn_id, output.thread_id
        notes: Notes = {}
        if isinstance(output, TurnStarted):
            notes = words.without_none(**{words.MODEL_ID: output.model_id, words.PROVIDER_ID: output.provider_id})
        self._voice.tell(RunStarted(run_id=output.turn_id, thread_id=output.thread_id, metadata=notes or None))

    def _tell_spoken(self, output: Message | Thinking) -> None:
        item = self._spoken.get(output.item_id)
        if item is None:
            role = ROLES[output.origin] if isinstance(output, Message) else "assistant"
            item = SpokenItem(self._voice, output.item_id, role, thinking=isinstance(output, Thinking))
            self._spoken[output.item_id] = item
        fits, snapshots = item.reach(output.content), self._history is not None
        if output.status in ("complete", "error"):
            # An error may come with no text at all; what was shown is then all there is, and the note says the rest.
            as_streamed = fits or snapshots or not output.content
            item.end(None if as_streamed else output.content, _error_notes(output))
            del self._spoken[output.item_id]
            self._closed.add(output.item_id)
        elif not fits:
            item.restart(output.content, tell=not snapshots)
        self._remember(item.id, output)
        if not fits:
            self._tell_snapshot()

    def _tell_call(self, output: ToolCall) -> None:
        call = self._calls.get(output.item_id)
        came_about = True
        if call is None:
            name = output.tool_name or UNKNOWN_TOOL
            call = CallItem(self._voice, output.item_id, name=name, call_id=output.call_id, origin=None)
            self._calls[output.item_id] = call
            came_about = output.status != "error" or bool(output.tool_arguments)
            if came_about:
                call.end(arguments_of(output), name=name, call_id=output.call_id or call.id, notes={})
            else:
                call.grow(output.content)  # the arguments so far: it failed before it was whole
                call.fail(error_of(output) or "", _error_notes(output))
        if output.status == "complete":
            notes = words.without_none(**{words.SUCCESS: output.success})
            message_id = self._voice.free_id(f"{call.id}-result")
            self._voice.result(call.id, call.name, message_id, output_of(output), error_of(output), notes)
        elif output.status == "error" and came_about:
            self._voice.refuse_call(call.id, error_of(output) or "")
        self._remember(call.id, output)
        if output.status in ("complete", "error"):
            del self._calls[output.item_id]
            self._closed.add(output.item_id)

    def _remember(self, told_id: str, output: Content) -> None:
        if self._history is not None:
            self._states[output.item_id] = told_id, output

    def _tell_snapshot(self) -> None:
        if self._history is not None:
            self._voice.tell(MessagesSnapshot(messages=(*self._history, *turn_messages(self._states.values()))))

    def _close(self) -> tuple[str, str, list[str]]:
        """End what is still open, as a terminal does; gives turn, thread, and the calls that wait for a result."""
        self._ended = True
        for item in self._spoken.values():
            item.end(None, {})
        self._spoken.clear()
        run_id, thread_id = self._ids or ("", "")
        return run_id, thread_id, [call.id for call in self._calls.values()]

    def _finish(self, end: TurnComplete) -> None:
        run_id, thread_id, pending = self._close()
        self._voice.tell(
            RunFinished(
                run_id=run_id,
                thread_id=thread_id,
                usage=_usage(end.usage),
                outcome=words.run_outcome(pending, cancelled=end.status == "aborted"),
                metadata=None if end.status == "complete" else {words.STATUS: end.status},
            )
        )

    def _break(self, error: ErrorInfo) -> None:
        run_id, _, _ = self._close()
        self._voice.tell(RunError(error=RunErrorInfo(message=error.message, code=error.code), run_id=run_id))


def _error_notes(output: Content) -> Notes:
    if output.status != "error":
        return {}
    error = ErrorInfo(code=output.error_code or "", message=output.error_message or "")
    return words.note_error(error, details=False)


def _usage(usage: TurnUsage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
    )
