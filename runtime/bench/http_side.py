"""The side of the service in the measurement over HTTP: a process that serves turns and emits into them at a pace.

Says its address, waits for the word "go", emits, ends the turns, and lives until its standard input ends. An emission
is an item's state whose text is the moment it was made: CLOCK_MONOTONIC, which all processes of a machine share. Turns
are called turn-0, turn-1 and so on.
"""

import os
import sys
import time
from collections.abc import Iterator
from itertools import cycle

import trio

from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import Message, Output, StreamMessage, TurnComplete, TurnStarted
from turnwire.runtime.http.process import open_service
from turnwire.runtime.logs.interface import TurnLog
from turnwire.runtime.settings import HttpSettings, LimitSettings, Settings


async def serve(turns: int, per_second: float, seconds: float) -> None:
    """Be the process."""
    settings = Settings(http=HttpSettings(port=0), limits=LimitSettings(readers_per_turn=10_000))
    async with open_service(settings) as running:
        emitters = [
            Emitter(running.service.backend.log, turn_id) for turn_id in (f"turn-{number}" for number in range(turns))
        ]
        for emitter in emitters:
            await emitter.emit(TurnStarted(turn_id=emitter.turn_id, thread_id="th"))
        print(running.url, flush=True)
        async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as orders:
            await orders.receive_some()
            begun, waited = trio.current_time(), cycle(emitters)
            for number in range(round(per_second * seconds)):
                await trio.sleep_until(begun + number / per_second)
                await next(waited).emit_now()
            for emitter in emitters:
                await emitter.emit(TurnComplete(turn_id=emitter.turn_id, thread_id="th", status="complete"))
            while await orders.receive_some():
                pass


class Emitter:
    """Writes one turn's outputs into the log, as its writer does."""

    def __init__(self, log: TurnLog, turn_id: str) -> None:
        self.turn_id = turn_id
        self._log = log
        self._numbers: Iterator[int] = iter(range(1, sys.maxsize))

    async def emit_now(self) -> None:
        """Emit the moment."""
        text = str(time.monotonic_ns())
        ids = {"turn_id": self.turn_id, "thread_id": "th", "item_id": "m"}
        await self.emit(Message(**ids, status="update", content=text, origin="agent"))

    async def emit(self, output: Output) -> None:
        """Emit anything."""
        event_id = f"{self.turn_id}:1-{next(self._numbers)}"
        payload = encode_output(output)
        await self._log.append(StreamMessage(event_id=event_id, timestamp=0, turn_id=self.turn_id, payload=payload))


if __name__ == "__main__":
    trio.run(serve, int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
