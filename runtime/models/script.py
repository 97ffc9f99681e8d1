"""What a scripted model says: steps that read like what happens. Frozen nouns only.

    [Think("A question about the weather. "), Say("Let me look. ", every=0.02), Call("weather", {"city": "Oslo"})]

Times are seconds on Trio's clock, so a mock clock plays a script at once. `every` waits before each piece. A text
with `every` comes word by word; a list of texts comes as it is cut.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.events import Json, Usage
from turnwire.messages.json_text import dump_json
from turnwire.messages.providers.endings import FinishReason

_WORDS = re.compile(r"\s*\S+\s*|\s+")
_ARGUMENTS = re.compile(r".{1,8}", re.DOTALL)  # about what providers send at a time


def _as_given(texts: str | Iterable[str]) -> str | tuple[str, ...]:
    return texts if isinstance(texts, str) else tuple(texts)


@attrs.frozen
class Say:
    """Text of the answer. What is said in a row is one message, pauses or not."""

    text: str | Iterable[str] = attrs.field(converter=_as_given)
    every: float = attrs.field(default=0.0, kw_only=True)

    def pieces(self) -> list[str]:
        """Give what comes at a time."""
        return _cut(self.text, self.every, _WORDS)


@attrs.frozen
class Think:
    """Thinking, as one block. `seal` is opaque data that comes with it, such as a signature (C16)."""

    text: str | Iterable[str] = attrs.field(converter=_as_given)
    every: float = attrs.field(default=0.0, kw_only=True)
    seal: str | None = attrs.field(default=None, kw_only=True)

    def pieces(self) -> list[str]:
        """Give what comes at a time."""
        return _cut(self.text, self.every, _WORDS)


@attrs.frozen
class Call:
    """A call of a tool. Arguments may be given as text, also as text that is no JSON."""

    name: str
    arguments: Mapping[str, Json] | str = attrs.field(factory=dict[str, Json])
    every: float = attrs.field(default=0.0, kw_only=True)
    call_id: str | None = attrs.field(default=None, kw_only=True)
    """None: made from the run, the request and the place in it, so the same in every run of a test."""

    def pieces(self) -> list[str]:
        """Give what comes at a time."""
        given = self.arguments
        text = given if isinstance(given, str) else dump_json(dict(given)).decode()
        return _cut(text, self.every, _ARGUMENTS)


@attrs.frozen
class Pause:
    """Nothing, for a while."""

    seconds: float


@attrs.frozen
class Fail:
    """An error of the provider's, which ends the answer (C10). As the first step: before anything was said."""

    code: str
    message: str = ""


@attrs.frozen
class Cut:
    """The connection breaks: the answer ends without its end (C8)."""


@attrs.frozen
class Hang:
    """The answer never goes on."""


@attrs.frozen
class Finish:
    """The answer ends for another reason than the usual ones: stop, or tool_calls if there were any."""

    reason: FinishReason


Step: TypeAlias = Say | Think | Call | Pause | Usage | Fail | Cut | Hang | Finish
"""One step. A `Usage` says what the request has cost."""
Reply: TypeAlias = str | Step | Iterable[str | Step]
"""What is said to one request. A bare text is a Say."""
Script: TypeAlias = Iterable[Reply] | Callable[[ModelCall], Reply]
"""A reply for each request, in the order of the requests (it may be endless), or a function from the request to it."""


def steps_of(reply: Reply) -> Iterator[Step]:
    """Give the steps of a reply."""
    for step in (reply,) if isinstance(reply, str | Step) else reply:
        yield Say(step) if isinstance(step, str) else step


def _cut(text: str | Iterable[str], every: float, piece: "re.Pattern[str]") -> list[str]:
    if not isinstance(text, str):
        return list(text)
    return piece.findall(text) if every > 0 else [text]
