"""The contract checker names the first event that breaks a rule."""

from collections.abc import Callable

import attrs
import pytest

from tests.kit.recordings import adapt
from tests.kit.streams import chunk
from turnwire.messages import StreamEvent
from turnwire.messages.events import FinalMessage, ItemDelta, ItemDone, ItemStart
from turnwire.messages.providers.contract import ContractError, check_contract

Events = list[StreamEvent]
GOOD = adapt("openai-chat", [chunk(content="Hel"), chunk("stop", content="lo")])
"""begin, start, two deltas, done, end."""


def again(event: StreamEvent) -> StreamEvent:
    return attrs.evolve(event, event_id=f"{event.event_id}-again")


def shorter_sum(events: Events) -> Events:
    """Leave the second delta out, so that the final text goes on where the deltas stop."""
    return [event for event in events if event is not events[3]]


SPOILT: list[tuple[Callable[[Events], Events], str, int]] = [
    (lambda events: events[1:], "C1", 0),
    (lambda events: [*events[:1], again(events[0]), *events[1:]], "C1", 1),
    (lambda events: [*events, again(events[2])], "C3", 6),
    (lambda events: events[:-1], "C3", 5),
    (lambda events: [*events[:4], events[5]], "C4", 4),
    (lambda events: [*events[:5], again(events[4]), events[5]], "C4", 5),
    (lambda events: [*events[:1], *events[2:]], "C4", 1),
    (shorter_sum, "C5", 3),
    (lambda events: [*events[:5], again(events[1]), events[5]], "C6", 5),
    (lambda events: [*events[:3], events[2], *events[3:]], "C6", 3),
]


@pytest.mark.parametrize(("spoil", "rule", "position"), SPOILT)
def test_each_breach_is_named(spoil: Callable[[Events], Events], rule: str, position: int) -> None:
    """Rule, place and event are told."""
    check_contract(GOOD)
    spoiled = spoil(GOOD)
    with pytest.raises(ContractError) as caught:
        check_contract(spoiled)
    assert (caught.value.rule, caught.value.position) == (rule, position)
    assert caught.value.event_id == (spoiled[position].event_id if position < len(spoiled) else None)


def test_a_final_text_that_no_delta_could_reach_is_allowed() -> None:
    """C5 lets the final item stand alone when it does not begin with what was sent."""
    kinds = [type(event.payload) for event in GOOD]
    assert kinds[1:5] == [ItemStart, ItemDelta, ItemDelta, ItemDone]
    done = GOOD[4].payload
    assert isinstance(done, ItemDone)
    assert isinstance(done.final_item, FinalMessage)
    rewritten = attrs.evolve(done, final_item=attrs.evolve(done.final_item, content="Hallo"))
    check_contract([*GOOD[:4], attrs.evolve(GOOD[4], payload=rewritten), GOOD[5]])
