"""The items of a response as they are told: started once, closed once, with deltas that add up (C1 to C6, C11).

An adapter understands its provider; this room knows the grammar of what we say. Whatever an adapter asks for, the
events that come out begin with one response_start, name each item once, close it once, and stop at the terminal.

Two things an item may wait for:
- It may be *noticed* before it is *started*: a block of reasoning that turns out to have no text is never started.
- Opaque data that no item of its own carries (redacted thinking, encrypted reasoning without a summary) is
  handed to the next item that is noticed, and travels in front of it, in `final_item.provider_data["before"]`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from turnwire.messages.events import (
    ErrorInfo,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    StreamEvent,
    TraceContext,
)
from turnwire.messages.json_shapes import JsonObject
from turnwire.messages.providers.delta_event import make_delta_event
from turnwire.messages.providers.endings import incomplete_arguments
from turnwire.messages.providers.item import Item, ItemKind


class Transcript:
    """Tells the items of one response, and refuses to tell them wrongly."""

    def __init__(
        self,
        *,
        run_id: str,
        iteration: int,
        used_ids: Iterable[str],
        data_format: str,
        now: Callable[[], float],
        new_event_id: Callable[[], str] | None,
        events_before: int,
        trace_context: TraceContext,
    ) -> None:
        self.used_ids = set(used_ids)
        self.events = events_before
        """How many events the run has had so far."""
        self._run_id = run_id
        self._iteration = iteration
        self._data_format = data_format
        self._now = now
        self._new_event_id = new_event_id
        self._trace_context = trace_context
        self.told: list[StreamEvent] = []
        self._noticed = 0
        self._open: dict[int, Item] = {}
        self._unclaimed: list[Any] = []

    def take(self) -> list[StreamEvent]:
        """Give what was told since the last time."""
        told, self.told = self.told, []
        return told

    def tell(self, payload: Payload) -> None:
        """Put a payload into its envelope."""
        self.events += 1
        self.told.append(
            StreamEvent(
                event_id=f"{self._run_id}-e{self.events}" if self._new_event_id is None else self._new_event_id(),
                timestamp=self._now(),
                run_id=self._run_id,
                trace_context=self._trace_context,
                payload=payload,
            )
        )

    @property
    def open_items(self) -> tuple[Item, ...]:
        """The items that were started and not closed, in the order of their start."""
        return tuple(self._open.values())

    @property
    def unclaimed(self) -> tuple[Any, ...]:
        """Opaque blocks that no item has taken along yet."""
        return tuple(self._unclaimed)

    def carry(self, *blocks: Any) -> None:
        """Keep opaque blocks for the next item (C16)."""
        self._unclaimed.extend(blocks)

    def forget_carried(self) -> None:
        """Drop the opaque blocks of an attempt that the provider itself has taken back."""
        self._unclaimed.clear()

    def notice(self, kind: ItemKind, wanted_id: str = "", *, name: str = "", call_id: str = "") -> Item:
        """Give an item its place in the stream (C6), without telling anybody yet."""
        item = Item(kind, self._noticed, wanted_id, self._unclaimed)
        item.name, item.call_id = name, call_id
        self._unclaimed = []
        self._noticed += 1
        return item

    def start(self, item: Item) -> Item:
        """Tell that an item begins; once."""
        if not item.started:
            item.started = True
            item.item_id = self._free_id(item)
            self._open[item.position] = item
            self.tell(
                ItemStart(
                    item_id=item.item_id,
                    item_type=item.kind,
                    origin=item.origin,
                    name=item.name or None,
                    call_id=item.call_id or None,
                )
            )
        return item

    def delta(self, item: Item, text: str) -> None:
        """Tell more text of an item, starting it if need be. Empty text and closed items say nothing."""
        if text and not item.closed:
            if not item.started:
                self.start(item)
            item.parts.append(text)
            self.events += 1
            event_id = f"{self._run_id}-e{self.events}" if self._new_event_id is None else self._new_event_id()
            self.told.append(
                make_delta_event(event_id, self._now(), self._run_id, self._trace_context, item.item_id, text)
            )

    def done(self, item: Item, text: str | None = None, *, success: bool | None = None) -> None:
        """Tell that an item is finished; `text` is what the provider says it came to, if it says so (C5)."""
        if item.closed:
            return
        self.start(item)
        sent = item.text
        final = sent if text is None else text
        if item.kind == "function_call" and not final.strip():
            final = "{}"  # C11
        if final != sent and final.startswith(sent) and item.kind != "function_call_output":
            self.delta(item, final[len(sent) :])  # outputs come whole: nobody watches them grow
        self._close(item)
        self.tell(ItemDone(item_id=item.item_id, final_item=self._final(item, final, success)))

    def drop(self, item: Item, *blocks: Any) -> None:
        """Give up an item that was never started; what it had to carry goes to the next one in the stream."""
        item.closed = True
        blocks = (*item.before, *blocks)
        later = next((other for other in self._open.values() if other.position > item.position), None)
        if later is None:
            self._unclaimed[:0] = blocks
        else:
            later.before[:0] = blocks

    def fail(self, item: Item, error: ErrorInfo) -> None:
        """Tell that an item failed."""
        if not item.closed:
            self.start(item)
            self._close(item)
            self.tell(ItemError(item_id=item.item_id, error=error))

    def cancel(self, item: Item, reason: str) -> None:
        """Tell that an item is taken back; one that was never started is just forgotten."""
        if item.started and not item.closed:
            self._close(item)
            self.tell(ItemCancelled(item_id=item.item_id, reason=reason))
        item.closed = True

    def close_call(self, item: Item, *, cut: bool) -> None:
        """Finish a call; if the response was cut short, only if the call is whole (C11)."""
        if cut and not item.is_whole_call:
            self.fail(item, incomplete_arguments())
        else:
            self.done(item)

    def _close(self, item: Item) -> None:
        item.closed = True
        self._open.pop(item.position, None)

    def _free_id(self, item: Item) -> str:
        for candidate in self._candidate_ids(item):
            if candidate and candidate not in self.used_ids:
                self.used_ids.add(candidate)
                return candidate
        raise AssertionError("unreachable: the candidates never end")

    def _candidate_ids(self, item: Item) -> Iterator[str]:
        yield item.wanted_id
        own = f"{self._run_id}-{self._iteration}-{item.position}"
        yield own
        repeat = 1
        while True:  # a provider has used our own pattern; a replay meets the same ids, so this one is the same too
            repeat += 1
            yield f"{own}-{repeat}"

    def _final(self, item: Item, text: str, success: bool | None) -> FinalItem:
        data = self._provider_data(item)
        match item.kind:
            case "message":
                return FinalMessage(
                    id=item.item_id,
                    content=text,
                    origin="system" if item.origin == "system" else "agent",
                    annotations=item.annotations or None,
                    provider_data=data,
                )
            case "reasoning":
                return FinalReasoning(id=item.item_id, content=text, provider_data=data)
            case "function_call":
                return FinalFunctionCall(
                    id=item.item_id,
                    name=item.name,
                    call_id=item.call_id or item.item_id,
                    arguments=text,
                    origin=item.origin,
                    provider_data=data,
                )
            case "function_call_output":
                return FinalFunctionCallOutput(
                    id=item.item_id,
                    call_id=item.call_id or item.item_id,
                    output=text,
                    success=success,
                    origin=item.origin,
                    provider_data=data,
                )

    def _provider_data(self, item: Item) -> JsonObject | None:
        if not item.before and not item.native:
            return None
        before = {"before": item.before} if item.before else {}
        return {"format": self._data_format, **before, **item.native}
