"""What waits between a turn and its writer, rule by rule, and what holds for any sequence of them."""

from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actors.core.plays import message, thinking, tool
from turnwire.actors.core.outbox import Emission, Outbox
from turnwire.messages.outputs import Content, Output, TurnComplete, TurnStarted

STARTED = TurnStarted(turn_id="turn-1", thread_id="thread-1")
ENDED = TurnComplete(turn_id="turn-1", thread_id="thread-1", status="complete")


def add(outbox: Outbox, *outputs: Output, at: float = 0.0, size: int = 10) -> None:
    for output in outputs:
        outbox.add(output, at=at, size=size)


def drain(outbox: Outbox, now: float = 0.0) -> list[Output]:
    delivered = list[Output]()
    while (emission := outbox.take()) is not None:
        delivered.append(emission.output)
        outbox.delivered(now=now)
    return delivered


def behind(**options: Any) -> Outbox:
    """An outbox whose sink is behind, with a head in flight and nothing else waiting."""
    outbox = Outbox(limit=1, patience=0.25, **options)
    add(outbox, STARTED, STARTED)
    outbox.take()
    assert outbox.open_at(0.25)
    assert outbox.is_behind
    outbox.delivered(now=0.25)
    assert outbox.take() is not None
    assert outbox.is_behind
    return outbox


def test_an_empty_outbox_has_nothing_to_take() -> None:
    """Nothing waits, nothing is in flight, more may come."""
    outbox = Outbox()
    assert outbox.take() is None
    assert outbox.is_empty
    assert len(outbox) == 0
    assert outbox.open_at(0.0)
    assert outbox.asks_again_at == inf


def test_everything_is_delivered_as_it_was_made() -> None:
    """As long as the sink is not behind, no state is left out."""
    outbox = Outbox()
    made: list[Output] = [STARTED, message("create", "1"), message("update", "2"), message("complete", "3"), ENDED]
    add(outbox, *made)
    assert drain(outbox) == made
    assert outbox.conflated == 0


def test_the_head_stays_until_it_was_delivered() -> None:
    """Taking twice gives the same emission: a cancelled writer has lost nothing."""
    outbox = Outbox()
    add(outbox, STARTED, ENDED)
    first = outbox.take()
    assert first is not None
    assert outbox.take() is first
    assert not outbox.is_empty
    outbox.delivered(now=0.0)
    second = outbox.take()
    assert second is not None
    assert second.output == ENDED


def test_delivered_without_a_head_is_a_bug() -> None:
    """Nothing in flight cannot be delivered."""
    with pytest.raises(RuntimeError):
        Outbox().delivered(now=0.0)


def test_at_the_limit_the_actor_waits() -> None:
    """Sixty-four may wait; with that many there the actor waits for the writer."""
    outbox = Outbox()
    for number in range(63):
        add(outbox, message("create", "x", str(number)))
    assert outbox.open_at(0.0)
    add(outbox, message("create", "x", "last"))
    assert not outbox.open_at(0.0)
    assert not outbox.is_behind


def test_a_delivery_makes_room() -> None:
    """The actor goes on when the writer has got on in time."""
    outbox = Outbox(limit=2)
    add(outbox, STARTED, message("create", "1"))
    assert not outbox.open_at(0.1)
    outbox.take()
    outbox.delivered(now=0.1)
    assert outbox.open_at(0.1)
    assert not outbox.is_behind


def test_the_outbox_says_when_to_ask_again() -> None:
    """Having said no, it could say yes when its oldest emission has waited out the patience."""
    outbox = Outbox(limit=1, patience=0.25)
    add(outbox, STARTED, at=5.0)
    add(outbox, ENDED, at=6.0)
    assert not outbox.open_at(5.2)
    assert outbox.asks_again_at == 5.25
    assert outbox.open_at(5.25)
    assert outbox.is_behind
    assert outbox.asks_again_at == inf


