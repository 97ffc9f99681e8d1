"""What holds for any stream, any cut, any timing and any sink: through the real actors, under a virtual clock."""

import random
from collections import defaultdict
from itertools import pairwise

import attrs
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.kit.turns import THREAD, TURN, RecordingSink, begin, brief, cancelled, delta, failed, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages import Message, Output, StreamEvent, StreamMessage
from turnwire.runtime import open_runtime

TEXT = st.text(alphabet=st.sampled_from("ab 😀é\n"), max_size=300)
PAUSE = st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.3, 0.999, 1.0, 1.5, 3.0])
ENDS = st.sampled_from(["said", "open", "failed", "cancelled"])


@attrs.frozen
class Play:
    """A turn's events with the pauses before them, and what its items must come to."""

    steps: list[tuple[float, StreamEvent]]
    texts: dict[str, str]
    ends: dict[str, str]


@st.composite
def plays(draw: st.DrawFn) -> Play:
    steps: list[tuple[float, StreamEvent]] = [(0.0, started())]
    texts = {f"m{number}": draw(TEXT) for number in range(draw(st.integers(1, 3)))}
    ends = {item_id: draw(ENDS) for item_id in texts}
    queues: list[list[StreamEvent]] = []
    for item_id, text in texts.items():
        units = text.encode("utf-16-le")  # cut anywhere between code units, in the middle of an emoji too
        cuts = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=6)))
        bounds = [0, *cuts, len(units) // 2]
        parts = [units[2 * a : 2 * b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(bounds)]
        queue = [begin(item_id), *(delta(item_id, part) for part in parts)]
        match ends[item_id]:
            case "said":
                queue.append(said(item_id, text))
            case "failed":
                queue.append(failed(item_id))
            case "cancelled":
                queue.append(cancelled(item_id))
            case _:
                pass
        queues.append(queue)
    while queues:
        queue = draw(st.sampled_from(queues))
        steps.append((draw(PAUSE), queue.pop(0)))
        queues = [queue for queue in queues if queue]
    if draw(st.booleans()):
        steps.append((draw(PAUSE), finished()))
    return Play(steps, texts, ends)


def perform(play: Play, sink: RecordingSink, options: TurnOptions) -> list[tuple[float, str, int]]:
    """Run a play and give what the sink was told: when, what, and under which timestamp."""

    async def main() -> None:
        async with (
            open_runtime(sink=sink, timestamps=lambda at: round(at * 1000)) as runtime,
            runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=options) as turn,
        ):
            for pause, event in play.steps:
                if pause:
                    await trio.sleep(pause)
                await turn.send(event)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return [
        (when, brief(output), message.timestamp)
        for when, output, message in zip(sink.times, sink.outputs, sink.messages, strict=True)
    ]


class MoodySink(RecordingSink):
    """Slow by chance, failing by chance, but never for good."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chance = random.Random(seed)

    async def __call__(self, message: StreamMessage) -> None:
        if self.chance.random() < 0.3:
            raise OSError("not now")
        await trio.sleep(self.chance.choice([0.0, 0.0, 0.05, 2.0]))
        await super().__call__(message)


def check(play: Play, outputs: list[Output]) -> None:
    statuses: dict[str, list[str]] = defaultdict(list)
    contents: dict[str, list[str]] = defaultdict(list)
    for output in outputs:
        if isinstance(output, Message):
            statuses[output.item_id].append(output.status)
            contents[output.item_id].append(output.content)
    for item_id, said_statuses in statuses.items():
        head, *rest = said_statuses
        if head == "create":
            *middle, last = rest or ["update"]
            assert set(middle) <= {"update"}
            assert last in ("update", "complete", "error")
        else:
            assert head in ("complete", "error")
            assert rest == []
        for shorter, longer in pairwise(contents[item_id]):
            assert longer.startswith(shorter)
        for content in contents[item_id]:
            content.encode()  # no half of a surrogate pair
        if play.ends[item_id] != "cancelled":
            assert contents[item_id][-1] == play.texts[item_id]
    for item_id, text in play.texts.items():
        if text and play.ends[item_id] in ("said", "failed", "open"):
            assert item_id in statuses
    kinds = [brief(output).split()[0] for output in outputs]
    terminals = [kind for kind in kinds if kind in ("turn_complete", "turn_error")]
    assert len(terminals) <= 1
    assert kinds[-1:] == terminals or not terminals


GRADIENTS = st.lists(st.integers(1, 30), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(play=plays(), gradient=GRADIENTS)
def test_any_split_and_timing_gives_whole_texts_in_order(play: Play, gradient: list[int]) -> None:
    """The last output of an item carries its whole text; statuses and prefixes are as promised."""
    sink = RecordingSink()
    perform(play, sink, TurnOptions(batch_gradient=gradient))
    check(play, sink.outputs)


@settings(max_examples=100, deadline=None)
@given(play=plays(), gradient=GRADIENTS, seed=st.integers(0, 10_000), limit=st.sampled_from([1, 2, 64]))
def test_a_slow_and_failing_sink_changes_none_of_it(play: Play, gradient: list[int], seed: int, limit: int) -> None:
    """Also when the backlog is conflated: final states arrive, in order."""
    sink = MoodySink(seed)
    options = TurnOptions(batch_gradient=gradient, retry_attempts=None, retry_base=0.1, outbox_limit=limit)
    perform(play, sink, options)
    check(play, sink.outputs)


@settings(max_examples=75, deadline=None)
@given(play=plays(), gradient=GRADIENTS, latency=st.sampled_from([None, 0.2, 1.0]))
def test_the_same_events_at_the_same_times_give_the_same(
    play: Play, gradient: list[int], latency: float | None
) -> None:
    """Twice the same run: outputs, order and timestamps, whichever task woke first."""
    options = TurnOptions(batch_gradient=gradient, max_latency=latency)
    assert perform(play, RecordingSink(), options) == perform(play, RecordingSink(), options)


def rehearse(play: Play, options: TurnOptions) -> list[tuple[str, int]]:
    """Run a play through the rules alone, with no task, no channel and no clock."""
    machine, now = TurnMachine(TURN, THREAD, options), 0.0
    told: list[tuple[str, int]] = []

    def take() -> None:
        while (emission := machine.outbox.take()) is not None:
            told.append((brief(emission.output), round(emission.at * 1000)))
            machine.outbox.delivered(now=now)

    for pause, event in play.steps:
        now += pause
        machine.push(event.event_id, event.payload, now=now)
        take()
    machine.close(now=now)
    take()
    return told


@settings(max_examples=200, deadline=None)
@given(
    play=plays(),
    gradient=GRADIENTS,
    latency=st.sampled_from([None, 0.1, 0.7]),
    channel=st.sampled_from([1, 2, 63, 65, 100, 256]),
)
def test_the_actors_do_just_what_the_rules_alone_do(
    play: Play, gradient: list[int], latency: float | None, channel: int
) -> None:
    """Tasks, channel and wake-ups change nothing: same outputs, same order, same moments, and none told late."""
    options = TurnOptions(batch_gradient=gradient, max_latency=latency, channel_size=channel)
    performed = perform(play, RecordingSink(), options)
    assert [(text, stamp) for _, text, stamp in performed] == rehearse(play, options)
    for when, _, stamp in performed:
        assert abs(when * 1000 - stamp) <= 1
