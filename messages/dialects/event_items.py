"""The items of a run of StreamEvents, told as AG-UI: which are open, which calls wait for their output.

Follows the rules of a turn where an order is odd: an id is used once, what comes for an item that has ended is
counted, an item_done that was never announced is told from its final item alone, two open calls under one call_id are
answered in their order.
"""

from collections import Counter, deque

from turnwire.messages.agui.events import TextRole
from turnwire.messages.dialects import agui_words as words
from turnwire.messages.dialects.agui_items import CallItem, SpokenItem
from turnwire.messages.dialects.agui_voice import AguiVoice
from turnwire.messages.dialects.agui_words import Notes
from turnwire.messages.events import (
    ErrorInfo,
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    ItemStart,
)
from turnwire.messages.providers.endings import incomplete_arguments

_ROLES: dict[str | None, TextRole] = {"user": "user", "system": "system"}
USER_PROMPT = "user-prompt"
"""In the item_id of a user's message, for producers that do not say its origin."""


class EventItems:
    """Tells items through a voice. Whoever holds it tells the run."""

    def __init__(self, voice: AguiVoice, counts: Counter[str], *, user_messages: bool, provider_data: bool) -> None:
        self._voice = voice
        self._counts = counts
        self._user_messages = user_messages
        self._provider_data = provider_data
        self._open: dict[str, SpokenItem | CallItem | None] = {}
        """By item_id; None for an item that is not told."""
        self._ended: set[str] = set()
        self._output_calls: dict[str, str | None] = {}
        """The call_id that an open function_call_output was announced with."""
        self._unanswered: dict[str, deque[tuple[str, CallItem]]] = {}
        """Calls without output, under their call_id and with their item_id."""

    def start(self, start: ItemStart) -> None:
        """An item begins."""
        item_id = start.item_id
        if self._is_known(item_id):
            self._counts["repeated_item"] += 1
            return
        match start.item_type:
            case "message":
                self._open[item_id] = self._open_message(item_id, start.origin)
            case "reasoning":
                self._open[item_id] = SpokenItem(self._voice, item_id, thinking=True)
            case "function_call":
                self._open[item_id] = CallItem(
                    self._voice, item_id, name=start.name or "", call_id=start.call_id or "", origin=start.origin
                )
            case "function_call_output":
                self._output_calls[item_id] = start.call_id
            case _:
                self._open[item_id] = None
        if first := start.initial_content or start.arguments:
            self.grow(item_id, first)

    def tells(self, item_id: str) -> bool:
        """Whether AG-UI's reader has heard of this item and not yet of its end."""
        return self._open.get(item_id) is not None

    def grow(self, item_id: str, delta: str) -> None:
        """An item grows."""
        try:
            item = self._open[item_id]
        except KeyError:
            if item_id not in self._output_calls:  # outputs come whole, with their item_done
                self._counts["unknown_item"] += 1
            return
        if item is not None:
            item.grow(delta)

    def done(self, item_id: str, final: FinalItem) -> None:
        """An item is finished."""
        if item_id in self._ended:
            self._counts["ended_item"] += 1
            return
        match final:
            case FinalError() if self._is_known(item_id):
                self.fail(item_id, ErrorInfo(code=final.code, message=final.message, details=final.details))
            case FinalCancelled() if self._is_known(item_id):
                self.cancel(item_id, final.reason)
            case FinalFunctionCallOutput():
                self._answer(item_id, final)
            case _:
                self._finish(item_id, final)
        self._end(item_id)

    def fail(self, item_id: str, error: ErrorInfo) -> None:
        """An item failed."""
        self._give_up(item_id, error.message or error.code, words.note_error(error, details=self._provider_data))

    def cancel(self, item_id: str, reason: str | None) -> None:
        """An item is taken back. AG-UI cannot: what was shown stays, with a note."""
        self._give_up(item_id, reason or "cancelled", {words.CANCELLED: reason or True})

    def close_all(self) -> list[str]:
        """End what is still open, because the run ends; gives the ids of the calls that wait for a result."""
        for item_id, item in list(self._open.items()):
            if isinstance(item, CallItem):
                self.fail(item_id, incomplete_arguments())
            elif item is not None:
                item.end(None, {})
        self._open.clear()
        return [call.id for waiting in self._unanswered.values() for _, call in waiting if call.is_ours]

    def _is_known(self, item_id: str) -> bool:
        return item_id in self._open or item_id in self._ended or item_id in self._output_calls

    def _end(self, item_id: str) -> None:
        self._open.pop(item_id, None)
        self._output_calls.pop(item_id, None)
        self._ended.add(item_id)

    def _open_message(self, item_id: str, origin: str | None) -> SpokenItem | None:
        role = _ROLES.get(origin, "assistant")
        if origin is None and USER_PROMPT in item_id:
            role = "user"
        return None if role == "user" and not self._user_messages else SpokenItem(self._voice, item_id, role)

    def _finish(self, item_id: str, final: FinalItem) -> None:
        item = self._open[item_id] if item_id in self._open else self._open_from(item_id, final)
        data = final.provider_data if self._provider_data else None
        match item, final:
            case SpokenItem(), FinalMessage():
                item.end(final.content, words.without_none(**{words.ANNOTATIONS: final.annotations}), data)
            case SpokenItem(), FinalReasoning():
                item.end(final.content, {}, data)
            case SpokenItem(), _:
                item.end(None, {}, data)
            case CallItem(), FinalFunctionCall():
                item.end(final.arguments or "", name=final.name, call_id=final.call_id, notes={}, data=data)
                self._unanswered.setdefault(final.call_id, deque()).append((item_id, item))
            case CallItem(), _ if item.started:
                item.fail("not a call after all", {})
            case _:
                pass

    def _open_from(self, item_id: str, final: FinalItem) -> SpokenItem | CallItem | None:
        match final:
            case FinalMessage():
                return self._open_message(item_id, final.origin)
            case FinalReasoning():
                return SpokenItem(self._voice, item_id, thinking=True)
            case FinalFunctionCall():
                return CallItem(self._voice, item_id, name=final.name, call_id=final.call_id, origin=final.origin)
            case _:
                return None

    def _answer(self, item_id: str, final: FinalFunctionCallOutput) -> None:
        call = self._take_call(final.call_id)
        tool_call_id, name = (call.id, call.name) if call else (final.call_id, "")
        notes = words.without_none(**{words.SUCCESS: final.success, words.ORIGIN: final.origin})
        if final.call_id != tool_call_id:
            notes[words.CALL_ID] = final.call_id
        if self._provider_data and final.provider_data is not None:
            notes[words.PROVIDER_DATA] = final.provider_data
        error = None if final.success is not False else final.output or "the tool failed"
        self._voice.result(tool_call_id, name, self._voice.free_id(item_id), final.output, error, notes)

    def _give_up(self, item_id: str, why: str, notes: Notes) -> None:
        item = self._open.get(item_id)
        if isinstance(item, SpokenItem):
            item.end(None, notes)
        elif isinstance(item, CallItem):
            if item.started:  # else nobody has heard of it
                item.fail(why, notes)
        elif (call := self._take_output_call(item_id)) is not None:
            self._voice.refuse_call(call.id, why)
        elif item_id not in self._open and item_id not in self._output_calls:
            self._counts["unknown_item"] += 1
            return
        self._end(item_id)

    def _take_output_call(self, item_id: str) -> CallItem | None:
        """Give the call that fails with this item: the one it was to answer, or itself, done and not yet answered."""
        call_id = self._output_calls.get(item_id)
        if call_id is not None:
            return self._take_call(call_id)
        for waiting in self._unanswered.values():
            for entry in waiting:
                if entry[0] == item_id:
                    waiting.remove(entry)
                    return entry[1]
        return None

    def _take_call(self, call_id: str) -> CallItem | None:
        waiting = self._unanswered.get(call_id)
        return waiting.popleft()[1] if waiting else None
