"""The adapter of scripted replies: a provider whose events say just what we would say, so that all C-rules hold."""

from typing import Any, ClassVar, cast

import attrs

from turnwire.messages.events import Usage
from turnwire.messages.json_shapes import JsonObject, object_at, text_at
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.endings import FinishReason, read_error
from turnwire.messages.providers.item import Item
from turnwire.messages.providers.usage import newer_usage


class ScriptedAdapter(Adapter):
    """One scripted reply. Its events are objects with a `type`: text, thinking, sealed, call, arguments, ..."""

    FORMAT: ClassVar[str] = "scripted"

    def _prepare(self) -> None:
        self._item: Item | None = None
        self._calls = 0

    def _read(self, event: JsonObject) -> None:
        match text_at(event, "type"):
            case "text":
                self._transcript.delta(self._at("message"), text_at(event, "text"))
            case "thinking":
                self._transcript.delta(self._at("reasoning"), text_at(event, "text"))
            case "sealed":
                self._at("reasoning").native = {"seal": text_at(event, "seal")}
            case "call":
                self._begin_call(text_at(event, "name"), text_at(event, "call_id"))
            case "arguments":
                self._transcript.delta(self._at("function_call"), text_at(event, "text"))
            case "end":
                self._close()
            case "usage":
                self._usage = newer_usage(self._usage, Usage(**object_at(event, "usage")))
            case "error":
                self._break(read_error(object_at(event, "error")))
            case "finish":
                self._finish(text_at(event, "reason"))
            case _:
                self.counts["unknown_event"] += 1

    def _read_end(self) -> None:
        self._truncate()

    def _at(self, kind: Any) -> Item:
        """Give the item that is being told; another kind ends the one before."""
        if self._item is None or self._item.kind != kind:
            self._close()
            self._item = self._transcript.notice(kind)
        return self._item

    def _begin_call(self, name: str, call_id: str) -> None:
        self._close()
        call_id = call_id or f"call-{self.run_id}-{self._iteration}-{self._calls}"
        self._calls += 1
        self._item = self._transcript.notice("function_call", call_id, name=name, call_id=call_id)
        self._transcript.start(self._item)

    def _close(self) -> None:
        item, self._item = self._item, None
        if item is not None and (item.started or item.native):
            self._transcript.done(item)

    def _finish(self, reason: str) -> None:
        self._close()
        usual = "tool_calls" if self._calls else "stop"
        self._complete(cast("FinishReason", reason or usual), reason or usual)


def usage_event(usage: Usage) -> dict[str, Any]:
    """Give a usage as an event."""
    return {"type": "usage", "usage": attrs.asdict(usage, filter=lambda _field, count: count is not None)}