def test_below_the_limit_patience_does_not_matter() -> None:
    """A slow sink with little to do is not behind."""
    outbox = Outbox(limit=3, patience=0.25)
    add(outbox, message("create", "1"), message("update", "2"))
    assert outbox.open_at(1000.0)
    assert not outbox.is_behind
    assert len(outbox) == 2


def test_the_emission_in_flight_counts_as_the_oldest() -> None:
    """How long the sink has been holding its head is what patience is about."""
    outbox = Outbox(limit=1, patience=0.25)
    add(outbox, STARTED, at=0.0)
    outbox.take()
    add(outbox, ENDED, at=10.0)
    assert outbox.asks_again_at == 0.25


def test_endless_patience_never_conflates() -> None:
    """With patience inf the actor waits for the sink, whatever happens."""
    outbox = Outbox(limit=2, patience=inf)
    add(outbox, message("create", "1"), message("update", "2"))
    assert not outbox.open_at(1e9)
    assert outbox.asks_again_at == inf
    assert len(outbox) == 2


def test_falling_behind_keeps_the_newest_state_of_each_item() -> None:
    """Of one item only the newest waits, at the place of the newest, as a create if the create had not gone."""
    outbox = Outbox(limit=4)
    add(outbox, message("create", "a1", "a"), message("create", "b1", "b"), message("update", "a2", "a"))
    add(outbox, thinking("create", "t1", "t"), message("update", "b2", "b"))
    assert outbox.open_at(0.25)
    assert drain(outbox) == [message("create", "a2", "a"), thinking("create", "t1", "t"), message("create", "b2", "b")]
    assert outbox.conflated == 2


def test_the_emission_in_flight_is_left_alone() -> None:
    """What the sink is working on stays; the newer state follows as the update it is."""
    outbox = Outbox(limit=1)
    add(outbox, message("create", "1"))
    head = outbox.take()
    add(outbox, message("update", "2"), message("update", "3"))
    assert outbox.open_at(0.25)
    assert head is not None
    assert head.output == message("create", "1")
    assert drain(outbox) == [message("create", "1"), message("update", "3")]


def test_behind_a_newer_state_joins_at_the_end() -> None:
    """The superseded one is taken out; order of delivery is order of making."""
    outbox = behind()
    add(outbox, message("create", "a1", "a"), message("create", "b1", "b"), message("update", "a2", "a"), at=1.0)
    assert len(outbox) == 2
    assert drain(outbox, 1.0)[1:] == [message("create", "b1", "b"), message("create", "a2", "a")]


@pytest.mark.parametrize("status", ["complete", "error"])
def test_behind_an_end_supersedes_a_create_and_an_update(status: str) -> None:
    """A waiting create that meets its end is just the end; likewise an update."""
    outbox = behind()
    add(outbox, message("create", "1", "a"), message(status, "2", "a"), at=1.0)
    add(outbox, message("update", "1", "b"), message(status, "2", "b"), at=1.0)
    assert drain(outbox, 1.0)[1:] == [message(status, "2", "a"), message(status, "2", "b")]


def test_behind_an_update_stays_an_update() -> None:
    """When its create has gone the newest state is an update."""
    outbox = behind()
    add(outbox, message("update", "1"), message("update", "2"), at=1.0)
    assert drain(outbox, 1.0)[1:] == [message("update", "2")]


def test_behind_a_tool_call_may_be_one_single_complete() -> None:
    """The output of a call supersedes its waiting create."""
    outbox = behind()
    add(outbox, tool("create"), tool("complete", tool_output="ok"), at=1.0)
    assert drain(outbox, 1.0)[1:] == [tool("complete", tool_output="ok")]


def test_behind_turn_events_are_never_conflated() -> None:
    """Starts and ends of turns all wait."""
    outbox = behind()
    add(outbox, STARTED, STARTED, ENDED, at=1.0)
    assert drain(outbox, 1.0)[1:] == [STARTED, STARTED, ENDED]


