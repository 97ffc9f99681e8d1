"""The content blocks of an Anthropic message: what kind each is, and what of it must be sent back."""

from typing import Any, Literal, TypeAlias

from turnwire.messages.json_shapes import JsonObject, object_at, text_at
from turnwire.messages.json_text import dump_json, parse_json
from turnwire.messages.providers.item import Item, is_json_object
from turnwire.messages.providers.transcript import Transcript

BlockKind: TypeAlias = Literal[
    "text", "thinking", "call", "server_call", "server_result", "opaque", "marker", "unknown"
]

_KINDS: dict[str, BlockKind] = {
    "text": "text",
    "thinking": "thinking",
    "tool_use": "call",
    "server_tool_use": "server_call",
    "mcp_tool_use": "server_call",
    "redacted_thinking": "opaque",
    "compaction": "opaque",
    "fallback": "marker",
}


_CALL_FRAME = frozenset({"type", "id", "name", "input"})


def call_extra(content: JsonObject) -> dict[str, Any]:
    """Give what a call's block says beside its id, name and input, such as who called: it goes back as it is."""
    return {key: value for key, value in content.items() if key not in _CALL_FRAME and value is not None}


def kind_of(content: JsonObject) -> BlockKind:
    """Tell what kind of block this is. Results of server tools are many, and known by how they are named (C17)."""
    name = text_at(content, "type")
    if name in _KINDS:
        return _KINDS[name] if name != "tool_use" or text_at(content, "name") else "unknown"
    return "server_result" if name.endswith("_tool_result") else "unknown"


class Block:
    """One block between its start and its stop."""

    __slots__ = ("citations", "content", "item", "kind", "length", "parts", "signature", "stopped")

    def __init__(self, kind: BlockKind, content: JsonObject, item: Item | None) -> None:
        self.kind: BlockKind = kind
        self.content = dict(content)
        self.item = item
        self.parts: list[str] = []
        """The input of a server tool that gives no item; the others keep their text in the item."""
        self.signature = text_at(content, "signature")
        self.length = 0
        self.citations = 0
        self.stopped = False

    @property
    def initial_input(self) -> str:
        """The input that stood in the block's start, as JSON text; "" if there was none."""
        given = self.content.get("input")
        return given if isinstance(given, str) else dump_json(given).decode() if given else ""

    def thinking_block(self, text: str) -> dict[str, Any]:
        """Give this block of thinking as the next request must have it, signature byte for byte."""
        return {**self.content, "type": "thinking", "thinking": text, "signature": self.signature}

    def server_call_block(self) -> dict[str, Any]:
        """Give this server tool's call as the next request must have it, with the input that was streamed."""
        streamed = "".join(self.parts) if self.item is None else self.item.text
        try:
            given = parse_json(streamed) if streamed else self.content.get("input", {})
        except ValueError:
            given = {}
        return {**self.content, "input": given}


def stop_block(transcript: Transcript, block: Block) -> None:
    """End a block: its item is done, or what it holds is kept for the next one.

    A text block ends nothing, its neighbours may go on; nor does a call that may still turn out to be half a call.
    """
    block.stopped = True
    item = block.item
    match block.kind:
        case "thinking" if item is not None:
            _stop_thinking(transcript, block, item)
        case "call" if item is not None:
            arguments = item.text or block.initial_input
            if not arguments or is_json_object(arguments):
                transcript.done(item, arguments)
        case "server_call" if item is not None:
            item.native = {"block": block.server_call_block()}
            transcript.done(item, item.text or block.initial_input)
        case "server_call":
            transcript.carry(block.server_call_block())
        case "server_result" if item is not None:
            item.native = {"block": block.content}
            transcript.done(item, _result_text(block.content), success=not _result_failed(block.content))
        case "server_result" | "opaque":
            transcript.carry(block.content)
        case _:
            pass


def _stop_thinking(transcript: Transcript, block: Block, item: Item) -> None:
    if item.started:
        item.native = {"block": block.thinking_block(item.text)}
        transcript.done(item)
    elif block.signature:
        transcript.drop(item, block.thinking_block(""))
    else:
        transcript.drop(item)


def _result_text(content: JsonObject) -> str:
    given = content.get("content")
    return given if isinstance(given, str) else dump_json(given).decode()


def _result_failed(content: JsonObject) -> bool:
    """Tell whether a server tool's result is an error, in either of the ways there are to say it."""
    return content.get("is_error") is True or text_at(object_at(content, "content"), "type").endswith("_error")
