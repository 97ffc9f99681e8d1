"""How fast one worker and two workers empty the same queue, in one run on one machine.

All events are in log A before the turns are announced, and the workers are up and idle: what is timed is workers at
full speed, from the first announcement to an empty queue.
"""

import random
import time
from pathlib import Path

import attrs

from tests.chaos.fleet import Fleet, wait_for
from tests.chaos.producer import turn_events
from tests.kit.servers import plain_client
from turnwire.messages.event_codec import encode_event
from turnwire.runtime.bench.redis_server import RedisServer
from turnwire.runtime.logs.redis import RedisLogOptions
from turnwire.runtime.queue import Producer


@attrs.frozen
class Throughput:
    """Events per second, by number of workers."""

    turns: int
    events: int
    one: float
    two: float

    def __str__(self) -> str:
        return (
            f"throughput, {self.turns} turns with {self.events:,} events: one worker {self.one:,.0f} events/s, "
            f"two {self.two:,.0f} events/s, ratio {self.two / self.one:.2f}"
        )


def run_throughput(binary: Path, work: Path, *, turns: int = 400) -> Throughput:
    """Measure both, each on a fresh prefix of the same server."""
    rates: list[float] = []
    events = 0
    with RedisServer(binary) as server:
        for workers in (1, 2):
            prefix = f"speed{workers}"
            place = work / prefix
            place.mkdir()
            with Fleet(server.url, prefix, place) as fleet:
                fleet.start(workers)
                fleet.wait_until_up()
                events, seconds = _empty(server.url, prefix, turns)
            rates.append(events / seconds)
    return Throughput(turns, events, *rates)


def _empty(url: str, prefix: str, turns: int) -> tuple[int, float]:
    names = [f"t{at}-0" for at in range(turns)]
    count = 0
    options = RedisLogOptions(prefix=prefix)
    client = plain_client(url)
    with Producer(url, options=options) as producer, Producer(url, options=options) as writer:
        for name in names:
            events = turn_events(name, "th", random.Random(name))
            with writer._lock:
                writer._append(f"r{name}", tuple(map(encode_event, events)))  # before it is announced: only a test may
            count += len(events)
        began = time.monotonic()
        for name in names:
            producer.announce(f"r{name}", name, "th")
        wait_for(lambda: client.xlen(f"{prefix}:turns") == 0, "the queue is empty", 120.0)
        seconds = time.monotonic() - began
    client.close()
    return count, seconds
