"""One name for one thing in a run: what a model names like something before it is named anew. No clock, no await.

An item's id names one item of the run. A call's id names one call of the whole thread, since results, answers and
approvals find their call by it, also in later runs. What the provider called a call is kept in its provider data
(messages/own_ids.py). An event's id names one event of the run: one that comes twice in a reply is the same event.
"""

from collections.abc import Iterable

import attrs

from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    StreamEvent,
)
from turnwire.messages.free_ids import FreeIds
from turnwire.messages.own_ids import keep_own_id


class RunIds:
    """Knows the ids that are taken."""

    def __init__(self) -> None:
        self.items = FreeIds()
        """The ids of items in this run."""
        self._calls = FreeIds()
        self._renamed: dict[str, str] = {}  # items of the reply that runs, under the id that its model uses
        self._call_of: dict[str, str] = {}  # our id of the call that an item is, by the item's
        self._ours: dict[str, str] = {}  # our id of the newest call, by the provider's
        self._heard: set[str] = set()  # ids of events in the reply that runs
        self._events = FreeIds()  # ids of events in this run, under which they are told

    def begin_reply(self) -> None:
        """Begin another reply: what it names, it has named itself."""
        self._heard.clear()
        self._renamed.clear()
        self._call_of.clear()

    def take_calls(self, call_ids: Iterable[str]) -> None:
        """Take the ids of calls that there are already."""
        self._calls.mark(call_ids)

    def fresh_item(self, wanted: str) -> str:
        """Give an id for an item that no other has, and take it."""
        return self.items.take(wanted)

    def fresh_event(self, event: StreamEvent) -> StreamEvent | None:
        """Give an event under an id that the run has not used; None if it came before in this reply.

        A model that numbers each reply anew would have all but the first dropped by its turn as repeated (R17).
        """
        own = event.event_id
        if own in self._heard:
            return None
        self._heard.add(own)
        ours = self._events.take(own)
        return event if ours == own else attrs.evolve(event, event_id=ours)

    def rename(self, event: StreamEvent) -> StreamEvent:
        """Give an event of a model with ids that are unique. Usually it is the same event."""
        payload = event.payload
        if isinstance(payload, ItemDelta):
            if not self._renamed or payload.item_id not in self._renamed:
                return event
            better: Payload = attrs.evolve(payload, item_id=self._renamed[payload.item_id])
        else:
            better = self._renamed_payload(payload)
        return event if better is payload else attrs.evolve(event, payload=better)

    def _renamed_payload(self, payload: Payload) -> Payload:
        match payload:
            case ItemStart():
                item_id = self.fresh_item(payload.item_id)
                if item_id == payload.item_id:
                    self._renamed.pop(payload.item_id, None)
                else:
                    self._renamed[payload.item_id] = item_id
                    payload = attrs.evolve(payload, item_id=item_id)
                if payload.item_type in ("message", "reasoning"):
                    self._calls.mark((item_id,))  # AG-UI has one space of names for messages and calls
                elif payload.item_type == "function_call" and payload.call_id is not None:
                    ours = self._name_call(item_id, payload.call_id)
                    payload = payload if ours == payload.call_id else attrs.evolve(payload, call_id=ours)
                elif payload.item_type == "function_call_output" and payload.call_id in self._ours:
                    payload = attrs.evolve(payload, call_id=self._ours[payload.call_id])
                return payload
            case ItemDone():
                return self._rename_done(payload)
            case ItemError() | ItemCancelled() if payload.item_id in self._renamed:
                return attrs.evolve(payload, item_id=self._renamed[payload.item_id])
            case _:
                return payload

    def _rename_done(self, done: ItemDone) -> ItemDone:
        final, item_id = done.final_item, self._renamed.get(done.item_id, done.item_id)
        if item_id != done.item_id:
            final = attrs.evolve(final, id=item_id)
        match final:
            case FinalFunctionCall(call_id=own):
                ours = self._call_of.get(item_id) or self._name_call(item_id, own)
                self._ours[own] = ours
                if ours != own:
                    data = keep_own_id(final.provider_data, own)
                    final = attrs.evolve(final, call_id=ours, provider_data=data)
            case FinalFunctionCallOutput(call_id=own) if own in self._ours:
                final = final if self._ours[own] == own else attrs.evolve(final, call_id=self._ours[own])
            case _:
                pass
        if final is done.final_item and item_id == done.item_id:
            return done
        return ItemDone(item_id=item_id, final_item=final)

    def _name_call(self, item_id: str, own: str) -> str:
        ours = self._call_of[item_id] = self._calls.take(own)
        self._ours[own] = ours
        return ours
