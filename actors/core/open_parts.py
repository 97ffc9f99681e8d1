"""Parts of a message that is still being made. Each can be read as it was at any moment. No clock, no await.

Nothing here is overwritten: texts grow, facts get a newer version. A snapshot is therefore just a moment, free to
take, and what one reads from it later is what there was. A part that has not changed since it was last read is the
same object again, so a view can tell by identity what it need not draw.
"""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import attrs
from msgspec import UNSET, UnsetType

from turnwire.actors.core.growing_text import GrowingText
from turnwire.actors.core.partial_json import PartialJson, parse_partial
from turnwire.messages.events import Json
from turnwire.messages.ui import (
    Approval,
    ProviderData,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolCallState,
    ToolResultPart,
)

_T = TypeVar("_T")


class History(Generic[_T]):
    """The versions of one value."""

    __slots__ = ("_versions", "newest")

    def __init__(self, value: _T, moment: int) -> None:
        self.newest = value
        self._versions = [(moment, value)]

    def set(self, value: _T, moment: int) -> None:
        """Give it a newer version."""
        self.newest = value
        self._versions.append((moment, value))

    def at(self, moment: int) -> _T:
        """Give the version of a moment; before the first one, the first."""
        for since, value in reversed(self._versions):
            if since <= moment:
                return value
        return self._versions[0][1]

    def is_newest(self, moment: int) -> bool:
        """Has nothing changed since this moment?"""
        return self._versions[-1][0] <= moment


class OpenText:
    """A segment of text."""

    __slots__ = ("_cache", "_data", "born", "text")

    def __init__(self, moment: int) -> None:
        self.born = moment
        self.text = GrowingText()
        self._data: History[ProviderData | None] = History(None, moment)
        self._cache: TextPart | None = None

    def append(self, piece: str, moment: int) -> None:
        """Show more of it."""
        self._cache = None  # it holds the text so far, which could not grow in place
        self.text.append(piece, moment)

    def keep(self, data: ProviderData, moment: int) -> None:
        """Keep what the provider wants back with this text."""
        self._cache = None
        self._data.set({**(self._data.newest or {}), **data}, moment)

    def at(self, moment: int) -> TextPart:
        """Give the part as it was."""
        if not self.text.is_newest(moment) or not self._data.is_newest(moment):
            return TextPart(content=self.text.at(moment), provider_data=self._data.at(moment))
        if self._cache is None:
            self._cache = TextPart(content=self.text.text(), provider_data=self._data.newest)
        return self._cache


@attrs.define(eq=False)
class _Run:
    """A stretch of thinking of one step, and what seals it."""

    step_id: str
    start: int
    born: int
    place: int | None
    """How many parts stood before it, if it is not right behind the stretch before."""
    seals: list[tuple[int, str, Json]] = attrs.field(factory=list[tuple[int, str, Json]])


class OpenThinking:
    """The thinking of a message, or of one step of it."""

    __slots__ = ("_cache", "_last", "_parts", "_runs", "born", "changed", "step_id", "text")

    def __init__(self, moment: int, step_id: str | None) -> None:
        self.born = self.changed = moment
        self._parts = 0  # how many the message had when the last stretch began
        self.step_id = step_id
        self.text = GrowingText()
        self._runs: list[_Run] = []
        self._last: dict[str, _Run] = {}  # the last stretch of each step
        self._cache: ThinkingPart | None = None

    def begins(self, step_id: str) -> bool:
        """Would this step begin a new stretch?"""
        return not self._runs or self._runs[-1].step_id != step_id

    def append(self, step_id: str, piece: str, moment: int, parts: int) -> None:
        """Let the thinking of a step grow; `parts` is how many the message has, this one included."""
        self._change(moment)
        if self.begins(step_id):
            moved = bool(self._runs) and (parts > self._parts or self._runs[-1].place is not None)
            self._last[step_id] = run = _Run(step_id, self.text.length, moment, parts if moved else None)
            self._runs.append(run)
            self._parts = parts
        if piece:
            self.text.append(piece, moment)

    def knows(self, step_id: str) -> bool:
        """Has this step thought here?"""
        return step_id in self._last

    def text_of(self, step_id: str) -> str:
        """Give the thinking of the step's last stretch."""
        last = self._runs[-1] if self._runs else None
        return self.text.text()[last.start :] if last is not None and last.step_id == step_id else ""

    def has_seal(self, step_id: str, name: str, value: Json) -> bool:
        """Is a step sealed by just this?"""
        run = self._last.get(step_id)
        return run is not None and any((name, value) == seal[1:] for seal in run.seals)

    def seal(self, step_id: str, name: str, value: Json, moment: int) -> None:
        """Keep opaque data of the provider with a step: its signature, an encrypted value."""
        self._change(moment)
        self._last[step_id].seals.append((moment, name, value))

    def at(self, moment: int) -> ThinkingPart:
        """Give the part as it was."""
        if self.changed > moment:
            return self._build(moment)
        if self._cache is None:
            self._cache = self._build(moment)
        return self._cache

    def _change(self, moment: int) -> None:
        self.changed, self._cache = moment, None

    def _build(self, moment: int) -> ThinkingPart:
        text = self.text.at(moment)
        runs = [run for run in self._runs if run.born <= moment]
        seals = [{name: value for at, name, value in run.seals if at <= moment} for run in runs]
        data: ProviderData | None = None
        if any(seals):
            ends = [*(run.start for run in runs[1:]), len(text)]
            data = {
                "steps": [
                    {
                        "stepId": run.step_id,
                        "content": text[run.start : end],
                        **({} if run.place is None else {"at": run.place}),
                        **sealed,
                    }
                    for run, end, sealed in zip(runs, ends, seals, strict=True)
                ]
            }
        return ThinkingPart(content=text, step_id=self.step_id, provider_data=data)


