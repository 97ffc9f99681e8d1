"""One program for both backends of AnyIO: on Trio the runtime runs directly, on asyncio beside the loop.

Try:    python examples/anyio_app.py --backend trio
        python examples/anyio_app.py --backend asyncio
Watch:  the output is the same, and the sink is awaited on the host's own loop both times. The second turn is cut by a
        timeout of AnyIO's; what it had said until then still reached the sink.
"""

import argparse
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel

from turnwire.messages import StreamEvent, StreamMessage
from turnwire.runtime import Hosted, MemoryLog, open_hosted
from turnwire.runtime.record import load_demo


async def model(*, stalls: bool) -> AsyncIterator[StreamEvent]:
    """Give the bundled stream, as an AnyIO program would read it from its own client."""
    for number, line in enumerate(load_demo()):
        if stalls and number == 40:
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        if isinstance(line.event, StreamEvent):
            yield line.event


async def show(message: StreamMessage) -> None:
    """Be the sink: awaited on the host's loop, so all of AnyIO works in here."""
    await anyio.lowlevel.checkpoint()
    print(f"{message.event_id}: {len(message.payload)} bytes")


async def read(hosted: Hosted, log: MemoryLog, turn_id: str) -> None:
    """Follow a turn in a log, which lives on Trio's side."""
    async with hosted.iterate(log.follow(turn_id)) as entries:
        count = len([entry async for entry in entries])
    print(f"a reader of {turn_id} was told {'something' if count else 'nothing'}")


async def main() -> None:
    """Run a turn with a reader, then one that times out."""
    log = MemoryLog()
    async with open_hosted(sink=log) as hosted:
        summary = ""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, hosted, log, "demo")
            snapshot = await hosted.run_turn(model(stalls=False), turn_id="demo", thread_id="demo-thread")
            summary = f"demo: {len(snapshot.items)} items, {type(snapshot.terminal).__name__}"
        print(summary)  # out here: which of the two ends first is up to the loop
        turn = hosted.open_turn(turn_id="demo", thread_id="demo-thread", sink=show)
        with anyio.move_on_after(0.2) as scope:
            async with turn:
                async for event in model(stalls=True):
                    await turn.send(event)
        print(f"again: timed out is {scope.cancelled_caught}, still {len(turn.snapshot().items)} items")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    anyio.run(main, backend=parser.parse_args().backend)
