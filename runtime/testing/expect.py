"""Say what a turn's readers should have been told, and be shown where they were told something else.

An expected output is an output, or a mapping of as many of its wire fields as the test cares about. `...` stands for
any number of outputs, none included.

    assert_outputs(turn, [{"type": "turn_started"}, ..., {"content": "Hello!", "status": "complete"}, ...])
"""

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any, TypeAlias

from turnwire.messages.folds import TurnSnapshot
from turnwire.messages.output_codec import unstructure_output
from turnwire.messages.outputs import Message, Output
from turnwire.runtime.testing.collect import CollectedTurn

SHOWN = 60  # characters of a text in a report: enough to recognise it

Told: TypeAlias = CollectedTurn | TurnSnapshot | Iterable[Output]
Expected: TypeAlias = Output | Mapping[str, Any] | EllipsisType


def assert_outputs(told: Told, expected: Sequence[Expected]) -> None:
    """Raise AssertionError unless the outputs are as expected: all of them, in this order.

    Of a `CollectedTurn` these are all that its sink was given, of a `TurnSnapshot` the newest state of each item.
    """
    actual = [unstructure_output(output) for output in _outputs(told)]
    wanted = [it if isinstance(it, EllipsisType | Mapping) else unstructure_output(it) for it in expected]
    reached = _furthest(actual, wanted)
    if reached is not None:
        raise AssertionError(_report(actual, wanted, *reached))


def assert_says(told: Told, text: str) -> None:
    """Raise AssertionError unless the agent's last message, as readers know it at the end, is this text."""
    said = [output for output in _outputs(told) if isinstance(output, Message) and output.origin == "agent"]
    last = said[-1].content if said else None
    if last != text:
        raise AssertionError(f"expected the agent to say {text!r}\nbut it said     {last!r}")


def _outputs(told: Told) -> tuple[Output, ...]:
    return told.outputs if isinstance(told, CollectedTurn | TurnSnapshot) else tuple(told)


def _furthest(
    actual: list[dict[str, Any]], wanted: Sequence[Mapping[str, Any] | EllipsisType]
) -> tuple[int, int] | None:
    """Give how far the two agree, as places in both; None if they agree to the end."""
    places = {0}  # in `actual`: all that can be reached by now, whatever the `...` before stood for
    for number, want in enumerate(wanted):
        if isinstance(want, EllipsisType):
            places = set(range(min(places), len(actual) + 1))
            continue
        fitting = {place + 1 for place in places if place < len(actual) and not _differences(actual[place], want)}
        if not fitting:
            is_searched = number > 0 and isinstance(wanted[number - 1], EllipsisType)
            return (min(places) if is_searched else max(places)), number
        places = fitting
    return None if len(actual) in places else (max(places), len(wanted))


def _differences(actual: Mapping[str, Any], want: Mapping[str, Any]) -> list[str]:
    return [key for key, value in want.items() if actual.get(key) != value]


def _report(
    actual: list[dict[str, Any]], wanted: Sequence[Mapping[str, Any] | EllipsisType], at: int, number: int
) -> str:
    if number == len(wanted):
        lines = [f"{len(actual) - at} more than expected, from output {at} on"]
    else:
        want = wanted[number]
        assert not isinstance(want, EllipsisType)  # noqa: S101  # which fits anything
        after = number > 0 and wanted[number - 1] is ...
        lines = [f"expected output {number} was not told" + (f", neither at {at} nor later" if after else f" at {at}")]
        lines.append(f"  expected {_short(want)}")
        if at < len(actual) and not after:
            found = actual[at]
            lines.append(f"  told     {_short({key: found.get(key) for key in want})}")
            lines.append(f"  differs in {', '.join(_differences(found, want))}")
        elif at >= len(actual):
            lines.append("  told     nothing more")
    lines.append("all that was told:" if actual else "nothing was told")
    keys = ("type", "itemId", "status", "content", "toolName", "error")
    for place, output in enumerate(actual):
        mark = "→" if place == at else " "
        lines.append(f"{mark} {place:3} {_short({key: output[key] for key in keys if key in output})}")
    return "\n".join(lines)


def _short(fields: Mapping[str, Any]) -> str:
    texts: list[str] = []
    for key, value in fields.items():
        text = repr(value)
        if len(text) > SHOWN:
            text = f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"
        texts.append(text.strip("'") if key == "type" else f"{key}={text}")
    return " ".join(texts)