def test_behind_a_cancellation_takes_a_waiting_create_out() -> None:
    """An item that nobody saw vanishes."""
    outbox = behind()
    add(outbox, message("create", "1", "a"), message("update", "2", "a"), message("create", "1", "b"), at=1.0)
    assert outbox.withdraw_create("a")
    assert drain(outbox, 1.0)[1:] == [message("create", "1", "b")]


def test_behind_a_cancellation_leaves_an_update() -> None:
    """What readers have seen is not taken back."""
    outbox = behind()
    add(outbox, message("update", "2"), at=1.0)
    assert not outbox.withdraw_create("a")
    assert drain(outbox, 1.0)[1:] == [message("update", "2")]


def test_a_cancellation_leaves_a_create_that_is_in_flight() -> None:
    """What the sink is working on stays."""
    outbox = behind()
    add(outbox, message("create", "1"), message("create", "1", "b"), at=1.0)
    outbox.delivered(now=2.0)
    outbox.take()
    assert not outbox.withdraw_create("a")
    assert drain(outbox, 2.0) == [message("create", "1"), message("create", "1", "b")]


def test_not_behind_a_cancellation_leaves_everything() -> None:
    """Emissions are delivered as they were made."""
    outbox = Outbox()
    add(outbox, message("create", "1"))
    assert not outbox.withdraw_create("a")
    assert not outbox.withdraw_create("nobody")
    assert drain(outbox) == [message("create", "1")]


def test_behind_ends_when_the_oldest_is_young_again() -> None:
    """A sink that has caught up gets every state again."""
    outbox = behind()
    add(outbox, message("create", "1"), at=1.0)
    outbox.delivered(now=1.1)
    assert not outbox.is_behind
    add(outbox, message("update", "2"), at=1.1)
    assert drain(outbox, 1.1) == [message("create", "1"), message("update", "2")]


def test_behind_lasts_while_the_oldest_is_old() -> None:
    """One delivery is not enough if the next in line has waited too long as well."""
    outbox = behind()
    add(outbox, message("create", "1"), at=1.0)
    outbox.delivered(now=1.25)
    assert outbox.is_behind


def test_behind_ends_when_nothing_is_left() -> None:
    """An empty outbox has caught up."""
    outbox = behind()
    outbox.delivered(now=100.0)
    assert not outbox.is_behind


def test_a_producer_is_not_held_up_by_an_outage() -> None:
    """Behind, an item may be updated for ever: one state waits."""
    outbox = behind()
    for number in range(1000):
        assert outbox.open_at(1.0)
        add(outbox, message("update", str(number)), at=1.0)
    assert len(outbox) == 1


def test_past_the_hard_count_the_actor_waits_even_behind() -> None:
    """Back-pressure, never loss: nothing is dropped, and room comes only by delivery."""
    outbox = behind(hard_limit=3)
    for number in range(3):
        assert outbox.open_at(1.0)
        add(outbox, message("create", "x", str(number)), at=1.0)
    assert not outbox.open_at(1000.0)
    assert outbox.asks_again_at == inf
    outbox.delivered(now=1000.0)
    outbox.take()
    assert outbox.open_at(1000.0)


def test_past_the_hard_bytes_the_actor_waits_even_behind() -> None:
    """The same for bytes; superseded states give theirs back."""
    outbox = behind(hard_bytes=1000)
    add(outbox, message("create", "1"), at=1.0, size=900)
    assert outbox.open_at(1.0)
    add(outbox, message("update", "2"), at=1.0, size=950)
    assert outbox.open_at(1.0)
    add(outbox, message("create", "x", "b"), at=1.0, size=100)
    assert not outbox.open_at(1000.0)


def test_past_the_hard_bytes_the_actor_waits_below_the_limit() -> None:
    """A few huge emissions are enough to wait for."""
    outbox = Outbox(hard_bytes=1000)
    add(outbox, message("create", "1"), size=1000)
    assert not outbox.open_at(0.0)


