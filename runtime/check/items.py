"""The states of one item in log B, held to what log A implies for it.

- statuses: create, then updates, then complete or error; or one single complete or error. Nothing after an end.
- repeated: no state says what the one before it said, and no end is said twice.
- wrong: a state on the way is a beginning of the item's text, and goes on from the one before; an end is the one that
  log A calls for; an item that was cancelled or never had anything to say has none.
- lost: an end that log A calls for is there; and so are the create of a call and the whole text of an item that the
  terminal ended.
"""

from collections.abc import Sequence
from typing import TypeAlias

from turnwire.messages.outputs import Content, Message, Thinking, ToolCall
from turnwire.runtime.check.implied import ImpliedItem, Kind, Wanted
from turnwire.runtime.check.violation import OutputEntry, Rule, Violation

State: TypeAlias = tuple[OutputEntry, Content]
_CLASSES: dict[Kind, type[Content]] = {"message": Message, "thinking": Thinking, "tool_call": ToolCall}
_FINAL = ("complete", "error")
_EXCERPT = 60


def cause_of(item: ImpliedItem, state: Content) -> int | None:
    """Give the place of the event that caused this state, if only one can have: not for a text on its way."""
    if state.status in _FINAL:
        return None if item.end is None else item.ended_at
    return item.called_at if item.kind == "tool_call" and item.call is not None else None


def check_item(turn_id: str, item: ImpliedItem, states: Sequence[State]) -> list[Violation]:
    """Give everything that is wrong with the states of one item."""
    found: list[Violation] = []

    def complain(rule: Rule, problem: str, entry: OutputEntry | None = None) -> None:
        found.append(Violation(turn_id, "" if entry is None else entry.entry, rule, f"item {item.item_id}: {problem}"))

    text = item.text
    before: State | None = None
    for entry, state in states:
        if not isinstance(state, _CLASSES[item.kind]):
            complain("wrong", f"is a {item.kind}, not a {type(state).__name__}", entry)
            continue
        if (problem := _status_problem(before, state)) is not None:
            complain(*problem, entry)
        if (wrong := _state_problem(item, text, state)) is not None:
            complain("wrong", wrong, entry)
        if before is None or before[1].status not in _FINAL:
            before = (entry, state)
    if (lost := _what_is_lost(item, text, None if before is None else before[1])) is not None:
        complain("lost", lost)
    return found


def _status_problem(before: State | None, state: Content) -> tuple[Rule, str] | None:
    if before is None:
        return ("statuses", "begins with an update") if state.status == "update" else None
    entry, last = before
    if last.status in _FINAL:
        if state.status in _FINAL:
            return "repeated", f"ends again; it has ended in {entry.entry}"
        return "statuses", f"goes on after its end in {entry.entry}"
    if state.status == "create":
        return "statuses", f"is created again; it was in {entry.entry}"
    if state.status == "update" and state.content == last.content:
        return "repeated", f"says what {entry.entry} said"
    if state.status == "update" and not state.content.startswith(last.content):
        return "wrong", f"does not go on from what {entry.entry} said"
    return None


def _state_problem(item: ImpliedItem, text: str, state: Content) -> str | None:
    if state.status in _FINAL:
        if item.is_cancelled:
            return None if state.error_code == "ITEM_CANCELLED" else "was cancelled, but has an end"
        return "has an end that log A does not have" if item.end is None else _difference(item.end, state)
    if isinstance(state, ToolCall):
        if item.call is None:
            return "is shown before its arguments are there"
        return _difference({**item.call, "tool_output": None, "success": None}, state)
    if not text.startswith(state.content):
        return f"its text is no beginning of what log A says: {_short(state.content)}"
    if isinstance(state, Message) and state.origin != ("user" if item.is_prompt else "agent"):
        return f"origin is {state.origin}"
    return None


def _what_is_lost(item: ImpliedItem, text: str, newest: Content | None) -> str | None:
    """Say what readers of log B never got to know."""
    if item.is_cancelled:
        return None
    if item.end is not None:
        return None if newest is not None and newest.status in _FINAL else f"its end, {item.end['status']}, is missing"
    if item.kind == "tool_call":
        return "the call is missing" if item.call is not None and newest is None else None
    shown = "" if newest is None else newest.content
    return None if shown == text else f"its whole text is missing: {_short(text)}; there is {_short(shown)}"


def _difference(wanted: Wanted, state: Content) -> str | None:
    for name, value in wanted.items():
        if getattr(state, name) != value:
            return f"{name} must be {_short(value)}, is {_short(getattr(state, name))}"
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}... ({len(text)} characters)"
