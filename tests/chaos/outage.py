"""Redis is away, or does not answer, while turns run: what the producers notice, what waits meanwhile, what arrives."""

import random
from collections.abc import Callable
from functools import partial

import attrs
import trio

from tests.kit.turns import begin, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.turn import Turn
from turnwire.messages.outputs import Message, TurnComplete
from turnwire.runtime.bench.redis_server import RedisServer
from turnwire.runtime.host import Runtime, open_runtime
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

ITEMS = 3
PACE = 0.01  # seconds between two events of a turn
LOOK_EVERY = 0.02  # seconds
LEAD = 0.5  # seconds of quiet before the outage
OPTIONS = TurnOptions(
    batch_gradient=(1,), retry_attempts=None, retry_base=0.05, retry_max=0.5, retry_jitter=0.5, deadline=600
)


@attrs.define
class Outage:
    """What was seen of it."""

    seconds: float
    turns: int
    sent: int = 0
    """Events that producers got rid of while the server was away."""
    expected: int = 0
    """How many that would have been without an outage."""
    most_waiting: int = 0
    """Emissions of one turn that waited, at most."""
    behind: set[str] = attrs.field(factory=set[str])
    """Turns that have noticed it."""
    most_waiting_behind: int = 0
    """Emissions that waited, at most, of a turn that had noticed it."""
    conflated: int = 0
    caught_up_after: float = 0.0
    """Seconds from the server's return until no turn was behind."""
    wrong: list[str] = attrs.field(factory=list[str])
    """Turns whose log does not say what was sent."""

    def __str__(self) -> str:
        return (
            f"away for {self.seconds:g} s: {self.turns} turns sent {self.sent:,} of {self.expected:,} events meanwhile; at "
            f"most {self.most_waiting} emissions of a turn waited; {len(self.behind)} turns noticed it, then at most "
            f"{self.most_waiting_behind}; {self.conflated:,} were superseded; caught up in {self.caught_up_after:.2f} s; {len(self.wrong)} turns wrong: "
            f"{'FAILED' if self.wrong else 'OK'}"
        )


@attrs.define
class _Stage:
    """The turns of a run, and what was sent to them."""

    turns: dict[str, Turn] = attrs.field(factory=dict[str, Turn])
    texts: dict[str, list[str]] = attrs.field(factory=dict[str, list[str]])
    sent: int = 0
    beats: int = 0
    """How often a task that only keeps time was woken: what a producer that nobody holds up can do here and now."""
    over: bool = False

    def is_behind(self) -> bool:
        return any(turn.actor.machine.outbox.is_behind for turn in self.turns.values())


async def run_outage(
    server: RedisServer,
    *,
    prefix: str,
    seconds: float,
    turns: int = 20,
    leave: Callable[[RedisServer], None] = RedisServer.kill,
    come_back: Callable[[RedisServer], None] = RedisServer.start,
) -> Outage:
    """Let turns run, take their server away for some time, and see what comes of it."""
    outage = Outage(seconds, turns)
    stage = _Stage()
    options = RedisLogOptions(prefix=prefix, socket_timeout=0.5)
    async with open_redis_log(server.url, options=options) as log:
        async with open_runtime(sink=log, options=OPTIONS) as runtime, trio.open_nursery() as nursery:
            for number in range(turns):
                nursery.start_soon(partial(_produce, runtime, stage, f"t{number}"))
            nursery.start_soon(_keep_time, stage)
            await trio.sleep(LEAD)
            sent, beats, began = stage.sent, stage.beats, trio.current_time()
            leave(server)
            await _watch(stage, outage, began)
            outage.sent = stage.sent - sent
            outage.expected = (stage.beats - beats) * turns
            back = trio.current_time()
            await trio.to_thread.run_sync(come_back, server)
            while stage.is_behind():  # noqa: ASYNC110  # a turn tells nobody when it has caught up
                await trio.sleep(LOOK_EVERY)
            outage.caught_up_after = trio.current_time() - back
            outage.conflated = sum(turn.counts.get("conflated_emissions", 0) for turn in stage.turns.values())
            stage.over = True
        for turn_id, texts in stage.texts.items():
            if not await _arrived(log, turn_id, texts):
                outage.wrong.append(turn_id)
    return outage


async def _watch(stage: _Stage, outage: Outage, began: float) -> None:
    while trio.current_time() < began + outage.seconds:
        for turn_id, turn in stage.turns.items():
            outbox = turn.actor.machine.outbox
            outage.most_waiting = max(outage.most_waiting, len(outbox))
            if outbox.is_behind:
                outage.behind.add(turn_id)
                outage.most_waiting_behind = max(outage.most_waiting_behind, len(outbox))
        await trio.sleep(LOOK_EVERY)


async def _keep_time(stage: _Stage) -> None:
    due = trio.current_time()
    while not stage.over:
        stage.beats += 1
        due += PACE
        await trio.sleep_until(due)


async def _produce(runtime: Runtime, stage: _Stage, turn_id: str) -> None:
    """Send an event at each beat, whatever the weather, until it is over; then end."""
    chance = random.Random(turn_id)
    texts = stage.texts[turn_id] = [""] * ITEMS
    async with runtime.open_turn(turn_id=turn_id, thread_id="th") as turn:
        stage.turns[turn_id] = turn
        await turn.send(started(turn_id, "th"))
        for item in range(ITEMS):
            await turn.send(begin(f"m{item}"))
        due = trio.current_time()
        while not stage.over:
            item = chance.randrange(ITEMS)
            piece = f"{stage.sent} words "
            await turn.send(delta(f"m{item}", piece))
            texts[item] += piece
            stage.sent += 1
            due += PACE
            await trio.sleep_until(due)
        for item in range(ITEMS):
            await turn.send(said(f"m{item}", texts[item]))
        await turn.send(finished())


async def _arrived(log: RedisLog, turn_id: str, texts: list[str]) -> bool:
    snapshot = await log.snapshot(turn_id)
    there = {item.item_id: (item.status, item.content) for item in snapshot.items if isinstance(item, Message)}
    due = {f"m{item}": ("complete", text) for item, text in enumerate(texts)}
    return isinstance(snapshot.terminal, TurnComplete) and there == due
