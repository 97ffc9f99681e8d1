"""What an AG-UI event costs a conversation, as it grows, and what it costs the StreamProcessor of @tanstack/ai.

Both are given the same events, decoded, in the same run, and both hand the messages to a callback at each change. Ours
makes them when somebody looks, so it is measured twice: with a callback that looks at the message that has changed,
each time, as a view would, and without anybody looking.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence

import attrs

from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.ui import TextPart, UIMessage
from turnwire.runtime.bench.conversation_streams import Kind, Stream, make_conversation
from turnwire.runtime.bench.node_side import NodeCase, run_in_node


@attrs.frozen(kw_only=True)
class Load:
    """What is measured, at growing sizes: deltas of one text, deltas of one call's arguments, turns."""

    name: str
    kind: Kind
    sizes: tuple[int, ...]
    partial: bool = False
    """Whether a call's input is shown while its arguments stream."""


LOADS = (
    Load(name="text deltas", kind="text", sizes=(5_000, 20_000, 80_000)),
    Load(name="argument deltas", kind="arguments", sizes=(1_000, 4_000, 16_000)),
    Load(name="argument deltas, input shown", kind="arguments", sizes=(1_000, 4_000, 16_000), partial=True),
    Load(name="turns", kind="turns", sizes=(50, 200, 800)),
)


@attrs.frozen(kw_only=True)
class ConversationRow:
    """One line, in µs of CPU per event. `growth` is how many times the first size's cost this one's is."""

    name: str
    size: int
    us_per_event: float
    growth: float
    us_unread: float
    tanstack_us: float | None = None
    tanstack_growth: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times our time the other's is."""
        return None if self.tanstack_us is None else self.tanstack_us / self.us_per_event


@attrs.frozen(kw_only=True)
class ConversationCosts:
    """All lines, and why nobody else's numbers stand in them, if so."""

    rows: list[ConversationRow]
    note: str | None = None


def measure_conversations(
    *, loads: Sequence[Load] = LOADS, repeats: int = 3, progress: Callable[[], None] = lambda: None
) -> ConversationCosts:
    """Measure every load at every size, best of several runs."""
    others, note = run_in_node([NodeCase.of(load.kind, size, load.partial, repeats) for load, size in _lines(loads)])
    rows: list[ConversationRow] = []
    for (load, size), other in zip(_lines(loads), others, strict=True):
        conversation = _decoded(make_conversation(load.kind, size))
        count = sum(len(events) for _, events in conversation)
        looking = min(_seconds(conversation, load, look=True) for _ in range(repeats))
        unread = min(_seconds(conversation, load, look=False) for _ in range(repeats))
        rows.append(_row(rows, load, size, looking * 1e6 / count, unread * 1e6 / count, other))
        progress()
    return ConversationCosts(rows=rows, note=note)


def _lines(loads: Sequence[Load]) -> Iterator[tuple[Load, int]]:
    return ((load, size) for load in loads for size in load.sizes)


def _row(
    rows: list[ConversationRow], load: Load, size: int, ours: float, unread: float, other: float | None
) -> ConversationRow:
    first = next((row for row in rows if row.name == load.name), None)
    other_first = other if first is None else first.tanstack_us
    return ConversationRow(
        name=load.name,
        size=size,
        us_per_event=ours,
        growth=1.0 if first is None else ours / first.us_per_event,
        us_unread=unread,
        tanstack_us=other,
        tanstack_growth=None if other is None or not other_first else other / other_first,
    )


def _decoded(conversation: list[Stream]) -> list[tuple[str | None, list[AnyAguiEvent]]]:
    return [(each.prompt, [structure_agui(event) for event in each.stream]) for each in conversation]


def _seconds(conversation: list[tuple[str | None, list[AnyAguiEvent]]], load: Load, *, look: bool) -> float:
    machine = ConversationMachine(
        ConversationOptions(partial_arguments=load.partial),
        ConversationCallbacks(on_messages_change=_look if look else _look_away),
    )
    gc.collect()
    began = time.process_time()  # CPU, not the clock: growth is a ratio, and must hold on a busy machine too
    for number, (prompt, events) in enumerate(conversation):
        if prompt is not None:
            machine.add_message(UIMessage(id=f"prompt-{number}", role="user", parts=(TextPart(content=prompt),)))
        machine.process(events)
    return time.process_time() - began


def _look(messages: Sequence[UIMessage]) -> None:
    """Do what a view does: take the message that has changed."""
    _ = messages[-1]


def _look_away(_messages: Sequence[UIMessage]) -> None:
    """Take the news, and do nothing with it."""