@attrs.frozen(kw_only=True)
class CallFacts:
    """What is known of a tool call besides the text of its arguments."""

    state: ToolCallState
    input: Json | UnsetType = UNSET
    output: Json | UnsetType = UNSET
    approval: Approval | None = None
    provider_data: Mapping[str, Any] | None = None


class OpenCall:
    """A tool call whose message is still being made."""

    __slots__ = ("_arguments", "_cache", "_fed", "_parser", "born", "changed", "facts", "id", "index", "name")

    def __init__(self, call_id: str, name: str, index: int, moment: int) -> None:
        self.id = call_id
        self.name = name
        self.index = index
        self.born = self.changed = moment
        self.facts = History(CallFacts(state="awaiting-input"), moment)
        self._arguments = History(GrowingText(), moment)
        self._parser: PartialJson | None = None
        self._fed = 0
        self._cache: ToolCallPart | None = None

    @property
    def arguments(self) -> GrowingText:
        """The text of the arguments."""
        return self._arguments.newest

    def append(self, piece: str, moment: int) -> None:
        """Let the arguments grow."""
        self.changed, self._cache = moment, None
        self._arguments.newest.append(piece, moment)

    def set_facts(self, facts: CallFacts, moment: int) -> None:
        """Know better."""
        self.changed, self._cache = moment, None
        self.facts.set(facts, moment)

    def replace_arguments(self, text: str, moment: int) -> None:
        """Put another text in the arguments' place."""
        self.changed, self._cache = moment, None
        better = GrowingText()
        better.append(text, moment)
        self._arguments.set(better, moment)

    def at(self, moment: int, *, partial: bool = False) -> ToolCallPart:
        """Give the part as it was; with `partial`, with what streaming arguments say so far as its input."""
        if self.changed > moment:
            return self._build(moment, partial=partial)
        if self._cache is None:
            self._cache = self._build(moment, partial=partial)
        return self._cache

    def _build(self, moment: int, *, partial: bool) -> ToolCallPart:
        facts = self.facts.at(moment)
        text = self._arguments.at(moment).at(moment)
        shown = facts.input
        if partial and facts.state == "input-streaming" and shown is UNSET:
            shown = self._parse_on() if self.changed <= moment else parse_partial(text)
        return ToolCallPart(
            id=self.id,
            name=self.name,
            arguments=text,
            state=facts.state,
            input=shown,
            output=facts.output,
            approval=facts.approval,
            provider_data=facts.provider_data,
        )

    def _parse_on(self) -> Json | UnsetType:
        """Read only what has come since it was last asked: all asking together costs one reading of the text."""
        if self._parser is None:
            self._parser = PartialJson()
        for piece in self.arguments.pieces_from(self._fed):
            self._parser.feed(piece)
        self._fed = self.arguments.count
        return self._parser.value()


class OpenResult:
    """What a tool said."""

    __slots__ = ("_part", "born")

    def __init__(self, part: ToolResultPart, moment: int) -> None:
        self.born = moment
        self._part = History(part, moment)

    @property
    def newest(self) -> ToolResultPart:
        """The part as it is."""
        return self._part.newest

    def set(self, part: ToolResultPart, moment: int) -> None:
        """Put a newer answer in its place."""
        self._part.set(part, moment)

    def at(self, moment: int) -> ToolResultPart:
        """Give the part as it was."""
        return self._part.at(moment)
