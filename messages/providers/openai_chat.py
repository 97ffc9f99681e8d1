"""OpenAI Chat Completions and the many hosts that speak almost the same.

A chunk says nothing about items: there is a stream of text, one of reasoning, and calls that are put together from
fragments. They begin with their first text (a call with its name) and end together when finish_reason comes, except
that reasoning ends as soon as the answer begins. The response itself ends later: usage comes in a chunk of its own.
"""

from typing import Any, ClassVar

from turnwire.messages.json_shapes import (
    JsonObject,
    is_list,
    is_object,
    list_at,
    object_at,
    objects_at,
    text_at,
)
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.chat_deltas import (
    CallKey,
    argument_text,
    call_key,
    content_fragments,
    legacy_call,
    reasoning_text,
    replayable_details,
)
from turnwire.messages.providers.endings import CHAT_FINISH_REASONS, MAY_HALVE_CALLS, FinishReason, read_error
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.usage import newer_usage, read_chat_usage


class OpenAIChat(Adapter):
    """One streamed response of a Chat Completions endpoint."""

    FORMAT: ClassVar[str] = "openai-chat"

    def _prepare(self) -> None:
        self._message: Item | None = None
        self._reasoning: Item | None = None
        self._details: list[Any] = []
        self._calls: dict[CallKey, Item] = {}
        """The call that a fragment means, by each of the ways in which it may name it."""
        self._calls_in_order: list[Item] = []
        self._waiting: dict[int, list[str]] = {}
        """Arguments of calls, by position, whose name has not come yet."""
        self._refused = False
        self._raw_finish = ""

    def _read(self, event: JsonObject) -> None:
        self._remember(event)
        choices = event.get("choices")
        if is_list(choices):
            for choice in choices:
                if self._ended:  # an error in a choice before this one
                    self.counts["after_end"] += 1
                elif not is_object(choice):
                    self.counts["malformed"] += 1
                elif choice.get("index") in (0, None):
                    self._read_choice(choice)
                else:
                    self.counts["other_choice"] += 1
        elif not event.get("error") and not object_at(event, "usage"):
            self.counts["unknown_event"] += 1
        error = event.get("error")
        if error and not self._ended:
            self._break(read_error(error))

    def _remember(self, event: JsonObject) -> None:
        self.provider_response_id = self.provider_response_id or text_at(event, "id")
        self.served_model = self.served_model or text_at(event, "model")
        usage = event.get("usage")
        if usage is None and "x_groq" in event:
            usage = object_at(event, "x_groq").get("usage")
        if usage and is_object(usage):
            self._usage = newer_usage(self._usage, read_chat_usage(usage))

    def _read_choice(self, choice: JsonObject) -> None:
        delta = choice.get("delta")
        if not is_object(delta):
            delta = object_at(choice, "message")  # some hosts send a whole message where a delta should stand
        self._read_delta(delta)
        if usage := choice.get("usage"):
            self._usage = newer_usage(self._usage, read_chat_usage(usage) if is_object(usage) else None)
        if error := choice.get("error"):
            self._break(read_error(error))
        elif reason := text_at(choice, "finish_reason"):
            self._raw_finish = reason
            self._close_all()

    def _read_delta(self, delta: JsonObject) -> None:
        if len(delta) == 1 and self._reasoning is None and isinstance(text := delta.get("content"), str):
            self._add_text(text)  # nineteen of twenty chunks; what follows would come to the same
            return
        details = list_at(delta, "reasoning_details")
        if details:
            self._details.extend(details)
        if thought := reasoning_text(delta):
            self._add_reasoning(thought)
        if delta.get("content"):
            self._add_content(delta)
        if refusal := text_at(delta, "refusal"):
            self._refused = True
            self._add_text(refusal)
        if notes := list_at(delta, "annotations"):
            self._annotate(notes)
        if delta.get("tool_calls"):
            for position, call in enumerate(objects_at(delta, "tool_calls")):
                self._add_call(call, position)
        if legacy := legacy_call(delta):
            self._add_call(legacy, 0)

    # Text and reasoning

    def _add_content(self, delta: JsonObject) -> None:
        for kind, text in content_fragments(delta):
            if kind == "message":
                self._add_text(text)
            elif kind == "reasoning":
                self._add_reasoning(text)
            else:
                self.counts["unknown_block"] += 1

    def _add_text(self, text: str) -> None:
        if not text:
            return
        if self._reasoning is not None or self._details:
            self._close_reasoning()
        if self._message is None:
            self._message = self._transcript.notice("message")
        self._transcript.delta(self._message, text)

    def _annotate(self, notes: list[Any]) -> None:
        if self._message is None:
            self._message = self._transcript.notice("message")  # citations may come ahead of the text they are for
        self._message.annotations.extend(notes)

    def _add_reasoning(self, text: str) -> None:
        if not text:
            return
        if self._reasoning is None:
            self._reasoning = self._transcript.notice("reasoning")
        self._transcript.delta(self._reasoning, text)

    def _close_reasoning(self) -> None:
        details, self._details = replayable_details(self._details), []
        item, self._reasoning = self._reasoning, None
        if item is not None:
            if details:
                item.native = {"reasoning_details": details}
            self._transcript.done(item)
        elif details:
            self._transcript.carry({"reasoning_details": details})

    # Calls

    def _add_call(self, call: JsonObject, position: int) -> None:
        function = object_at(call, "function")
        name, own_id = text_at(function, "name"), text_at(call, "id")
        item = self._call_for(call_key(call, position), own_id, name)
        self._calls["position", position] = item
        if own_id:
            self._calls.setdefault(("id", own_id), item)
        if item.closed:
            self.counts["unknown_delta"] += 1
            return
        if extra := call.get("extra_content"):  # Gemini's thought signature travels here
            item.native = {"extra_content": extra}
        item.call_id = item.call_id or own_id
        item.name = item.name or name
        self._add_arguments(item, argument_text(function))

    def _call_for(self, key: CallKey, own_id: str, name: str) -> Item:
        item = self._calls.get(key)
        if item is None or _is_another_call(item, own_id, name):
            self._close_reasoning()
            item = self._calls[key] = self._transcript.notice("function_call")
            self._calls_in_order.append(item)
        return item

    def _add_arguments(self, item: Item, text: str) -> None:
        if item.started:
            self._transcript.delta(item, text)
            return
        waiting = self._waiting.setdefault(item.position, [])
        waiting.append(text)
        if item.name:
            item.wanted_id = item.call_id
            self._transcript.start(item)
            self._transcript.delta(item, "".join(self._waiting.pop(item.position)))

    # Ends

    def _read_done_marker(self) -> None:
        self._close_all()
        self._complete(self._finish_reason, self._raw_finish)

    def _read_end(self) -> None:
        if self._raw_finish:
            self._read_done_marker()
        else:
            self._truncate()

    @property
    def _finish_reason(self) -> FinishReason:
        if any(item.started for item in self._calls_in_order):
            return "tool_calls"  # whatever the host says
        return "refusal" if self._refused else CHAT_FINISH_REASONS.get(self._raw_finish, "other")

    def _close_all(self) -> None:
        self._close_reasoning()
        message, self._message = self._message, None
        if message is not None:
            if message.started:
                self._transcript.done(message)
            else:
                self._transcript.drop(message)
        cut = CHAT_FINISH_REASONS.get(self._raw_finish, "other") in MAY_HALVE_CALLS
        for item in self._calls_in_order:
            if item.started:
                self._transcript.close_call(item, cut=cut and not item.closed)
            elif not item.closed:
                self.counts["nameless_call"] += 1
                self._transcript.drop(item)

    def _settle(self) -> None:
        """Finish the calls that others have followed and to whose arguments nothing can be added."""
        for item in self._calls_in_order[:-1]:
            if item.started and not item.closed and item.is_whole_call:
                self._transcript.done(item)


def _is_another_call(item: Item, own_id: str, name: str) -> bool:
    """Tell whether a fragment begins a new call at a place that is taken: some hosts number all calls 0.

    A new id alone does not say so, ids may rotate; a new id, a name, and arguments that are complete already do.
    """
    if not own_id or not name or not item.call_id or item.call_id == own_id:
        return False
    return bool(item.parts) and item.parts[-1].rstrip().endswith("}") and item.is_whole_call
