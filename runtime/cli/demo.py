"""Watch a turn grow in the browser: the whole service on a free loopback port, with the page.

Prints one address and opens nothing by itself. The turn that plays there is a bundled stream at the speed it was
recorded with; it begins when somebody looks. The prompt box is answered by a script: write "again", or anything. Ctrl-C
ends it. With --terminal the turn is shown here instead, without a service.
"""

import argparse
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import trio
from rich.console import Console

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.groups import leaves
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.cli.lines import LineWriter, standard_output
from turnwire.runtime.cli.picture import TurnScreen
from turnwire.runtime.host import open_runtime
from turnwire.runtime.record import load_demo, play_turn

NAME = "demo"
SUMMARY = "watch a bundled turn grow, in the browser or in the terminal"
EXAMPLE = "turnwire demo --speed 2"

TURN, THREAD = "demo", "demo-thread"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("--speed", type=float, default=1.0, help="times as fast as it was recorded (1)")
    parser.add_argument("--port", type=int, default=0, help="listen on this port (any that is free)")
    parser.add_argument("--terminal", action="store_true", help="show the turn here; a pipe gets a line per emission")


def run(args: argparse.Namespace) -> int:
    """Be the demo until it is told to stop, or play it here to its end."""
    if not args.speed > 0:
        print("turnwire demo: --speed must be greater than 0", file=sys.stderr)
        return 2
    if not 0 <= args.port <= 65_535:
        print(f"turnwire demo: --port must be from 0 to 65535, not {args.port}", file=sys.stderr)
        return 2
    return _run_here(args.speed) if args.terminal else _run_service(args)


def _run_service(args: argparse.Namespace) -> int:
    try:
        from turnwire.runtime.demo import run_demo  # noqa: PLC0415  # an extra: say what to install
    except ModuleNotFoundError as exc:
        print(f"turnwire demo: {exc.name} is not installed; pip install 'turnwire[serve]'", file=sys.stderr)
        return 2

    logging.getLogger("turnwire").setLevel(logging.ERROR)  # a tool that fails is part of the show

    standard_output()  # or there is nowhere to print the address

    def tell(url: str) -> None:
        print(url, flush=True)
        print("open this in a browser; Ctrl-C ends it", file=sys.stderr, flush=True)

    async def main() -> None:
        await run_demo(tell, speed=args.speed, port=args.port)

    try:
        trio.run(main)
    except* OSError as group:
        for failure in leaves(group):
            print(f"turnwire demo: {getattr(failure, 'strerror', None) or failure}", file=sys.stderr)
        return_code = 1
    else:
        return_code = 0
    return return_code


def _run_here(speed: float) -> int:
    console = Console()
    if console.is_terminal:
        counts = _Counts()
        with TurnScreen(console, footer=counts.words) as screen:

            async def show(message: StreamMessage) -> None:
                counts.emissions += 1
                screen.show(decode_output(message.payload))

            trio.run(_play, show, speed, counts)
        return 0
    output = LineWriter(flush=True)

    async def write(message: StreamMessage) -> None:
        output.write(message.payload.encode())

    async def play() -> None:
        with output.until_broken:
            await _play(write, speed, _Counts())

    trio.run(play)
    output.raise_if_broken()
    return 0


class _Counts:
    """How much came in and went out."""

    def __init__(self) -> None:
        self.events = 0
        self.emissions = 0

    def words(self) -> str:
        return f"{self.events} events in, {self.emissions} messages out"


async def _play(sink: Callable[[StreamMessage], Awaitable[None]], speed: float, counts: _Counts) -> None:
    options = TurnOptions(max_latency=0.5 / speed, batch_timeout=1.0 / speed)
    async with (
        open_runtime(sink=sink, options=options) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        aclosing(play_turn(load_demo(), speed=speed)) as events,
    ):
        async for event in events:
            counts.events += 1
            await turn.send(event)
