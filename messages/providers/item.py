"""One item on its way from a provider to us: what is known of it, and how far it has been told."""

from typing import Any, Literal, TypeAlias

from turnwire.messages.json_text import parse_json

ItemKind: TypeAlias = Literal["message", "reasoning", "function_call", "function_call_output"]


class Item:
    """An item as an adapter holds it. Made by the transcript, which alone tells it."""

    __slots__ = (
        "annotations",
        "before",
        "call_id",
        "closed",
        "item_id",
        "kind",
        "name",
        "native",
        "origin",
        "parts",
        "position",
        "started",
        "wanted_id",
    )  # fmt: skip

    def __init__(self, kind: ItemKind, position: int, wanted_id: str, before: list[Any]) -> None:
        self.kind: ItemKind = kind
        self.position = position
        self.wanted_id = wanted_id
        """The provider's id; ours only if it is still free when the item starts."""
        self.item_id = ""
        self.name = ""
        self.call_id = ""
        self.origin: str | None = None
        self.parts: list[str] = []
        self.annotations: list[Any] = []
        self.before = before
        """Opaque blocks that must be sent back in front of this item."""
        self.native: dict[str, Any] = {}
        """What must be sent back with this item itself."""
        self.started = False
        self.closed = False

    @property
    def text(self) -> str:
        """All that the deltas said. Joins: for the end of an item, not for each delta."""
        return "".join(self.parts)

    @property
    def is_whole_call(self) -> bool:
        """Whether the arguments so far are a complete JSON object, to which nothing can be added."""
        return is_json_object(self.text)


def is_json_object(text: str) -> bool:
    """Tell whether a text is one complete JSON object."""
    try:
        return isinstance(parse_json(text), dict)
    except ValueError:
        return False
