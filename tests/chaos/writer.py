"""A process that runs turns into Redis, many at any time, until its standard input ends; then it finishes them.

Whatever the log said had arrived goes into the journal, after `append` returned and not before. `--log plain` is a log
that believes its server: the control that shows what the kills really cost.
"""

import argparse
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import redis
import trio

from tests.chaos.journal import JournalFile
from tests.kit.servers import plain_client
from tests.kit.turns import answered, begin, called, delta, finished, said, started
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.ports import Log
from turnwire.messages.events import StreamEvent
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.host import Runtime, open_runtime
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.keys import Keys
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log

WORDS = ("the", "server", "dies", "and", "comes", "back", "with", "less", "than", "it", "promised")
OPTIONS = TurnOptions(
    batch_gradient=(4,), batch_timeout=0.1, retry_attempts=None, retry_base=0.05, retry_max=0.2, retry_jitter=0.5
)
SETTLE = 1.0  # seconds after the last turn: the log notices by itself that its server was away
COUNTS_EVERY = 0.1  # seconds


class PlainLog:
    """XADD and nothing else: what the server acknowledged is taken to be kept."""

    def __init__(self, url: str, prefix: str) -> None:
        self._keys = Keys(prefix)
        self._client = plain_client(url, socket_timeout=1.0)

    async def append(self, message: StreamMessage) -> None:
        """Append; an id that is there already was appended by an earlier try."""
        await trio.to_thread.run_sync(self._add, message)

    def _add(self, message: StreamMessage) -> None:
        fields = {
            "eventId": message.event_id,
            "timestamp": message.timestamp,
            "turnId": message.turn_id,
            "payload": message.payload,
        }
        entry_id = message.event_id.rpartition(":")[2]
        try:
            self._client.xadd(self._keys.processed(message.turn_id), fields, id=entry_id)
        except redis.ResponseError as exc:
            if "equal or smaller" not in str(exc):
                raise


@asynccontextmanager
async def open_log(kind: str, url: str, prefix: str) -> AsyncGenerator[Log, None]:
    """Open the log under test, or the one that serves as control."""
    if kind == "plain":
        yield PlainLog(url, prefix)
    else:
        async with open_redis_log(url, options=RedisLogOptions(prefix=prefix, socket_timeout=1.0)) as log:
            yield log


class PlainWitness:
    """A sink that writes down what its log has acknowledged, after it did."""

    def __init__(self, log: Log, journal: JournalFile) -> None:
        self.log = log
        self.journal = journal

    async def append(self, message: StreamMessage) -> None:
        """Append one message."""
        await self.log.append(message)
        self.journal.note("ack", message.turn_id, message.event_id, message.payload)


class Witness(PlainWitness):
    """The same, of a log that takes several messages at once."""

    log: RedisLog

    async def append_many(self, messages: Sequence[StreamMessage]) -> int:
        """Append as many as the log takes."""
        taken = await self.log.append_many(messages)
        for message in messages[:taken]:
            self.journal.note("ack", message.turn_id, message.event_id, message.payload)
        return taken


async def run_slot(runtime: Runtime, journal: JournalFile, slot: int, stop: trio.Event) -> None:
    """Run one turn after the other."""
    number = 0
    while not stop.is_set():
        await run_turn(runtime, journal, f"t{slot}-{number}")
        number += 1


async def run_turn(runtime: Runtime, journal: JournalFile, turn_id: str) -> None:
    """Run a turn: some messages that grow, a tool call, an end."""
    chance = random.Random(turn_id)
    async with runtime.open_turn(turn_id=turn_id, thread_id="th") as turn:

        async def send(event: StreamEvent) -> None:
            await turn.send(event)
            journal.note("sent", turn_id, event.event_id)

        await send(started(turn_id, "th"))
        for item in range(chance.randint(1, 3)):
            name, text = f"m{item}", ""
            await send(begin(name))
            for _ in range(chance.randint(5, 40)):
                piece = " ".join(chance.choices(WORDS, k=4)) + " "
                text += piece
                await send(delta(name, piece))
                await trio.sleep(chance.expovariate(1 / 0.02))
            journal.note("said", turn_id, name, text)
            await send(said(name, text))
        await send(called("f", "c"))
        await send(answered("o", "c", "found"))
        await send(finished())
    journal.note("ended", turn_id)


async def wait_for_end_of_input() -> None:
    """Wait until whoever started us has no more to say."""
    await trio.to_thread.run_sync(input_ended, abandon_on_cancel=True)


def input_ended() -> None:
    """Read standard input to its end."""
    with Path("/dev/stdin").open("rb") as source:
        source.read()


async def note_counts(log: Log, journal: JournalFile) -> None:
    """Write down the log's own counts from time to time."""
    while True:
        journal.note("counts", counts_of(log))
        await trio.sleep(COUNTS_EVERY)


def counts_of(log: Log) -> dict[str, int]:
    """The log's counts, if it has any."""
    counts: LogCounts | None = getattr(log, "counts", None)
    return {} if counts is None else attrs.asdict(counts)


async def write(args: argparse.Namespace, journal: JournalFile) -> None:
    """Be the process."""
    stop = trio.Event()
    async with open_log(args.log, args.url, args.prefix) as log:
        raw = log if args.raw and isinstance(log, RedisLog) else None

        sink = Witness(log, journal) if isinstance(log, RedisLog) else PlainWitness(log, journal)
        async with trio.open_nursery() as around:
            around.start_soon(note_counts, log, journal)
            async with open_runtime(sink=sink, raw=raw, options=OPTIONS) as runtime, trio.open_nursery() as nursery:
                for slot in range(args.slots):
                    nursery.start_soon(partial(run_slot, runtime, journal, slot, stop), name=f"slot {slot}")
                await wait_for_end_of_input()
                stop.set()
            await trio.sleep(SETTLE)
            around.cancel_scope.cancel()
        journal.note("counts", counts_of(log))


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("journal", type=Path)
    parser.add_argument("url")
    parser.add_argument("prefix")
    parser.add_argument("--slots", type=int, default=40)
    parser.add_argument("--log", choices=("redis", "plain"), default="redis")
    parser.add_argument("--raw", action="store_true", help="write the events to the raw log too")
    args = parser.parse_args()
    journal = JournalFile(args.journal)
    try:
        trio.run(write, args, journal)
    finally:
        journal.close()


if __name__ == "__main__":
    main()
