"""A process that follows the writer's turns while the server dies, and writes down what it knew at each one's end.

It follows each slot's turns one after the other, as the writer runs them. One line on its standard input says how many
turns each slot had in all, and then it reads those to their ends and leaves.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import trio

from tests.chaos.journal import JournalFile
from tests.chaos.judge import State, learn
from turnwire.messages.entries import START
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

LATEST = 60.0  # seconds after the writer's end by which everything must have been read


class Slot:
    """One slot's turns: which is being followed, and after how many there are no more."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.turns = 0
        self.limit: int | None = None
        self.scope = trio.CancelScope()

    def stop_after(self, limit: int) -> None:
        """Follow so many turns in all. One that does not exist may be being waited for."""
        self.limit = limit
        if self.turns >= limit:
            self.scope.cancel()

    async def run(self, log: RedisLog, journal: JournalFile) -> None:
        """Follow one turn after the other."""
        with self.scope:
            while self.limit is None or self.turns < self.limit:
                await follow_turn(log, journal, f"t{self.number}-{self.turns}")
                self.turns += 1


async def follow_turn(log: RedisLog, journal: JournalFile, turn_id: str) -> None:
    """Read a turn to its end, and write down what is known then."""
    state: State = {}
    last, disorder, rewound = START, 0, 0
    async for entry in log.follow(turn_id):
        if entry.rewound:
            state.clear()
            rewound += 1
        elif entry.id <= last:
            disorder += 1
        last = entry.id
        learn(state, json.loads(entry.message.payload))
    journal.note("seen", turn_id, state, disorder, rewound)


async def read(url: str, prefix: str, slots: int, journal: JournalFile) -> None:
    """Be the process."""
    running = [Slot(number) for number in range(slots)]
    options = RedisLogOptions(prefix=prefix, socket_timeout=1.0)
    async with open_redis_log(url, options=options) as log, trio.open_nursery() as nursery:
        for slot in running:
            nursery.start_soon(partial(slot.run, log, journal), name=f"slot {slot.number}")
        limits: list[int] = json.loads(await trio.to_thread.run_sync(sys.stdin.readline))
        for slot, limit in zip(running, limits, strict=True):
            slot.stop_after(limit)
        nursery.cancel_scope.deadline = trio.current_time() + LATEST


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("journal", type=Path)
    parser.add_argument("url")
    parser.add_argument("prefix")
    parser.add_argument("--slots", type=int, default=40)
    args = parser.parse_args()
    journal = JournalFile(args.journal)
    try:
        trio.run(read, args.url, args.prefix, args.slots, journal)
    finally:
        journal.close()


if __name__ == "__main__":
    main()