def test_few_huge_states_conflate_when_patience_is_over() -> None:
    """Asking at the moment the outbox named is of use: a sink that is behind with bytes is behind."""
    outbox = Outbox(hard_bytes=1000, patience=0.25)
    add(outbox, STARTED)
    outbox.take()
    add(outbox, message("create", "1"), message("update", "2"), message("update", "3"), size=400)
    assert not outbox.open_at(0.0)
    assert outbox.asks_again_at == 0.25
    assert outbox.open_at(0.25)
    assert drain(outbox)[1:] == [message("create", "3")]


def test_an_outbox_that_says_no_for_good_asks_for_no_alarm() -> None:
    """The moment to ask again is never one at which the answer is no again and the moment has not moved."""
    outbox = Outbox(hard_bytes=1000, patience=0.25)
    add(outbox, message("create", "1", "a"), message("create", "1", "b"), size=600)
    assert not outbox.open_at(0.25)
    assert outbox.asks_again_at > 0.25


def test_the_hard_count_holds_below_the_limit_too() -> None:
    """Options may set the hard limit lower than the soft one; the lower one counts."""
    outbox = Outbox(limit=100, hard_limit=2)
    add(outbox, STARTED, ENDED)
    assert not outbox.open_at(0.0)


def test_bytes_are_given_back_on_delivery() -> None:
    """What was delivered weighs nothing."""
    outbox = Outbox(hard_bytes=100)
    for _ in range(50):
        add(outbox, STARTED, size=99)
        outbox.take()
        outbox.delivered(now=0.0)
    assert outbox.open_at(0.0)


def test_giving_up_drops_the_head_alone() -> None:
    """An emission that cannot be worded makes way for the next."""
    outbox = Outbox()
    add(outbox, STARTED, ENDED)
    head = outbox.take()
    assert head is not None
    outbox.give_up(head)
    outbox.give_up(head)
    assert drain(outbox) == [ENDED]


def test_clearing_counts_what_is_lost() -> None:
    """What cannot be delivered is counted, the head included."""
    outbox = behind()
    add(outbox, message("create", "1"), message("create", "1", "b"), at=1.0)
    assert outbox.clear() == 3
    assert outbox.is_empty
    assert not outbox.is_behind
    assert outbox.open_at(0.0)
    assert outbox.clear() == 0


def test_a_serial_is_held_until_it_was_delivered() -> None:
    """A flush waits for what was made up to it, and for no more."""
    outbox = Outbox()
    add(outbox, STARTED, message("create", "1"))
    mark = outbox.made
    add(outbox, ENDED)
    outbox.take()
    outbox.delivered(now=0.0)
    assert outbox.holds_up_to(mark)
    outbox.take()
    assert outbox.holds_up_to(mark)
    outbox.delivered(now=0.0)
    assert not outbox.holds_up_to(mark)


def test_a_superseded_serial_is_held_by_what_superseded_it() -> None:
    """News that moved into a newer state is delivered with that one."""
    outbox = behind()
    add(outbox, message("update", "1"), at=1.0)
    mark = outbox.made
    add(outbox, message("create", "1", "b"), message("update", "2"), at=1.0)
    outbox.delivered(now=5.0)
    outbox.take()
    outbox.delivered(now=5.0)
    assert outbox.holds_up_to(mark)
    assert drain(outbox, 5.0) == [message("update", "2")]
    assert not outbox.holds_up_to(mark)


# Properties

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("item"), st.sampled_from("abc")),
        st.tuples(st.just("end"), st.sampled_from("abc")),
        st.tuples(st.just("turn"), st.just("")),
        st.tuples(st.just("take"), st.just("")),
        st.tuples(st.just("deliver"), st.just("")),
        st.tuples(st.just("wait"), st.sampled_from(["0.1", "0.3"])),
        st.tuples(st.just("ask"), st.just("")),
    ),
    max_size=80,
)


