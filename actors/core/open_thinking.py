"""Thinking that still grows: one text, and the steps it came in with what seals each. No clock, no await.

A step may come back after another has thought, so thinking is a row of stretches, each of one step. As soon as one of
them is sealed, by a signature or other data of the provider, the part lists them all in its provider data.
"""

from typing import Any

import attrs

from turnwire.actors.core.histories import TextHistory
from turnwire.messages.particulars import Json
from turnwire.messages.ui import ProviderData, ThinkingPart


@attrs.define(eq=False)
class _Stretch:
    """What one step thought in one go, and what seals it."""

    number: int
    step_id: str
    born: int
    place: int | None
    """How many parts stood before it, if it is not right behind the stretch before."""
    text: TextHistory = attrs.field(factory=TextHistory)
    seals: list[tuple[int, str, Json]] = attrs.field(factory=list[tuple[int, str, Json]])

    def at(self, moment: int) -> dict[str, Any]:
        """Give it as the part's provider data list it."""
        place = {} if self.place is None else {"at": self.place}
        sealed = {name: value for since, name, value in self.seals if since <= moment}
        return {"stepId": self.step_id, "content": self.text.at(moment), **place, **sealed}


class OpenThinking:
    """The thinking of a message, or of one step of it."""

    __slots__ = (
        "_last",
        "_listed",
        "_parts",
        "_sealed",
        "_stale",
        "_stretches",
        "born",
        "changed",
        "place",
        "step_id",
        "text",
    )

    def __init__(self, moment: int, step_id: str | None) -> None:
        self.born = self.changed = moment
        self.place = -1
        self.step_id = step_id
        self.text = TextHistory()
        self._parts = 0  # how many the message had when the last stretch began
        self._stretches: list[_Stretch] = []
        self._last: dict[str, _Stretch] = {}  # of each step
        self._sealed: int | None = None  # the moment of the first seal
        self._listed: list[dict[str, Any] | None] = []  # the stretches as they were listed last; None: not yet
        self._stale: set[int] = set()  # numbers of the stretches that have changed since

    def begins(self, step_id: str) -> bool:
        """Would this step begin a new stretch?"""
        return not self._stretches or self._stretches[-1].step_id != step_id

    def append(self, step_id: str, piece: str, moment: int, parts: int) -> None:
        """Let the thinking of a step grow; `parts` is how many the message has, this one included."""
        if self.begins(step_id):
            moved = bool(self._stretches) and (parts > self._parts or self._stretches[-1].place is not None)
            stretch = _Stretch(len(self._stretches), step_id, moment, parts if moved else None)
            self._stretches.append(stretch)
            self._listed.append(None)
            self._last[step_id] = stretch
            self._parts = parts
        last = self._stretches[-1]
        self._change(last, moment)
        if piece:
            self.text.append(piece, moment)
            last.text.append(piece, moment)

    def knows(self, step_id: str) -> bool:
        """Has this step thought here?"""
        return step_id in self._last

    def text_of(self, step_id: str) -> str:
        """Give what a step has thought, if it is the one that thinks; else nothing."""
        return "" if self.begins(step_id) else self._stretches[-1].text.text()

    def has_seal(self, step_id: str, name: str, value: Json) -> bool:
        """Is a step sealed by just this?"""
        stretch = self._last.get(step_id)
        return stretch is not None and any((name, value) == seal[1:] for seal in stretch.seals)

    def seal(self, step_id: str, name: str, value: Json, moment: int) -> None:
        """Keep opaque data of the provider with a step: its signature, an encrypted value."""
        stretch = self._last[step_id]
        self._change(stretch, moment)
        stretch.seals.append((moment, name, value))
        if self._sealed is None:
            self._sealed = moment

    def at(self, moment: int) -> ThinkingPart:
        """Give the part as it was."""
        data: ProviderData | None = None
        if self._sealed is not None and self._sealed <= moment:
            data = {"steps": self._steps(moment)}
        return ThinkingPart(content=self.text.at(moment), step_id=self.step_id, provider_data=data)

    def _steps(self, moment: int) -> list[dict[str, Any] | None]:
        """List the stretches; of the newest state only those are made again that have changed."""
        if self.changed > moment:
            return [stretch.at(moment) for stretch in self._stretches if stretch.born <= moment]
        for number in self._stale:
            self._listed[number] = self._stretches[number].at(moment)
        self._stale.clear()
        return self._listed.copy()

    def _change(self, stretch: _Stretch, moment: int) -> None:
        self.changed = moment
        self._stale.add(stretch.number)
        self._listed[stretch.number] = None  # it holds the text so far, which could not grow in place
