"""Anthropic Messages: content blocks by index, with two twists.

Adjacent text blocks are one message: a cited answer comes as many blocks that cut its sentences. So a message stays
open past its block's stop, until a block that is no text begins or the response ends.

A call whose block has stopped may still be half a call: if its arguments are no JSON, it waits for the stop reason,
which tells whether the model ran out of tokens (C11) or just writes bad JSON.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from turnwire.messages.events import Heartbeat
from turnwire.messages.json_shapes import JsonObject, index_at, is_object, list_at, object_at, text_at
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.anthropic_blocks import Block, call_extra, kind_of, stop_block
from turnwire.messages.providers.endings import (
    ANTHROPIC_STOP_REASONS,
    MAY_HALVE_CALLS,
    STARTED_OVER,
    FinishReason,
    read_error,
)
from turnwire.messages.providers.item import Item, is_json_object
from turnwire.messages.providers.usage import newer_usage, read_anthropic_usage


class AnthropicMessages(Adapter):
    """One streamed response of the Messages API."""

    FORMAT: ClassVar[str] = "anthropic-messages"

    def _prepare(self) -> None:
        self._message_started = False
        self._blocks: dict[int, Block] = {}
        self._all_blocks: list[Block] = []
        """Also those whose index was given to another one before they were closed."""
        self._last_index = -1
        self._message: Item | None = None
        self._message_blocks: list[Block] = []
        self._raw_usage: dict[str, Any] = {}
        self._stop_reason = ""

    def _read(self, event: JsonObject) -> None:
        if event.get("type") == "content_block_delta":  # nineteen of twenty
            self._read_delta(event)
            return
        read = self._EVENTS.get(text_at(event, "type"))
        if read is None:
            self.counts["unknown_event"] += 1
        else:
            read(self, event)

    # The message around the blocks

    def _read_message_start(self, event: JsonObject) -> None:
        message = object_at(event, "message")
        if self._message_started:
            if all(block.stopped for block in self._all_blocks):
                self.counts["duplicate"] += 1
                return
            self._start_over()
        self._message_started = True
        self.provider_response_id = text_at(message, "id")
        self.served_model = text_at(message, "model")
        self._add_usage(object_at(message, "usage"))

    def _start_over(self) -> None:
        for block in self._all_blocks:
            if block.item is not None:
                self._transcript.cancel(block.item, STARTED_OVER)
        self._transcript.forget_carried()
        self._blocks.clear()
        self._all_blocks.clear()
        self._message, self._message_blocks = None, []
        self._raw_usage, self._usage, self._stop_reason = {}, None, ""

    def _read_message_delta(self, event: JsonObject) -> None:
        self._add_usage(object_at(event, "usage"))
        reason = text_at(object_at(event, "delta"), "stop_reason")
        if reason:
            self._stop_reason = reason
            self._close_all()

    def _read_message_stop(self, _event: JsonObject) -> None:
        self._close_all()
        self._keep_last_thoughts()
        self._complete(self._finish_reason, self._stop_reason)

    def _read_end(self) -> None:
        if self._stop_reason:
            self._read_message_stop({})
        else:
            self._truncate()

    def _read_ping(self, _event: JsonObject) -> None:
        self._transcript.tell(Heartbeat())

    def _read_error(self, event: JsonObject) -> None:
        self._break(read_error(event.get("error")))

    def _add_usage(self, usage: JsonObject) -> None:
        self._raw_usage.update({key: value for key, value in usage.items() if value is not None})
        self._usage = newer_usage(self._usage, read_anthropic_usage(self._raw_usage))

    @property
    def _finish_reason(self) -> FinishReason:
        return ANTHROPIC_STOP_REASONS.get(self._stop_reason, "other")

    # Blocks

    def _read_block_start(self, event: JsonObject) -> None:
        index = index_at(event, "index")
        index = self._last_index + 1 if index is None else index
        content = object_at(event, "content_block")
        if (earlier := self._blocks.get(index)) is not None and not earlier.stopped:
            self.counts["duplicate"] += 1
            stop_block(self._transcript, earlier)
        self._last_index = index
        block = self._blocks[index] = self._open_block(content)
        self._all_blocks.append(block)

    def _open_block(self, content: JsonObject) -> Block:
        kind = kind_of(content)
        if kind != "text":
            self._close_message()
        block = Block(kind, content, self._item_for(kind, content))
        match kind:
            case "text":
                self._message_blocks.append(block)
                self._add_text(block, content)
                for citation in list_at(content, "citations"):
                    self._add_citation(block, {"citation": citation})
            case "thinking":
                self._add_thinking(block, content)
            case "marker":
                self.served_model = text_at(object_at(content, "to"), "model") or self.served_model
            case "unknown":
                self.counts["unknown_block"] += 1
            case _:
                pass
        return block

    def _item_for(self, kind: str, content: JsonObject) -> Item | None:
        notice, start = self._transcript.notice, self._transcript.start
        call_id, name = text_at(content, "id"), text_at(content, "name")
        if kind == "text":
            self._message = self._message or start(notice("message"))
            return self._message
        if kind == "thinking":
            return notice("reasoning")
        if kind == "call":
            item = notice("function_call", call_id, name=name, call_id=call_id)
            if extra := call_extra(content):
                item.native = {"block": extra}
            return start(item)
        if kind == "server_call" and self._show_server_tools:
            item = notice("function_call", call_id, name=name, call_id=call_id)
            item.origin = "provider"
            return start(item)
        if kind == "server_result" and self._show_server_tools:
            item = notice("function_call_output", call_id=text_at(content, "tool_use_id"))
            item.origin = "provider"
            return start(item)
        return None

    def _read_block_stop(self, event: JsonObject) -> None:
        block = self._block_at(event)
        if block is None or block.stopped:
            self.counts["unknown_block"] += 1
        else:
            stop_block(self._transcript, block)

    # Deltas

    def _read_delta(self, event: JsonObject) -> None:
        delta: Any = event.get("delta")
        index = event.get("index")
        block = self._blocks.get(index if type(index) is int else self._last_index)
        if type(delta) is not dict:  # here and below without the small helpers: a call costs a tenth of an event
            self.counts["malformed"] += 1
            return
        fields = cast("JsonObject", delta)
        kind = fields.get("type")
        if not isinstance(kind, str):
            kind = ""
        if block is None and kind in ("text_delta", "thinking_delta"):  # its start was lost; its text need not be
            self._read_block_start({**event, "content_block": {"type": kind.removesuffix("_delta")}})
            block = self._block_at(event)
        add = self._DELTAS.get(kind)
        if block is None or add is None or block.stopped or not add(self, block, fields):
            self.counts["unknown_delta"] += 1

    def _block_at(self, event: JsonObject) -> Block | None:
        index = index_at(event, "index")
        return self._blocks.get(self._last_index if index is None else index)

    def _add_text(self, block: Block, delta: JsonObject) -> bool:
        if block.kind != "text" or block.item is None:
            return False
        text = delta.get("text")
        if isinstance(text, str):
            block.length += len(text)
            self._transcript.delta(block.item, text)
        return True

    def _add_thinking(self, block: Block, delta: JsonObject) -> bool:
        if block.kind != "thinking" or block.item is None:
            return False
        self._transcript.delta(block.item, text_at(delta, "thinking"))
        return True

    def _add_input(self, block: Block, delta: JsonObject) -> bool:
        text = delta.get("partial_json")
        if not isinstance(text, str):
            text = ""
        if block.kind == "server_call" and block.item is None:
            block.parts.append(text)
        elif block.kind in ("call", "server_call") and block.item is not None:
            self._transcript.delta(block.item, text)
        else:
            return False
        return True

    def _set_signature(self, block: Block, delta: JsonObject) -> bool:
        block.signature = text_at(delta, "signature")
        return block.kind == "thinking"

    def _add_citation(self, block: Block, delta: JsonObject) -> bool:
        if block.kind != "text" or block.item is None:
            return False
        block.citations += 1
        block.item.annotations.append(delta.get("citation"))
        return True

    def _set_opaque(self, block: Block, delta: JsonObject) -> bool:
        block.content.update({key: value for key, value in delta.items() if key != "type"})
        return block.kind == "opaque"

    # Ends

    def _close_message(self) -> None:
        item, blocks = self._message, self._message_blocks
        self._message, self._message_blocks = None, []
        if item is None:
            return
        if any(block.citations for block in blocks):
            item.native = {"parts": [[block.length, block.citations] for block in blocks]}
        self._transcript.done(item)

    def _close_all(self) -> None:
        cut = self._finish_reason in MAY_HALVE_CALLS
        for block in self._all_blocks:
            item = block.item
            if block.kind == "call" and item is not None and not item.closed:
                self._close_call(block, item, cut=cut)
            elif not block.stopped:
                stop_block(self._transcript, block)
            block.stopped = True
        self._close_message()

    def _close_call(self, block: Block, item: Item, *, cut: bool) -> None:
        if not item.parts and is_json_object(block.initial_input):
            self._transcript.done(item, block.initial_input)
        else:
            self._transcript.close_call(item, cut=cut)

    def _settle(self) -> None:
        if self._message is not None and all(block.stopped for block in self._message_blocks):
            self._close_message()

    def _keep_last_thoughts(self) -> None:
        """Thinking without text at the very end has no item to travel with; it gets an empty one of its own."""
        if any(is_object(block) and "thinking" in text_at(block, "type") for block in self.unclaimed_blocks):
            self._transcript.done(self._transcript.notice("reasoning"))

    # `...` stands for (self, event): inside its own body the class has no name that a checker takes for self.
    _EVENTS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "content_block_start": _read_block_start,
        "content_block_stop": _read_block_stop,
        "message_start": _read_message_start,
        "message_delta": _read_message_delta,
        "message_stop": _read_message_stop,
        "ping": _read_ping,
        "error": _read_error,
    }
    _DELTAS: ClassVar[Mapping[str, Callable[..., bool]]] = {  # (self, block, delta)
        "text_delta": _add_text,
        "thinking_delta": _add_thinking,
        "input_json_delta": _add_input,
        "signature_delta": _set_signature,
        "citations_delta": _add_citation,
        "compaction_delta": _set_opaque,
    }
