"""A process that announces turns and publishes their events, many at any time, until its standard input ends.

What Redis acknowledged goes into the journal: `announced` (turn), `published` (turn, event ids), `ended` (turn).
"""

import argparse
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs
import trio

from tests.chaos.journal import JournalFile
from tests.chaos.writer import WORDS, wait_for_end_of_input
from tests.kit.turns import answered, begin, called, delta, finished, said, started
from turnwire.messages.events import StreamEvent
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.queue import AsyncProducer

AT_ONCE = 4  # events in one call
PACE = 0.06  # seconds between two calls, on average
PATIENCE = 60.0  # seconds: the server may be away for a while
SETTLE = 1.5  # seconds after the last turn: the producer notices by itself that its server was away


class Slot:
    """Runs one turn after the other."""

    def __init__(self, producer: AsyncProducer, journal: JournalFile, slot: int) -> None:
        self._producer = producer
        self._journal = journal
        self._slot = slot

    async def run(self, stop: trio.Event) -> None:
        """Be the task."""
        number = 0
        while not stop.is_set():
            await self._run_turn(f"t{self._slot}-{number}")
            number += 1

    async def _run_turn(self, turn: str) -> None:
        chance = random.Random(turn)
        await self._producer.announce(f"r{turn}", turn, f"th{self._slot}")
        self._journal.note("announced", turn)
        events = turn_events(turn, f"th{self._slot}", chance)
        how = chance.choices(("done", "stopped", "closed"), (0.9, 0.05, 0.05))[0]
        if how != "done":
            del events[chance.randrange(1, len(events)) :]
        for at in range(0, len(events), AT_ONCE):
            await self._publish(turn, events[at : at + AT_ONCE])
            await trio.sleep(chance.expovariate(1 / PACE))
        if how == "stopped":
            await self._producer.stop(turn_id=turn, reason="enough")
        elif how == "closed":
            await self._producer.close(f"r{turn}")
        self._journal.note("ended", turn)

    async def _publish(self, turn: str, events: Sequence[StreamEvent]) -> None:
        await self._producer.publish(f"r{turn}", events)
        self._journal.note("published", turn, [event.event_id for event in events])


def turn_events(turn: str, thread: str, chance: random.Random) -> list[StreamEvent]:
    """Make a turn: some messages that grow, side by side now and then, a tool call, an end."""
    events = [started(turn, thread)]
    for item in range(chance.randint(1, 3)):
        name, text = f"m{item}", ""
        events.append(begin(name))
        for _ in range(chance.randint(10, 60)):
            piece = " ".join(chance.choices(WORDS, k=4)) + " "
            text += piece
            events.append(delta(name, piece))
        events.append(said(name, text))
    events += [called("f", "c"), answered("o", "c", "found"), finished()]
    return [attrs.evolve(event, event_id=f"{turn}:{at}", run_id=f"r{turn}") for at, event in enumerate(events)]


async def produce(url: str, prefix: str, slots: int, journal: JournalFile) -> None:
    """Be the process."""
    options = RedisLogOptions(prefix=prefix, socket_timeout=1.0)
    async with AsyncProducer(url, options=options, patience=PATIENCE) as producer:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            for slot in range(slots):
                nursery.start_soon(partial(Slot(producer, journal, slot).run, stop), name=f"slot {slot}")
            await wait_for_end_of_input()
            stop.set()
        await trio.sleep(SETTLE)
        journal.note("counts", attrs.asdict(producer.counts))


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("journal", type=Path)
    parser.add_argument("url")
    parser.add_argument("prefix")
    parser.add_argument("--slots", type=int, default=50)
    args = parser.parse_args()
    journal = JournalFile(args.journal)
    try:
        trio.run(produce, args.url, args.prefix, args.slots, journal)
    finally:
        journal.close()


if __name__ == "__main__":
    main()
