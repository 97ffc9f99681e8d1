"""What every adapter is: a synchronous machine that is fed provider events and gives StreamEvents.

`start` may be called before the provider has said anything (C1); `feed` takes one decoded event, `feed_data` the
text of one; `finish`, `abort` and `fail` are the three ways in which a stream can end without saying so itself.
Each gives the events that follow from it, none of them ever raises for what a provider sent, and after the
terminal nothing comes any more (C3). What was not understood is counted (C7).
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import attrs

from turnwire.messages.events import (
    ErrorInfo,
    FinalMessage,
    ItemDone,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    TraceContext,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_shapes import JsonObject, is_object
from turnwire.messages.json_text import parse_json
from turnwire.messages.providers.continuation import Continuation, new_trace_context
from turnwire.messages.providers.endings import (
    FinishReason,
    incomplete_arguments,
    make_error,
    read_error,
    truncated,
)
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.transcript import Transcript
from turnwire.messages.providers.usage import add_usage

DONE_MARKER = "[DONE]"
"""The data of the SSE event that ends a chat stream (C15)."""


def epoch_milliseconds() -> int:
    """Give the time of day, as events are stamped with it."""
    return time.time_ns() // 1_000_000


class Adapter(ABC):
    """One provider response on its way to StreamEvents. Use it once; a tool loop makes one per request."""

    FORMAT: ClassVar[str]
    """The name of the wire format, as `turnwire adapt` takes it and `provider_data` says it."""

    def __init__(
        self,
        *,
        run_id: str,
        thread_id: str,
        turn_id: str | None = None,
        model_id: str = "",
        provider_id: str | None = None,
        agent_id: str | None = None,
        prompt: str | None = None,
        after: Continuation | None = None,
        show_server_tools: bool = False,
        now: Callable[[], float] = epoch_milliseconds,
        new_event_id: Callable[[], str] | None = None,
        trace_context: TraceContext | None = None,
    ) -> None:
        if not run_id or not thread_id:
            raise ValueError("run_id and thread_id must not be empty")
        self.run_id = run_id
        self.counts: Counter[str] = Counter()
        """What was not understood or came too late, by kind (C7)."""
        self.provider_response_id = ""
        self.served_model = ""
        self._response_start = ResponseStart(
            response_id=run_id,
            turn_id=turn_id or run_id,
            thread_id=thread_id,
            model_id=model_id,
            provider_id=self.FORMAT if provider_id is None else provider_id,
            agent_id=agent_id,
            created_at=0,  # told by the clock when it is sent
        )
        self._prompt = prompt
        self._after = after
        self._show_server_tools = show_server_tools
        self._now = now
        self._trace_context = trace_context or (after.trace_context if after else new_trace_context())
        self._iteration = after.iteration + 1 if after else 0
        self._started = False
        self._ended = False
        self._usage: Usage | None = None
        self._transcript = self._make_transcript(new_event_id)
        self._prepare()

    @property
    def ended(self) -> bool:
        """Whether the terminal has been given; whatever comes later is counted and dropped."""
        return self._ended

    @property
    def usage(self) -> Usage | None:
        """What the run has cost so far, earlier iterations included (C12)."""
        return add_usage(self._after.usage if self._after else None, self._usage)

    @property
    def unclaimed_blocks(self) -> tuple[Any, ...]:
        """Opaque blocks that no item took along: a response that pauses inside a server tool ends with them."""
        return self._transcript.unclaimed

    def continuation(self) -> Continuation:
        """Give what the adapter of the next request in the same run needs as its `after`."""
        return Continuation(
            iteration=self._iteration,
            used_ids=frozenset(self._transcript.used_ids),
            events=self._transcript.events,
            usage=self.usage,
            trace_context=self._trace_context,
        )

    def start(self) -> list[StreamEvent]:
        """Begin the response, with our own ids and the user's prompt (C1, C2). Later calls give nothing."""
        self._begin()
        return self._transcript.take()

    def feed(self, event: object) -> list[StreamEvent]:
        """Take one decoded provider event."""
        if self._ended:
            self.counts["after_end"] += 1
            return []
        if not self._started:
            self._begin()
        if isinstance(event, dict):
            self._read(cast("JsonObject", event))
        elif isinstance(event, Mapping):
            self._read(dict(cast("Mapping[str, Any]", event)))
        else:
            self.counts["malformed"] += 1
        transcript = self._transcript
        told, transcript.told = transcript.told, []  # what `take` does, without the call
        return told

    def feed_data(self, data: str | bytes, name: str = "") -> list[StreamEvent]:
        """Take the data of one SSE event: a provider event as JSON text, or the marker that ends a chat stream.

        `name` is the SSE event's own; it stands in for a `type` that the JSON does not have.
        """
        if data.strip() in (DONE_MARKER, DONE_MARKER.encode()):
            return self._end(self._read_done_marker) if not self._ended else []
        try:
            event = parse_json(data)
        except ValueError:
            event = None  # counted as malformed: C7 holds for bytes too
        if name and is_object(event) and "type" not in event:
            event = {"type": name, **event}
        return self.feed(event)

    def finish(self) -> list[StreamEvent]:
        """Take the end of the stream (C8)."""
        return self._end(self._read_end)

    def abort(self, reason: str | None = None) -> list[StreamEvent]:
        """End the response because our caller wants it (C9). Text that was shown stays."""
        return self._end(lambda: self._abort(reason))

    def fail(self, code: str, message: str, *, retryable: bool = False, details: Any = None) -> list[StreamEvent]:
        """End the response with an error of the way to the provider (C10)."""
        extra = {} if details is None else {"provider_error": details}
        return self._end(lambda: self._break(make_error(code, message, retryable=retryable, **extra)))

    def fail_from(self, payload: object) -> list[StreamEvent]:
        """End the response with a provider's error object that came beside the stream (C10)."""
        return self._end(lambda: self._break(read_error(payload)))

    # What a provider's own room supplies

    @abstractmethod
    def _prepare(self) -> None:
        """Set up what the machine remembers between two events."""

    @abstractmethod
    def _read(self, event: JsonObject) -> None:
        """Understand one event."""

    @abstractmethod
    def _read_end(self) -> None:
        """Understand that the stream is over."""

    def _read_done_marker(self) -> None:
        """Understand `[DONE]`; only chat streams say it."""
        self.counts["unknown_event"] += 1

    def _settle(self) -> None:  # noqa: B027 - most providers have nothing to settle
        """Close the items that are finished although nothing has said so yet, before the others are given up."""

    # What they share

    def _make_transcript(self, new_event_id: Callable[[], str] | None) -> Transcript:
        after = self._after
        return Transcript(
            run_id=self.run_id,
            iteration=self._iteration,
            used_ids=after.used_ids if after else (),
            data_format=self.FORMAT,
            now=self._now,
            new_event_id=new_event_id,
            events_before=after.events if after else 0,
            trace_context=self._trace_context,
        )

    def _begin(self) -> None:
        if self._started:
            return
        self._started = True
        if self._after is not None:
            return  # the run has begun long ago
        tell = self._transcript.tell
        tell(attrs.evolve(self._response_start, created_at=self._now()))
        if self._prompt:
            item_id = f"{self.run_id}-user-prompt"
            self._transcript.used_ids.add(item_id)
            tell(ItemStart(item_id=item_id, item_type="message", origin="user", initial_content=self._prompt))
            tell(ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=self._prompt, origin="user")))

    def _end(self, how: Callable[[], None]) -> list[StreamEvent]:
        if self._ended:
            return []
        self._begin()
        how()
        return self._transcript.take()

    def _complete(self, finish_reason: FinishReason, raw: str) -> None:
        """End well. What an adapter has lost sight of in a garbled stream is closed here (C4)."""
        for item in self._transcript.open_items:
            if item.kind == "function_call":
                self._transcript.close_call(item, cut=True)
            else:
                self._transcript.done(item)
        self._tell_done("complete", finish_reason, raw)

    def _truncate(self) -> None:
        self._settle()
        self._break(truncated())

    def _break(self, error: ErrorInfo) -> None:
        self._settle()
        for item in self._transcript.open_items:
            self._transcript.fail(item, error)
        self._tell_usage()
        self._ended = True
        self._transcript.tell(ResponseError(response_id=self.run_id, error=error))

    def _abort(self, raw: str | None) -> None:
        self._settle()
        for item in self._transcript.open_items:
            if item.kind == "function_call":
                self._transcript.fail(item, incomplete_arguments())
            else:
                self._finish_early(item)
        self._tell_done("aborted", None, raw)

    def _finish_early(self, item: Item) -> None:
        """Close a message or reasoning with what there is."""
        self._transcript.done(item)

    def _tell_usage(self) -> None:
        if self.usage is not None:
            self._transcript.tell(UsageUpdate(response_id=self.run_id, usage=self.usage))

    def _tell_done(self, status: str, finish_reason: FinishReason | None, raw: str | None) -> None:
        self._tell_usage()
        self._ended = True
        self._transcript.tell(
            ResponseDone(
                response_id=self.run_id,
                status=status,
                usage=self.usage,
                finish_reason=finish_reason,
                raw_finish_reason=raw or None,
                provider_response_id=self.provider_response_id or None,
                served_model=self.served_model or None,
            )
        )
