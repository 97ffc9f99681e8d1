"""One reply of a model inside a run: what of it reaches whom, which calls it makes, how it ends. No clock, no await.

1. Items pass on, under ids that are unique in the run. Starts and terminals are withheld: the run has one of each.
2. The conversation hears all of it as AG-UI, RUN_STARTED and RUN_FINISHED of this reply included.
3. Whole calls are collected. Those of the provider's own tools are not ours (C17); one that was cut is no call (C11).
4. Usage that is told on counts the replies before it too (C12).
5. Whatever the model does, every item is closed before the reply counts as ended (C4).
"""

from collections.abc import Iterable

import attrs

from turnwire.actors.core.run_ids import RunIds
from turnwire.actors.core.run_voice import RunVoice
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.dialects.events_to_agui import EventsToAgui
from turnwire.messages.events import (
    ErrorInfo,
    FinalFunctionCall,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Origin,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    TurnAbortedByUser,
    Usage,
    UsageUpdate,
)
from turnwire.messages.providers.endings import incomplete_arguments, truncated
from turnwire.messages.providers.usage import add_usage


class Reply:
    """One answer of a model, as it comes."""

    def __init__(
        self, voice: RunVoice, ids: RunIds, agui: list[AnyAguiEvent], *, thread_id: str, spent: Usage | None
    ) -> None:
        self.calls: list[FinalFunctionCall] = []
        """The calls that are ours to answer, whole, in order."""
        self.end: ResponseDone | ResponseError | None = None
        """How it ended, in its model's words."""
        self._agui = agui
        self._voice = voice
        self._ids = ids
        self._spent = spent
        self._usage: Usage | None = None
        self._open: dict[str, tuple[ItemStart, list[str]]] = {}
        self._ended: set[str] = set()
        self._converter = EventsToAgui(dialect="canonical", thread_id=thread_id)
        ids.begin_reply()

    @property
    def usage(self) -> Usage | None:
        """What the run has cost with this reply."""
        return add_usage(self._spent, self._usage)

    def push(self, events: Iterable[StreamEvent]) -> None:
        """Take what the model said next. After its terminal it has no more to say."""
        for event in events:
            if self.end is None and (fresh := self._ids.fresh_event(event)) is not None:
                self._push(fresh)

    def abort(self, closing: Iterable[StreamEvent]) -> None:
        """End it because the user wants it; `closing` is what the model's stream has to say to that (C9)."""
        self.push(closing)
        self._finish(ResponseDone(response_id=self._run_id, status="aborted"))

    def fail(self, error: ErrorInfo, closing: Iterable[StreamEvent] = ()) -> None:
        """End it because something went wrong on our side."""
        self.push(event for event in closing if not isinstance(event.payload, ResponseDone | ResponseError))
        self._finish(ResponseError(response_id=self._run_id, error=error))

    def finish(self) -> None:
        """Take the end of the stream. One without a terminal was cut off (C8)."""
        self.fail(truncated())

    @property
    def _run_id(self) -> str:
        return self._voice.run_id

    def _push(self, event: StreamEvent) -> None:
        payload = event.payload
        if isinstance(payload, ItemDelta):
            event = self._ids.rename(event)
            payload = event.payload
            if isinstance(payload, ItemDelta) and payload.item_id in self._open:
                self._open[payload.item_id][1].append(payload.delta_content)
                self._pass_on(event)
            return  # for an item that is not open: the rules of a turn would drop it too
        match payload:
            case ResponseStart():
                pass
            case UsageUpdate(usage=usage):
                self._usage = usage
                summed = attrs.evolve(payload, usage=self.usage or usage)
                self._voice.outbox.append(attrs.evolve(event, payload=summed))
                self._hear(event)
            case ResponseDone() | ResponseError():
                self._finish(payload)
            case TurnAbortedByUser():
                self._finish(ResponseDone(response_id=self._run_id, status="aborted"))
            case _:
                self._push_item(self._ids.rename(event))

    def _push_item(self, event: StreamEvent) -> None:
        match event.payload:
            case ItemStart() as start:
                self._open[start.item_id] = start, [start.initial_content or start.arguments or ""]
            case ItemDone(item_id=item_id, final_item=final):
                if item_id in self._ended:
                    return
                self._end_item(item_id)
                if isinstance(final, FinalFunctionCall) and final.origin != "provider":
                    self.calls.append(final)
            case ItemError(item_id=item_id) | ItemCancelled(item_id=item_id):
                if item_id in self._ended:
                    return
                self._end_item(item_id)
            case _:
                pass
        self._pass_on(event)

    def _end_item(self, item_id: str) -> None:
        self._open.pop(item_id, None)
        self._ended.add(item_id)

    def _finish(self, end: ResponseDone | ResponseError) -> None:
        """Close what is open, then end. The first end wins."""
        if self.end is not None:
            return
        for start, parts in [*self._open.values()]:
            self._close(start, "".join(parts), end)
        self._open.clear()
        self.end = end
        if isinstance(end, ResponseDone) and end.usage is not None:
            self._usage = end.usage
        # Its own usage: the conversation adds replies up by itself.
        self._hear(self._voice.envelope(end))

    def _close(self, start: ItemStart, text: str, end: ResponseDone | ResponseError) -> None:
        item_id = start.item_id
        if isinstance(end, ResponseError):
            payload: ItemDone | ItemError = ItemError(item_id=item_id, error=end.error)
        elif start.item_type == "message":
            origin: Origin = "system" if start.origin == "system" else "agent"
            payload = ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=text, origin=origin))
        elif start.item_type == "reasoning":
            payload = ItemDone(item_id=item_id, final_item=FinalReasoning(id=item_id, content=text))
        else:
            payload = ItemError(item_id=item_id, error=incomplete_arguments())
        self._hear(self._voice.tell(payload))

    def _pass_on(self, event: StreamEvent) -> None:
        self._voice.outbox.append(event)
        self._hear(event)

    def _hear(self, event: StreamEvent) -> None:
        self._agui.extend(self._converter.push(event))
