"""The output items of an OpenAI response: what kind each is, what its payload says, and what must be sent back."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from turnwire.messages.json_shapes import JsonObject, list_at, objects_at, text_at
from turnwire.messages.json_text import dump_json
from turnwire.messages.providers.item import Item

SlotKind: TypeAlias = Literal["message", "reasoning", "call", "custom_call", "server", "opaque", "unknown"]

SERVER_TOOLS = (
    "apply_patch_call",
    "code_interpreter_call",
    "computer_call",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "mcp_approval_request",
    "mcp_call",
    "mcp_list_tools",
    "shell_call",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
"""Items that the provider runs, or that only a host of its own kind can: never offered to our tool runner (C17)."""

_KINDS: dict[str, SlotKind] = {
    "message": "message",
    "reasoning": "reasoning",
    "function_call": "call",
    "custom_tool_call": "custom_call",
    "compaction": "opaque",
    **dict.fromkeys(SERVER_TOOLS, "server"),
    **dict.fromkeys((f"{name}_output" for name in SERVER_TOOLS), "server"),
}
_SERVER_RESULTS = ("results", "outputs", "output", "result", "tools", "error")
_SERVER_FRAME = frozenset({"id", "type", "status", "call_id", "name", *_SERVER_RESULTS})
_SERVER_EVENTS = tuple(f"response.{name}" for name in SERVER_TOOLS)


def kind_of(payload: JsonObject) -> SlotKind:
    """Tell what kind of item this is. A call without a name is none that anybody could run."""
    kind = _KINDS.get(text_at(payload, "type"), "unknown")
    return "unknown" if kind in ("call", "custom_call") and not text_at(payload, "name") else kind


def is_server_event(event_type: str) -> bool:
    """Tell whether an event speaks of a server tool's progress."""
    return event_type.startswith(_SERVER_EVENTS)


class Slot:
    """One place of the response's output, from its first event to its last."""

    __slots__ = ("call_id", "closed", "item", "kind", "part_texts", "provider_id", "summarised", "summary_index")

    def __init__(self, kind: SlotKind, payload: JsonObject, item: Item | None) -> None:
        self.kind: SlotKind = kind
        self.item = item
        self.provider_id = text_at(payload, "id")
        self.call_id = text_at(payload, "call_id")
        self.part_texts: dict[int, str] = {}
        """What the `*.done` events said of each part; used if the item's own end never comes (C5)."""
        self.summary_index: int | None = None
        self.summarised = False
        """Whether a summary has begun; then it is the content, and the raw reasoning is not."""
        self.closed = False

    @property
    def reconciled_text(self) -> str | None:
        """The text of the finished parts, or None if none was finished."""
        glue = "\n\n" if self.summarised else ""
        return glue.join(self.part_texts[index] for index in sorted(self.part_texts)) if self.part_texts else None


def payload_text(kind: SlotKind, payload: JsonObject) -> str | None:
    """Give the text that a finished item's payload says it came to, or None if it says nothing."""
    match kind:
        case "message":
            return _joined("", (part for part in objects_at(payload, "content")), "text", "refusal")
        case "reasoning":
            summary = _joined("\n\n", objects_at(payload, "summary"), "text")
            return summary or _joined("", objects_at(payload, "content"), "text") or summary
        case "call":
            given = payload.get("arguments")
            return given if isinstance(given, str) else None
        case "custom_call":
            given = payload.get("input")
            return given if isinstance(given, str) else None
        case _:
            return None


def payload_annotations(payload: JsonObject) -> list[Any]:
    """Give the annotations of all parts of a finished message."""
    return [note for part in objects_at(payload, "content") for note in list_at(part, "annotations")]


def is_refusal(payload: JsonObject) -> bool:
    """Tell whether a finished message holds a refusal."""
    return any(text_at(part, "refusal") for part in objects_at(payload, "content"))


def native_part(kind: SlotKind, payload: JsonObject) -> dict[str, Any]:
    """Give what of a finished item its text, name and call_id do not say, and the next request must have (C16)."""
    match kind:
        case "reasoning":
            return {"item": dict(payload)}
        case "message" | "call" | "custom_call":
            kept = {key: payload[key] for key in ("id", "phase", "namespace") if payload.get(key) is not None}
            if kind == "custom_call":
                kept["type"] = "custom_tool_call"
            elif kind == "message" and is_refusal(payload):
                kept["content"] = list_at(payload, "content")  # our text does not say that it refuses
            return {"item": kept} if kept else {}
        case _:
            return {}


def wrap_custom_input(text: str) -> str:
    """Make a JSON object of a custom tool's free text: our calls have JSON arguments."""
    return dump_json({"input": text}).decode()


def server_name(payload: JsonObject) -> str:
    """Give a server tool's name: its own, or that of its kind."""
    return text_at(payload, "name") or text_at(payload, "type").removesuffix("_call")


def server_arguments(payload: JsonObject) -> str:
    """Give what a server tool was asked, as JSON text: whatever of its item is neither frame nor result."""
    given = payload.get("arguments")
    if isinstance(given, str) and given:
        return given
    return dump_json({key: value for key, value in payload.items() if key not in _SERVER_FRAME}).decode()


def server_result(payload: JsonObject) -> str | None:
    """Give what a server tool gave back, as text; None if its item does not say."""
    for key in _SERVER_RESULTS:
        given = payload.get(key)
        if given:
            return given if isinstance(given, str) else dump_json(given).decode()
    return None


def _joined(glue: str, parts: Iterable[JsonObject], *keys: str) -> str | None:
    texts = [part[key] for part in parts for key in keys if isinstance(part.get(key), str)]
    return glue.join(texts) if texts else None
