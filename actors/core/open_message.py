"""Messages and the tool calls in them, changed in one way whether they are still being made or were done long ago.

`OpenMessage` is the one that its stream still adds to. `SettledMessage` holds a finished noun; a late result or an
answer makes a newer version of it. Both can be read as they were at any moment. No clock, no await.
"""

from typing import TypeAlias

import attrs

from turnwire.actors.core.open_parts import CallFacts, History, OpenCall, OpenResult, OpenText, OpenThinking
from turnwire.messages.ui import (
    Part,
    ProviderData,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UIMessage,
)

OpenPart: TypeAlias = OpenText | OpenThinking | OpenCall | OpenResult


class OpenMessage:
    """A message that its stream still adds to."""

    __slots__ = (
        "_cache",
        "_calls",
        "_partial",
        "_provider_data",
        "_results",
        "changed",
        "created_at",
        "id",
        "parts",
        "role",
        "serial",
    )

    def __init__(
        self,
        message_id: str,
        role: Role,
        *,
        serial: int,
        moment: int,
        created_at: float | str | None = None,
        partial: bool = False,
    ) -> None:
        self.id = message_id
        self.serial = serial
        self.role: Role = role
        self.created_at = created_at
        self.changed = moment
        self.parts: list[OpenPart] = []
        self._calls: dict[str, OpenCall] = {}
        self._results: dict[str, OpenResult] = {}
        self._provider_data: History[ProviderData | None] = History(None, moment)
        self._partial = partial
        self._cache: UIMessage | None = None

    def touch(self, moment: int) -> None:
        """Note that something in it has changed."""
        self.changed, self._cache = moment, None

    def append(self, part: OpenPart, moment: int) -> None:
        """Let a part join at the end."""
        self.touch(moment)
        self.parts.append(part)
        if isinstance(part, OpenCall):
            self._calls[part.id] = part

    def facts(self, call_id: str) -> CallFacts:
        """Say what is known of a call."""
        return self._calls[call_id].facts.newest

    def arguments(self, call_id: str) -> str:
        """Give the text of a call's arguments."""
        return self._calls[call_id].arguments.text()

    def set_facts(self, call_id: str, facts: CallFacts, moment: int) -> None:
        """Know better about a call."""
        self.touch(moment)
        self._calls[call_id].set_facts(facts, moment)

    def result(self, call_id: str) -> ToolResultPart | None:
        """Give the answer to a call, if there is one."""
        result = self._results.get(call_id)
        return None if result is None else result.newest

    def set_result(self, part: ToolResultPart, moment: int) -> None:
        """Put the answer to a call at the end, or in the place of an earlier one."""
        self.touch(moment)
        if (earlier := self._results.get(part.tool_call_id)) is not None:
            earlier.set(part, moment)
        else:
            self._results[part.tool_call_id] = result = OpenResult(part, moment)
            self.parts.append(result)

    def keep(self, entity_id: str, value: str, moment: int) -> None:
        """Keep opaque data that belongs to no part."""
        self.touch(moment)
        data = self._provider_data.newest or {}
        self._provider_data.set(
            {**data, "encryptedValues": {**data.get("encryptedValues", {}), entity_id: value}}, moment
        )

    def newest(self) -> UIMessage:
        """Give the message as it is."""
        return self.at(self.changed)

    def at(self, moment: int) -> UIMessage:
        """Give the message as it was."""
        if self.changed > moment:
            return self._build(moment)
        if self._cache is None:
            self._cache = self._build(moment)
        return self._cache

    def _build(self, moment: int) -> UIMessage:
        parts: list[Part] = []
        for part in self.parts:
            if part.born > moment:
                break  # parts join at the end: what follows is younger still
            parts.append(part.at(moment, partial=self._partial) if isinstance(part, OpenCall) else part.at(moment))
        return UIMessage(
            id=self.id,
            role=self.role,
            parts=tuple(parts),
            created_at=self.created_at,
            provider_data=self._provider_data.at(moment),
        )


class SettledMessage:
    """A message that is done."""

    __slots__ = ("_versions", "id", "serial")

    def __init__(self, message: UIMessage, moment: int, serial: int) -> None:
        self.id = message.id
        self.serial = serial
        self._versions = History(message, moment)

    def facts(self, call_id: str) -> CallFacts:
        """Say what is known of a call."""
        call = self._call(call_id)
        return CallFacts(
            state=call.state,
            input=call.input,
            output=call.output,
            approval=call.approval,
            provider_data=call.provider_data,
        )

    def arguments(self, call_id: str) -> str:
        """Give the text of a call's arguments."""
        return self._call(call_id).arguments

    def set_facts(self, call_id: str, facts: CallFacts, moment: int) -> None:
        """Know better about a call."""
        call = self._call(call_id)
        better = attrs.evolve(
            call,
            state=facts.state,
            input=facts.input,
            output=facts.output,
            approval=facts.approval,
            provider_data=facts.provider_data,
        )
        message = self.newest()
        self._set(tuple(better if part is call else part for part in message.parts), moment)

    def result(self, call_id: str) -> ToolResultPart | None:
        """Give the answer to a call, if there is one."""
        for part in reversed(self.newest().parts):
            if isinstance(part, ToolResultPart) and part.tool_call_id == call_id:
                return part
        return None

    def set_result(self, part: ToolResultPart, moment: int) -> None:
        """Put the answer to a call at the end, or in the place of an earlier one."""
        earlier, parts = self.result(part.tool_call_id), self.newest().parts
        if earlier is None:
            self._set((*parts, part), moment)
        else:
            self._set(tuple(part if old is earlier else old for old in parts), moment)

    def newest(self) -> UIMessage:
        """Give the message as it is."""
        return self._versions.newest

    def at(self, moment: int) -> UIMessage:
        """Give the message as it was."""
        return self._versions.at(moment)

    def _set(self, parts: tuple[Part, ...], moment: int) -> None:
        self._versions.set(attrs.evolve(self.newest(), parts=parts), moment)

    def _call(self, call_id: str) -> ToolCallPart:
        # From the end: where an id was used twice, the newer call is the one that is meant.
        return next(
            part for part in reversed(self.newest().parts) if isinstance(part, ToolCallPart) and part.id == call_id
        )


AnyMessage: TypeAlias = OpenMessage | SettledMessage


def is_blank(message: UIMessage) -> bool:
    """Does a message hold nothing but white space?"""
    return message.provider_data is None and all(
        isinstance(part, TextPart | ThinkingPart) and part.provider_data is None and not part.content.strip()
        for part in message.parts
    )
