"""Thinking where it was thought: one part that shows many steps ⇄ the steps, each in its place.

A UIMessage shows all thinking in one part by default, where it first began. Its `provider_data["steps"]` lists the
steps, and the `at` of a step is the number of parts that stood before it. A step without `at` came right behind the
one before it. What providers seal must be sent back where it stood, so the steps are put there, and gathered again
on the way back.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from turnwire.messages.dialects.agui_sealed import STEP_DATA, opened_value
from turnwire.messages.json_shapes import JsonObject, is_object, list_at, text_at
from turnwire.messages.model_messages.model import ModelPart, Thought
from turnwire.messages.particulars import Json
from turnwire.messages.ui import Part, ThinkingPart

STEPS = "steps"
AT = "at"


def spread_thoughts(parts: Sequence[Part]) -> list[ModelPart]:
    """Give the parts with every step of thinking in its own place."""
    placed: dict[int, list[ModelPart]] = {}
    for index, part in enumerate(parts):
        if isinstance(part, ThinkingPart):
            for place, thought in _cut(part, index, len(parts)):
                placed.setdefault(place, []).append(thought)
        else:
            placed.setdefault(index, []).append(part)
    return [part for place in sorted(placed) for part in placed[place]]


def gather_thoughts(parts: Iterable[ModelPart]) -> tuple[Part, ...]:
    """Put the steps of one thinking part together again, where the first of them stands."""
    gathered: list[Part | _Gathering] = []
    open_parts: dict[int, _Gathering] = {}
    for part in parts:
        if not isinstance(part, Thought):
            gathered.append(part)
        elif part.step is None or part.part is None:
            gathered.append(ThinkingPart(content=part.content, step_id=part.step_id, provider_data=part.provider_data))
        elif (earlier := open_parts.get(part.part)) is not None:
            earlier.add(part.content, part.step, len(gathered))
        else:
            open_parts[part.part] = begun = _Gathering(part, part.step, len(gathered))
            gathered.append(begun)
    return tuple(part.close() if isinstance(part, _Gathering) else part for part in gathered)


def sealed_data(thought: Thought) -> Json:
    """Give what a provider has sealed of this thought, as `FinalReasoning.provider_data` has it; None if nothing."""
    step = thought.step or {}
    data = step.get(STEP_DATA)
    if is_object(data):
        return data
    data = opened_value(step)
    if data is not None:
        return data
    signature = text_at(step, "signature")
    if signature:  # AG-UI has a field for a signature, and Anthropic is who signs
        block = {"type": "thinking", "thinking": thought.content, "signature": signature}
        return {"format": "anthropic-messages", "block": block}
    return thought.provider_data


def _cut(part: ThinkingPart, index: int, count: int) -> list[tuple[int, Thought]]:
    data = part.provider_data or {}
    steps = [step for step in list_at(data, STEPS) if is_object(step)]
    places = [min(_place(step, index), count) for step in steps]
    whole = "".join(text_at(step, "content") for step in steps) == part.content
    if not steps or len(steps) < len(data[STEPS]) or not whole or places != sorted(places) or places[0] != index:
        return [(index, Thought(content=part.content, step_id=part.step_id, provider_data=part.provider_data))]
    rest = {key: value for key, value in data.items() if key != STEPS}
    first = Thought(
        content=text_at(steps[0], "content"),
        step_id=part.step_id,
        step=steps[0],
        part=index,
        provider_data=rest or None,
    )
    later = (Thought(content=text_at(step, "content"), step=step, part=index) for step in steps[1:])
    return list(zip(places, (first, *later), strict=True))


def _place(step: JsonObject, own: int) -> int:
    """Give the place of a step among the parts: the one it names, or that of the part that shows it."""
    place = step.get(AT)
    return place if type(place) is int and place > own else own


class _Gathering:
    """A thinking part on its way back."""

    def __init__(self, first: Thought, step: JsonObject, index: int) -> None:
        self._index = index
        self._step_id = first.step_id
        self._rest = first.provider_data or {}
        self._contents = [first.content]
        self._steps: list[Any] = [step if _place(step, index) == index else {**step, AT: index}]

    def add(self, content: str, step: JsonObject, place: int) -> None:
        self._contents.append(content)
        said = _place(step, self._index)
        behind = said == self._index and place == self._index + 1  # no place named, and none needed
        self._steps.append(step if said == place or behind else {**step, AT: place})

    def close(self) -> ThinkingPart:
        return ThinkingPart(
            content="".join(self._contents), step_id=self._step_id, provider_data={**self._rest, STEPS: self._steps}
        )
