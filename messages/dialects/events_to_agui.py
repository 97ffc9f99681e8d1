"""StreamEvents → AG-UI events, one at a time, in either dialect.

One model adapter can so serve the turn actor, which takes StreamEvents, and the conversation actor, which takes AG-UI.
Which event becomes which stands in docs/agui.md. What there is no AG-UI event for becomes metadata or a CUSTOM event
(agui_words.py); what came too late or is not known is counted.

Whatever the events do, what comes out begins with RUN_STARTED, closes all it has opened, and ends with one
RUN_FINISHED or RUN_ERROR.
"""

from collections import Counter
from collections.abc import Iterable

import attrs

from turnwire.messages.agui.codec import Dialect
from turnwire.messages.agui.events import Custom, RunError, RunErrorInfo, RunFinished, RunStarted
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.agui_voice import AguiVoice
from turnwire.messages.dialects.event_items import EventItems
from turnwire.messages.event_codec import unstructure_event
from turnwire.messages.events import (
    ErrorInfo,
    FinalError,
    FinalScriptExecution,
    FinalScriptExecutionOutput,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    ScriptExecutionDone,
    ScriptExecutionError,
    ScriptExecutionStart,
    StreamEvent,
    TurnAbortedByUser,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_shapes import is_object
from turnwire.messages.providers.endings import truncated

_ONLY_OURS = (FinalScriptExecution, FinalScriptExecutionOutput, FinalError)
"""Final items that AG-UI knows nothing like."""


def events_to_agui(events: Iterable[StreamEvent], *, dialect: Dialect = "canonical") -> list[AnyAguiEvent]:
    """Convert a whole run."""
    converter = EventsToAgui(dialect=dialect)
    told = [each for event in events for each in converter.push(event)]
    return [*told, *converter.finish()]


class EventsToAgui:
    """Converts one run. `user_messages` tells the user's own messages too, which AG-UI clients have already.

    `provider_data` sends along what must go back to the provider (and the provider's own words about errors). It is
    on in the canonical dialect, for a conversation in the same process, and off in AG-UI 1.0, for user interfaces.
    """

    def __init__(
        self,
        *,
        dialect: Dialect = "canonical",
        thread_id: str | None = None,
        user_messages: bool = False,
        provider_data: bool | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """What did not fit, by kind."""
        self._provider_data = dialect == "canonical" if provider_data is None else provider_data
        self._voice = AguiVoice(dialect)
        self._items = EventItems(
            self._voice, self.counts, user_messages=user_messages, provider_data=self._provider_data
        )
        self._thread_id = thread_id
        self._run_id: str | None = None
        self._usage: Usage | None = None
        self._ended = False

    def push(self, event: StreamEvent) -> tuple[AnyAguiEvent, ...]:
        """Take the next event; gives what follows from it."""
        if self._ended:
            self.counts["after_end"] += 1
            return ()
        self._voice.timestamp = int(event.timestamp)
        payload = event.payload
        if self._run_id is None:
            self._start(event.run_id, payload if isinstance(payload, ResponseStart) else None)
        elif isinstance(payload, ResponseStart):
            self.counts["repeated_start"] += 1
        if isinstance(payload, ItemDelta):
            self._items.grow(payload.item_id, payload.delta_content)
        else:
            self._read(event)
        return self._voice.take()

    def finish(self) -> tuple[AnyAguiEvent, ...]:
        """Take the end of the stream. A run that has begun and not ended was cut off, and is told so."""
        if self._run_id is not None and not self._ended:
            self._break(truncated())
        return self._voice.take()

    def _start(self, run_id: str, start: ResponseStart | None) -> None:
        self._run_id = run_id
        notes = {}
        if start is not None:
            self._thread_id = start.thread_id
            notes = {
                words.MODEL_ID: start.model_id,
                words.PROVIDER_ID: start.provider_id,
                words.AGENT_ID: start.agent_id,
            }
        self._voice.tell(
            RunStarted(
                run_id=run_id,
                thread_id=self._thread_id or run_id,
                timestamp=self._voice.timestamp,
                metadata=words.without_none(**notes) or None,
            )
        )

    def _read(self, event: StreamEvent) -> None:
        payload = event.payload
        match payload:
            case ItemStart():
                self._items.start(payload)
            case ItemDone(item_id=item_id, final_item=final):
                if isinstance(final, _ONLY_OURS) and not self._items.tells(item_id):
                    self._pass_on(event)
                self._items.done(item_id, final)
            case ItemError():
                self._items.fail(payload.item_id, payload.error)
            case ItemCancelled():
                self._items.cancel(payload.item_id, payload.reason)
            case UsageUpdate():
                self._usage = payload.usage
            case ResponseDone():
                self._finish(payload)
            case ResponseError():
                self._break(payload.error)
            case TurnAbortedByUser():
                self._finish(ResponseDone(response_id=event.run_id, status="aborted", raw_finish_reason=payload.reason))
            case ScriptExecutionStart() | ScriptExecutionDone() | ScriptExecutionError():
                self._pass_on(event)
            case UnknownPayload():
                self.counts["unknown_payload"] += 1
            case _:
                pass

    def _pass_on(self, event: StreamEvent) -> None:
        """Tell a payload that AG-UI has no event for under its own name."""
        if not self._provider_data and isinstance(event.payload, ItemDone):
            final = attrs.evolve(event.payload.final_item, provider_data=None)
            event = attrs.evolve(event, payload=attrs.evolve(event.payload, final_item=final))
        fields = unstructure_event(event)["payload"]
        name = words.CUSTOM_PREFIX + fields.pop("type")
        self._voice.tell(Custom(name=name, data=fields, timestamp=self._voice.timestamp))

    def _finish(self, done: ResponseDone) -> None:
        self._ended = True
        pending = self._items.close_all()
        reason = words.to_agui_reason(done.finish_reason)
        own_word = done.finish_reason if done.finish_reason != reason else None
        notes = {
            words.STATUS: done.status if done.status in ("error", "aborted") else None,
            words.OWN_FINISH_REASON: own_word,
            words.PROVIDER_RESPONSE_ID: done.provider_response_id,
            words.SERVED_MODEL: done.served_model,
        }
        self._voice.tell(
            RunFinished(
                run_id=self._run_id or done.response_id,
                thread_id=self._thread_id or self._run_id,
                finish_reason=reason,
                raw_finish_reason=done.raw_finish_reason or own_word,
                usage=done.usage or self._usage,
                outcome=words.run_outcome(pending, cancelled=done.status == "aborted"),
                timestamp=self._voice.timestamp,
                metadata=words.without_none(**notes) or None,
            )
        )

    def _break(self, error: ErrorInfo) -> None:
        self._ended = True
        self._items.close_all()
        retryable = error.details.get("retryable") if is_object(error.details) else None
        notes = {words.RETRYABLE: retryable, words.DETAILS: error.details if self._provider_data else None}
        self._voice.tell(
            RunError(
                error=RunErrorInfo(message=error.message, code=error.code),
                run_id=self._run_id,
                usage=self._usage,
                timestamp=self._voice.timestamp,
                metadata=words.without_none(**notes) or None,
            )
        )
