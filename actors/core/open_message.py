"""A message that can still change, and be read as it was at any moment. No clock, no await.

A part that has not changed since it was last read is the same object again, so a view can tell by identity what it
need not draw; and only what has changed is made again, so looking costs the same for three parts and for a thousand.
"""

from typing import Self, TypeAlias, cast

from turnwire.actors.core.call_facts import CallFacts
from turnwire.actors.core.histories import History
from turnwire.actors.core.open_parts import OpenCall, OpenText, WholeCall, WholePart
from turnwire.actors.core.open_thinking import OpenThinking
from turnwire.messages.ui import Part, ProviderData, Role, ToolCallPart, ToolResultPart, UIMessage

OpenPart: TypeAlias = OpenText | OpenThinking | OpenCall | WholeCall | WholePart[Part] | WholePart[ToolResultPart]


class OpenMessage:
    """A message that its stream still adds to, or that a late answer has opened again."""

    __slots__ = (
        "_cache",
        "_calls",
        "_made",
        "_provider_data",
        "_results",
        "_stale",
        "changed",
        "created_at",
        "id",
        "parts",
        "role",
        "serial",
    )

    def __init__(
        self, message_id: str, role: Role, *, serial: int, moment: int, created_at: float | str | None = None
    ) -> None:
        self.id = message_id
        self.serial = serial
        self.role: Role = role
        self.created_at = created_at
        self.changed = moment
        self.parts: list[OpenPart] = []
        self._made: list[Part | None] = []  # each part as it was read last; None: it has changed since
        self._stale: list[int] = []  # the places of those that have
        self._calls: dict[str, OpenCall | WholeCall] = {}
        self._results: dict[str, WholePart[ToolResultPart]] = {}
        self._provider_data: History[ProviderData | None] = History(None, moment)
        self._cache: UIMessage | None = None

    @classmethod
    def reopened(cls, message: UIMessage, *, serial: int, moment: int) -> Self:
        """Open a message that was done. Where it has an id twice, the newer call is the one that is meant."""
        opened = cls(message.id, message.role, serial=serial, moment=moment, created_at=message.created_at)
        opened._provider_data = History(message.provider_data, moment)
        for part in message.parts:
            match part:
                case ToolCallPart():
                    opened.append(WholeCall(part, moment), moment)
                case ToolResultPart():
                    opened._results[part.tool_call_id] = result = WholePart(part, moment)
                    opened.append(result, moment)
                case _:
                    opened.append(WholePart[Part](part, moment), moment)
        return opened

    def touch(self, part: OpenPart, moment: int) -> None:
        """Note that a part changes. What was made of it is let go of: it holds a text that is to grow in place."""
        self.changed, self._cache = moment, None
        if self._made[part.place] is not None:
            self._made[part.place] = None
            self._stale.append(part.place)

    def append(self, part: OpenPart, moment: int) -> None:
        """Let a part join at the end."""
        self.changed, self._cache = moment, None
        part.place = len(self.parts)
        self.parts.append(part)
        self._made.append(None)
        self._stale.append(part.place)
        if isinstance(part, OpenCall | WholeCall):
            self._calls[part.id] = part

    def facts(self, call_id: str) -> CallFacts:
        """Say what is known of a call."""
        return self._calls[call_id].facts

    def arguments(self, call_id: str) -> str:
        """Give the text of a call's arguments."""
        return self._calls[call_id].arguments

    def set_facts(self, call_id: str, facts: CallFacts, moment: int) -> None:
        """Know better about a call."""
        call = self._calls[call_id]
        self.touch(call, moment)
        call.set_facts(facts, moment)

    def result(self, call_id: str) -> ToolResultPart | None:
        """Give the answer to a call, if there is one."""
        result = self._results.get(call_id)
        return None if result is None else result.newest

    def set_result(self, part: ToolResultPart, moment: int) -> None:
        """Put the answer to a call at the end, or in the place of an earlier one."""
        if (earlier := self._results.get(part.tool_call_id)) is not None:
            self.touch(earlier, moment)
            earlier.set(part, moment)
        else:
            self._results[part.tool_call_id] = result = WholePart(part, moment)
            self.append(result, moment)

    def kept(self, entity_id: str) -> str | None:
        """Give the opaque data that was kept under this id, if any."""
        value: str | None = (self._provider_data.newest or {}).get("encryptedValues", {}).get(entity_id)
        return value

    def keep(self, entity_id: str, value: str, moment: int) -> None:
        """Keep opaque data that belongs to no part."""
        self.changed, self._cache = moment, None
        data = self._provider_data.newest or {}
        values = {**data.get("encryptedValues", {}), entity_id: value}
        self._provider_data.set({**data, "encryptedValues": values}, moment)

    def newest(self) -> UIMessage:
        """Give the message as it is."""
        return self.at(self.changed)

    def at(self, moment: int) -> UIMessage:
        """Give the message as it was."""
        if self.changed > moment:
            return self._build(self._parts_at(moment), moment)
        if self._cache is None:
            for place in self._stale:
                self._made[place] = self.parts[place].at(moment)
            self._stale.clear()
            self._cache = self._build(cast("list[Part]", self._made), moment)  # none is stale by now
        return self._cache

    def _parts_at(self, moment: int) -> list[Part]:
        parts: list[Part] = []
        for part, made in zip(self.parts, self._made, strict=True):
            if part.born > moment:
                break  # parts join at the end: what follows is younger still
            parts.append(made if made is not None and part.changed <= moment else part.at(moment))
        return parts

    def _build(self, parts: list[Part], moment: int) -> UIMessage:
        return UIMessage(
            id=self.id,
            role=self.role,
            parts=tuple(parts),
            created_at=self.created_at,
            provider_data=self._provider_data.at(moment),
        )
