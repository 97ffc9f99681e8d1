"""Play a bundled stream through the real actors, and watch a turn grow in the terminal.

Every change on the screen is one emission: the whole state of one item. The picture keeps no state but the newest
emission of each item.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import TypeAlias

import trio
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.segment import Segment
from rich.text import Text

from turnwire.actors.core.options import TurnOptions
from turnwire.messages.folds import SnapshotFold
from turnwire.messages.output_codec import decode_output
from turnwire.messages.outputs import Content, Message, StreamMessage, Thinking, ToolCall, TurnComplete
from turnwire.runtime.cli.lines import LineWriter
from turnwire.runtime.host import open_runtime
from turnwire.runtime.record import load_demo, play_turn

NAME = "demo"
SUMMARY = "watch a bundled turn grow in the terminal"
EXAMPLE = "turnwire demo --speed 4"

TURN, THREAD = "demo", "demo-thread"
Show: TypeAlias = Callable[[RenderableType], object]
Line: TypeAlias = Callable[[bytes], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("--speed", type=float, default=1.0, help="times as fast as it was recorded (1)")


def run(args: argparse.Namespace) -> int:
    """Play to the end."""
    if not args.speed > 0:
        print("turnwire demo: --speed must be greater than 0", file=sys.stderr)
        return 2
    console = Console()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            screen = _Screen(lambda picture: live.update(_Tail(picture), refresh=True))
            trio.run(_play, screen, args.speed)
        console.print(screen.picture())
    else:
        output = LineWriter(sys.stdout.buffer, flush=True)
        trio.run(_play_lines, _Screen(lambda _: None, line=output.write), args.speed, output)
        output.raise_if_broken()
    return 0


async def _play_lines(screen: "_Screen", speed: float, output: LineWriter) -> None:
    with output.until_broken:
        await _play(screen, speed)


async def _play(screen: "_Screen", speed: float) -> None:
    options = TurnOptions(max_latency=0.5 / speed, batch_timeout=1.0 / speed)
    async with (
        open_runtime(sink=screen, options=options) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD) as turn,
        aclosing(play_turn(load_demo(), speed=speed)) as events,
    ):
        async for event in events:
            screen.events += 1
            await turn.send(event)


class _Screen:
    """A sink that shows what it is given: as a picture on a terminal, as a line per emission elsewhere."""

    def __init__(self, show: Show, line: Line | None = None) -> None:
        self.events = 0
        self.emissions = 0
        self._fold = SnapshotFold()
        self._show = show
        self._line = line

    async def __call__(self, message: StreamMessage) -> None:
        self.emissions += 1
        output = decode_output(message.payload)
        self._fold.push(output)
        self._show(self.picture())
        if self._line is not None:
            self._line(message.payload.encode())

    def picture(self) -> RenderableType:
        """Draw the newest state of each item."""
        snapshot = self._fold.snapshot()
        end = snapshot.terminal
        state = "running" if end is None else (end.status if isinstance(end, TurnComplete) else end.error.code)
        usage = end.usage if isinstance(end, TurnComplete) else None
        tokens = f" · {usage.total_tokens} tokens" if usage else ""
        counts = f"{self.events} events in, {self.emissions} messages out{tokens}"
        footer = Text(f"turn {state} · {counts}", style="dim")
        return Group(*map(_panel, snapshot.items), footer)


class _Tail:
    """The last lines of a picture, as many as the terminal shows: what grows is at the end."""

    def __init__(self, picture: RenderableType) -> None:
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in console.render_lines(self._picture, options, pad=False)[-(console.height - 1) :]:
            yield from line
            yield Segment.line()


def _panel(content: Content) -> RenderableType:
    busy = "" if content.status in ("complete", "error") else " …"
    match content:
        case Message():
            style = "cyan" if content.origin == "user" else "green"
            return Panel(Text(content.content), title=f"{content.origin}{busy}", title_align="left", border_style=style)
        case Thinking():
            text = Text(content.content, style="italic dim")
            return Panel(text, title=f"thinking{busy}", title_align="left", border_style="magenta")
        case ToolCall():
            arguments = ", ".join(f"{key}={value!r}" for key, value in content.tool_arguments.items())
            text = Text(f"{content.tool_name}({arguments})")
            if content.tool_output is not None:
                text.append(f"\n→ {content.tool_output}", style="dim")
            return Panel(text, title=f"tool{busy}", title_align="left", border_style="yellow")
