"""Parts of a message that can still change. Each can be read as it was at any moment. No clock, no await.

Nothing here is overwritten: texts grow, facts get a newer version. A snapshot is therefore just a moment, free to
take, and what one reads from it later is what there was.

Every part knows when it was `born`, when it last `changed`, and its `place` in its message, which sets it.
"""

from typing import Generic, TypeVar

from msgspec import UNSET, UnsetType

from turnwire.actors.core.call_facts import CallFacts, facts_of, with_facts
from turnwire.actors.core.histories import History, TextHistory
from turnwire.actors.core.partial_json import PartialJson, parse_partial
from turnwire.messages.particulars import Json
from turnwire.messages.ui import Part, ProviderData, TextPart, ToolCallPart

_P = TypeVar("_P", bound=Part)


class OpenText:
    """A segment of text."""

    __slots__ = ("_data", "born", "changed", "place", "text")

    def __init__(self, moment: int) -> None:
        self.born = self.changed = moment
        self.place = -1
        self.text = TextHistory()
        self._data: History[ProviderData | None] = History(None, moment)

    def append(self, piece: str, moment: int) -> None:
        """Show more of it."""
        self.changed = moment
        self.text.append(piece, moment)

    def keeps(self, data: ProviderData) -> bool:
        """Is all this kept already?"""
        kept = self._data.newest
        return kept is not None and {**kept, **data} == kept

    def keep(self, data: ProviderData, moment: int) -> None:
        """Keep what the provider wants back with this text."""
        self.changed = moment
        self._data.set({**(self._data.newest or {}), **data}, moment)

    def at(self, moment: int) -> TextPart:
        """Give the part as it was."""
        return TextPart(content=self.text.at(moment), provider_data=self._data.at(moment))


class OpenCall:
    """A tool call whose message is still being made. With `partial` its input shows while its arguments stream."""

    __slots__ = ("_arguments", "_facts", "_fed", "_parser", "_partial", "born", "changed", "id", "name", "place")

    def __init__(self, call_id: str, name: str, moment: int, *, partial: bool) -> None:
        self.id = call_id
        self.name = name
        self.born = self.changed = moment
        self.place = -1
        self._facts = History(CallFacts(state="awaiting-input"), moment)
        self._arguments = History(TextHistory(), moment)
        self._partial = partial
        self._parser: PartialJson | None = None
        self._fed = 0

    @property
    def facts(self) -> CallFacts:
        """What is known of it."""
        return self._facts.newest

    @property
    def arguments(self) -> str:
        """The text of its arguments."""
        return self._arguments.newest.text()

    def append(self, piece: str, moment: int) -> None:
        """Let the arguments grow."""
        self.changed = moment
        self._arguments.newest.append(piece, moment)

    def set_facts(self, facts: CallFacts, moment: int) -> None:
        """Know better."""
        self.changed = moment
        self._facts.set(facts, moment)

    def replace_arguments(self, text: str, moment: int) -> None:
        """Put another text in the arguments' place."""
        self.changed = moment
        better = TextHistory()
        better.append(text, moment)
        self._arguments.set(better, moment)

    def at(self, moment: int) -> ToolCallPart:
        """Give the part as it was."""
        facts = self._facts.at(moment)
        text = self._arguments.at(moment).at(moment)
        shown = facts.input
        if self._partial and facts.state == "input-streaming" and shown is UNSET:
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
        text = self._arguments.newest
        for piece in text.pieces_from(self._fed):
            self._parser.feed(piece)
        self._fed = text.count
        return self._parser.value()


class WholePart(Generic[_P]):
    """A part that came whole; what is learned later makes a newer version of it."""

    __slots__ = ("_versions", "born", "changed", "place")

    def __init__(self, part: _P, moment: int) -> None:
        self.born = self.changed = moment
        self.place = -1
        self._versions = History(part, moment)

    @property
    def newest(self) -> _P:
        """The part as it is."""
        return self._versions.newest

    def set(self, part: _P, moment: int) -> None:
        """Put a newer version in its place."""
        self.changed = moment
        self._versions.set(part, moment)

    def at(self, moment: int) -> _P:
        """Give the part as it was."""
        return self._versions.at(moment)


class WholeCall(WholePart[ToolCallPart]):
    """A tool call whose arguments are final."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The id of the call."""
        return self.newest.id

    @property
    def facts(self) -> CallFacts:
        """What is known of it."""
        return facts_of(self.newest)

    @property
    def arguments(self) -> str:
        """The text of its arguments."""
        return self.newest.arguments

    def set_facts(self, facts: CallFacts, moment: int) -> None:
        """Know better."""
        self.set(with_facts(self.newest, facts), moment)