class Outage:
    """A turn that makes emissions as the outbox allows, and a sink that takes them as it likes."""

    def __init__(self, limit: int) -> None:
        self.outbox = Outbox(limit=limit, patience=0.25)
        self.now = 0.0
        self.made: list[Output] = []
        self.delivered: list[Output] = []
        self.serials: list[int] = []
        self.was_behind = False
        self._lives: dict[str, int] = {}
        self._begun: set[str] = set()

    def step(self, act: str, what: str) -> None:
        match act:
            case "item" | "end":
                if self.outbox.open_at(self.now):
                    self._item(what, ends=act == "end")
            case "turn":
                self._make(TurnStarted(turn_id="turn-1", thread_id="thread-1", model_id=str(len(self.made))))
            case "take":
                self.outbox.take()
            case "deliver":
                self.deliver()
            case "wait":
                self.now += float(what)
            case _:
                self.outbox.open_at(self.now)
        self.was_behind = self.was_behind or self.outbox.is_behind
        if self.outbox.is_behind:
            waiting = [item_of(emission) for emission in self.outbox._waiting.values()]
            items = [item for item in waiting if item]
            assert len(items) == len(set(items))

    def deliver(self) -> bool:
        emission: Emission | None = self.outbox.take()
        if emission is None:
            return False
        self.delivered.append(emission.output)
        self.serials.append(emission.serial)
        self.outbox.delivered(now=self.now)
        return True

    def _item(self, name: str, *, ends: bool) -> None:
        item_id = f"{name}{self._lives.get(name, 0)}"
        text = str(len(self.made))
        if ends:
            self._lives[name] = self._lives.get(name, 0) + 1
            self._make(message("complete" if len(self.made) % 2 else "error", text, item_id))
        else:
            self._make(message("update" if item_id in self._begun else "create", text, item_id))
            self._begun.add(item_id)

    def _make(self, output: Output) -> None:
        self.made.append(output)
        self.outbox.add(output, at=self.now, size=10)


def item_of(emission: Emission) -> str:
    return "" if isinstance(emission.output, TurnStarted) else getattr(emission.output, "item_id", "")


def states(outputs: list[Output]) -> dict[str, list[Content]]:
    items: dict[str, list[Content]] = {}
    for output in outputs:
        if not isinstance(output, TurnStarted | TurnComplete) and hasattr(output, "item_id"):
            content: Any = output
            items.setdefault(content.item_id, []).append(content)
    return items


@settings(max_examples=400, deadline=None)
@given(steps=STEPS, limit=st.integers(1, 6))
def test_whatever_the_sink_does_no_final_state_is_lost(steps: list[tuple[str, str]], limit: int) -> None:
    """Order, statuses, newest states and turn events survive any outage; without one nothing is left out."""
    outage = Outage(limit)
    for act, what in steps:
        outage.step(act, what)
    while outage.deliver():
        pass
    made, delivered = states(outage.made), states(outage.delivered)
    assert outage.serials == sorted(set(outage.serials))
    assert [o for o in outage.delivered if isinstance(o, TurnStarted)] == [
        o for o in outage.made if isinstance(o, TurnStarted)
    ]
    assert made.keys() == delivered.keys()
    for item_id, outputs in delivered.items():
        assert outputs[-1].content == made[item_id][-1].content
        if outputs[-1].status in ("complete", "error"):
            assert outputs[-1] == made[item_id][-1]
        statuses = [output.status for output in outputs]
        assert statuses[0] != "update"
        assert all(status == "update" for status in statuses[1:-1])
        assert len(statuses) == 1 or (statuses[0] == "create" and statuses[-1] != "create")
    if not outage.was_behind:
        assert outage.delivered == outage.made
        assert outage.outbox.conflated == 0
    assert len(outage.delivered) + outage.outbox.conflated == len(outage.made)
    assert outage.outbox.is_empty
    assert outage.outbox._bytes == 0
