"""AG-UI events → StreamEvents: an adapter like those of the providers, for agents that speak AG-UI.

Both dialects are taken, mixed at will. What comes out keeps the rules of every adapter (C1 to C17): our own ids, one
start, one terminal, items that are closed once and add up. Three things that AG-UI leaves open:

- A stream may hold several runs, one for each iteration of a loop; a turn has one end. So RUN_FINISHED ends nothing
  by itself: the end is told when the stream is over (`finish`), with usage summed up.
- A canonical step of thinking has no end. It is over when anything else begins; if it goes on, that is a new item.
- AG-UI 1.0 has no finish reason. If no metadata of ours says it, calls without a result make it tool_calls.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import attrs

from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.events import (
    Custom,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
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
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.agui_chunks import AguiChunks
from turnwire.messages.dialects.block_ends import BlockEnds
from turnwire.messages.dialects.call_blocks import CallBlocks
from turnwire.messages.dialects.spoken_blocks import SpokenBlocks
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import structure_event
from turnwire.messages.events import (
    FinalError,
    FinalScriptExecution,
    FinalScriptExecutionOutput,
    ItemDone,
    ItemStart,
    ItemType,
    ScriptExecutionDone,
    ScriptExecutionError,
    ScriptExecutionStart,
    StreamEvent,
)
from turnwire.messages.json_shapes import NOTHING, JsonObject, is_object, text_at
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.endings import PROVIDER_ERROR, FinishReason, is_retryable, make_error
from turnwire.messages.providers.usage import add_usage

_ONLY_OURS: Mapping[type, ItemType] = {
    FinalScriptExecution: "script_execution",
    FinalScriptExecutionOutput: "script_execution_output",
    FinalError: "error",
}
"""Final items that AG-UI knows nothing like, and that travel whole."""


def agui_to_events(
    events: Iterable[AnyAguiEvent], *, run_id: str | None = None, thread_id: str | None = None, **options: Any
) -> list[StreamEvent]:
    """Convert a whole stream. Ids that are not given are those of its first RUN_STARTED.

    Raises ValueError if there is none.
    """
    events = list(events)
    first = next((event for event in events if isinstance(event, RunStarted)), None)
    run = run_id or (first.run_id if first else "")
    thread = thread_id or (first.thread_id or first.run_id if first else "")
    adapter = AguiAdapter(run_id=run, thread_id=thread, **options)
    told = [each for event in events for each in adapter.push(event)]
    return told + adapter.finish()


class AguiAdapter(Adapter):
    """One AG-UI stream on its way to StreamEvents; over all iterations of its loop."""

    FORMAT: ClassVar[str] = "ag-ui"

    def push(self, event: AnyAguiEvent) -> list[StreamEvent]:
        """Take the next event. What has no counterpart is counted."""
        if self._ended:
            self.counts["after_end"] += 1
            return []
        if not self._started:
            self._begin_as(event)
        self._take(event)
        return self._transcript.take()

    def _prepare(self) -> None:
        self._chunks = AguiChunks(self.counts)
        self._ends = BlockEnds(self._transcript, self.counts)
        self._spoken = SpokenBlocks(self._transcript, self.counts, self._ends)
        self._calls = CallBlocks(self._transcript, self.counts, self._ends, self._spoken.leave_steps)
        self._finished: RunFinished | None = None

    def _read(self, event: JsonObject) -> None:
        try:
            decoded = structure_agui(event)
        except InvalidEventError:
            self.counts["malformed"] += 1
            return
        self._take(decoded)

    def _read_end(self) -> None:
        for event in self._chunks.finish():
            self._understand(event)
        if self._finished is None:
            self._truncate()
        else:
            self._tell_end(self._finished)

    def _begin_as(self, event: AnyAguiEvent) -> None:
        """Begin with what our own RUN_STARTED says of the model; the ids are those we were given."""
        if isinstance(event, RunStarted) and event.metadata:
            known = {"model_id": words.MODEL_ID, "provider_id": words.PROVIDER_ID, "agent_id": words.AGENT_ID}
            said = {name: text_at(event.metadata, key) for name, key in known.items()}
            self._response_start = attrs.evolve(
                self._response_start, **{name: word for name, word in said.items() if word}
            )
        self._begin()

    def _take(self, event: AnyAguiEvent) -> None:
        for each in self._chunks.spell_out(event):
            self._understand(each)

    def _understand(self, event: AnyAguiEvent) -> None:
        spoken, calls = self._spoken, self._calls
        match event:
            case TextMessageContent():
                spoken.grow_text(event.message_id, event.delta)
            case ToolCallArgs():
                calls.grow(event.tool_call_id, event.delta)
            case ReasoningMessageContent():
                spoken.grow_thinking(event.message_id, event.delta)
            case StepFinished():
                spoken.step(event)
            case TextMessageStart():
                spoken.start_text(event)
            case TextMessageEnd():
                spoken.end_text(event)
            case ToolCallStart():
                calls.start(event)
            case ToolCallEnd():
                calls.end(event)
            case ToolCallResult():
                calls.result(event)
            case ReasoningMessageStart():
                spoken.start_thinking(event)
            case ReasoningMessageEnd():
                spoken.end_thinking(event)
            case StepStarted():
                spoken.start_step(event)
            case ReasoningEncryptedValue():
                where = calls if event.subtype == "tool-call" else spoken
                self._ends.keep(where.find(event.entity_id), event)
            case ReasoningStart() | ReasoningEnd():
                pass  # what they enclose speaks for itself
            case _:
                self._understand_run(event)

    def _understand_run(self, event: AnyAguiEvent) -> None:
        match event:
            case RunStarted():
                self.provider_response_id = self.provider_response_id or event.run_id
                self._finished = None  # the loop goes on
            case RunFinished():
                self._usage = add_usage(self._usage, event.usage)
                self._close_all()
                self._finished = event
            case RunError():
                self._usage = add_usage(self._usage, event.usage)
                self._fail(event)
            case Custom() if event.name.startswith(words.CUSTOM_PREFIX) and is_object(event.data):
                self._tell_ours(event)
            case _:
                self.counts["unknown_event"] += 1

    def _close_all(self) -> None:
        self._spoken.close_all()
        self._calls.close_all()
        self._ends.close_all()

    def _tell_ours(self, event: Custom) -> None:
        """Tell a payload that travelled under its own name, for want of an event."""
        tag = event.name.removeprefix(words.CUSTOM_PREFIX)
        envelope = {"event_id": "e", "timestamp": 0, "run_id": "r", "trace_context": {"traceparent": ""}, "type": tag}
        try:
            payload = structure_event({**envelope, "payload": {**event.data, "type": tag}}).payload
        except InvalidEventError:
            self.counts["malformed"] += 1
            return
        match payload:
            case ScriptExecutionStart() | ScriptExecutionDone() | ScriptExecutionError():
                self._transcript.tell(payload)
            case ItemDone(item_id=item_id, final_item=final) if item_id not in self._transcript.used_ids:
                item_type = _ONLY_OURS.get(type(final))
                if item_type is not None:
                    self._transcript.used_ids.add(item_id)
                    self._transcript.tell(ItemStart(item_id=item_id, item_type=item_type))
                    self._transcript.tell(payload)
            case _:
                self.counts["unknown_event"] += 1

    def _fail(self, event: RunError) -> None:
        notes = event.metadata or NOTHING
        code = event.error.code or PROVIDER_ERROR
        details, retryable = notes.get(words.DETAILS), notes.get(words.RETRYABLE)
        error = make_error(
            code,
            event.error.message or f"the agent reported {code}",
            retryable=retryable if isinstance(retryable, bool) else is_retryable(code),
        )
        self._break(attrs.evolve(error, details=details) if is_object(details) else error)

    def _tell_end(self, end: RunFinished) -> None:
        notes = end.metadata or NOTHING
        self.provider_response_id = text_at(notes, words.PROVIDER_RESPONSE_ID) or self.provider_response_id
        self.served_model = text_at(notes, words.SERVED_MODEL)
        status = "aborted" if words.is_cancelled(end.outcome) else text_at(notes, words.STATUS) or "complete"
        reason = self._finish_reason(end) if status == "complete" else _said_reason(end)
        self._tell_done(status, reason, end.raw_finish_reason)

    def _finish_reason(self, end: RunFinished) -> FinishReason:
        said = _said_reason(end)
        if said is not None:
            return said
        if end.raw_finish_reason:
            return "other"
        return "tool_calls" if self._calls.has_unanswered else "stop"


def _said_reason(end: RunFinished) -> FinishReason | None:
    ours = text_at(end.metadata or NOTHING, words.OWN_FINISH_REASON)
    return words.to_our_reason(ours or end.finish_reason or end.raw_finish_reason)
