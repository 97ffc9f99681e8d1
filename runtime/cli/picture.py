"""A turn in the terminal: the newest state of each item, drawn anew with every emission."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.segment import Segment
from rich.text import Text

from turnwire.messages.folds import SnapshotFold
from turnwire.messages.outputs import Content, Message, Output, Thinking, ToolCall, TurnComplete

Footer: TypeAlias = Callable[[], str]


class TurnScreen:
    """Shows a turn while its block is open, as much as the terminal holds; leaves the whole of it there at the end."""

    def __init__(self, console: Console, *, footer: Footer = lambda: "") -> None:
        self._console = console
        self._footer = footer
        self._fold = SnapshotFold()
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "TurnScreen":
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)
        self._console.print(self.picture())

    def show(self, output: Output, *, rewound: bool = False) -> None:
        """Take one output in and draw the turn; `rewound` forgets what came before."""
        if rewound:
            self._fold = SnapshotFold()
        self._fold.push(output)
        self.refresh()

    def refresh(self) -> None:
        """Draw it again: the footer has something else to say."""
        self._live.update(_Tail(self.picture()), refresh=True)

    def picture(self) -> RenderableType:
        """Draw the newest state of each item."""
        snapshot = self._fold.snapshot()
        end = snapshot.terminal
        state = "running" if end is None else (end.status if isinstance(end, TurnComplete) else end.error.code)
        usage = end.usage if isinstance(end, TurnComplete) else None
        words = [f"turn {state}", self._footer(), f"{usage.total_tokens} tokens" if usage else ""]
        return Group(*map(_panel, snapshot.items), Text(" · ".join(filter(None, words)), style="dim"))


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
            text, title = Text(content.content), f"{content.origin}{busy}"
            style = "cyan" if content.origin == "user" else "green"
        case Thinking():
            text, title, style = Text(content.content, style="italic dim"), f"thinking{busy}", "magenta"
        case ToolCall():
            arguments = ", ".join(f"{key}={value!r}" for key, value in content.tool_arguments.items())
            text, title, style = Text(f"{content.tool_name}({arguments or content.content})"), f"tool{busy}", "yellow"
            if content.tool_output is not None:
                text.append(f"\n→ {content.tool_output}", style="dim")
    if content.status == "error":
        failure = ": ".join(filter(None, (content.error_code, content.error_message))) or "failed"
        text, style = text.append(f"\n{failure}", style="red"), "red"
    return Panel(text, title=title, title_align="left", border_style=style)
