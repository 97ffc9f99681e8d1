"""Turn a provider's stream into StreamEvents.

The input is JSON lines (one provider event per line, or a recording with its timing) or the raw body of a streamed
HTTP response; which of the two is seen from its first line. Lines that cannot be read are named on standard error,
and the rest is used. The end of the input ends the response.
"""

import argparse
import codecs
import re
import secrets
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from turnwire.messages.event_codec import encode_event
from turnwire.messages.events import StreamEvent
from turnwire.messages.json_shapes import is_object
from turnwire.messages.json_text import parse_json
from turnwire.messages.providers import ADAPTERS, Adapter
from turnwire.messages.providers.adapter import DONE_MARKER
from turnwire.messages.sse import SseParser
from turnwire.runtime.cli.lines import open_input, reason_of, write_out

NAME = "adapt"
SUMMARY = "provider events in, StreamEvents out"
EXAMPLE = """echo '{"choices": [{"delta": {"content": "Hi!"}, "finish_reason": "stop"}]}' \\
    | turnwire adapt openai-chat"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this subcommand."""
    parser.add_argument("provider", choices=sorted(ADAPTERS), metavar="PROVIDER", help=", ".join(sorted(ADAPTERS)))
    parser.add_argument("file", nargs="?", metavar="FILE", help="where to read; standard input if absent or -")
    parser.add_argument("--prompt", help="the user's prompt, told as the first item")
    parser.add_argument("--run-id", metavar="ID", help="the id of the turn (default: a fresh one)")
    parser.add_argument("--thread-id", metavar="ID", help="the id of its conversation (default: a fresh one)")
    parser.add_argument("--model", default="", help="the name of the model, for the start of the turn")
    parser.add_argument("--show-server-tools", action="store_true", help="tell of tools that the provider itself runs")


def run(args: argparse.Namespace) -> int:
    """Run the subcommand and give its exit code."""
    clock = _Clock()
    adapter = ADAPTERS[args.provider](
        run_id=args.run_id or f"run-{secrets.token_hex(4)}",
        thread_id=args.thread_id or f"thread-{secrets.token_hex(4)}",
        model_id=args.model,
        prompt=args.prompt,
        show_server_tools=args.show_server_tools,
        now=clock.now,
    )
    try:
        with open_input(args.file) as lines:
            return _adapt(adapter, lines, clock)
    except OSError as exc:
        if isinstance(exc, BrokenPipeError):
            raise  # whoever read our output has gone; that is not about the input
        print(f"turnwire adapt: {reason_of(exc)}", file=sys.stderr)
        return 2


_SSE_LINE = re.compile(rb":|(data|event|id|retry)\b")


class _Clock:
    """The time of the events: the wall clock's, moved along a recording's own times if it has any."""

    def __init__(self) -> None:
        self._began = time.time()
        self._at: float | None = None

    def now(self) -> float:
        return round(1000 * (time.time() if self._at is None else self._began + self._at))

    def set(self, at: float) -> None:
        self._at = at


def _adapt(adapter: Adapter, lines: BinaryIO, clock: _Clock) -> int:
    _write(adapter.start())
    bad = 0
    read: _SseLines | _JsonLines | None = None
    number = 0
    for number, line in enumerate(_lines(lines), 1):
        if read is None:
            line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - the mark is no part of the line
            if not line.strip():
                continue
            read = _SseLines(adapter) if _SSE_LINE.match(line) else _JsonLines(adapter, clock)
        bad += _report(number, read.take(line))
    if read is not None:
        bad += _report(number, read.end())
    _write(adapter.finish())
    return 1 if bad else 0


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Give the input's lines. One that is a single JSON document over many lines, as errors often are, is one line."""
    for line in iter(source.readline, b""):
        if line.lstrip()[:1] == b"{" and not _is_json(line):
            whole = line + source.read()
            yield from [whole] if _is_json(whole) else whole.splitlines(keepends=True)
            return
        yield line
        if line.strip():
            break
    yield from iter(source.readline, b"")


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _report(number: int, problem: str | None) -> int:
    if problem is None:
        return 0
    print(f"turnwire adapt: line {number}: {problem}", file=sys.stderr)
    return 1


class _JsonLines:
    """Reads one event per line; a recording's lines say when."""

    def __init__(self, adapter: Adapter, clock: _Clock) -> None:
        self._adapter = adapter
        self._clock = clock

    def take(self, line: bytes) -> str | None:
        text = line.strip()
        if not text:
            return None
        if text == DONE_MARKER.encode():
            _write(self._adapter.feed_data(text))
            return None
        try:
            event = parse_json(text)
        except ValueError as exc:
            return f"not JSON: {exc}"
        if not is_object(event):
            return "expected an object"
        at, inner = event.get("at"), event.get("event")
        if isinstance(at, int | float) and is_object(inner):
            self._clock.set(at)
            event = inner
        _write(self._adapter.feed(event))
        return None

    def end(self) -> str | None:
        return None


class _SseLines:
    """Reads an SSE body, line by line only so that a problem can be given a number."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._parser = SseParser()

    def take(self, line: bytes) -> str | None:
        problem = None
        for event in self._parser.feed(line):
            problem = self._feed(event.data, event.name) or problem
        return problem

    def end(self) -> str | None:
        problem = None
        for event in self._parser.finish():
            problem = self._feed(event.data, event.name) or problem
        return problem

    def _feed(self, data: str, name: str) -> str | None:
        malformed = self._adapter.counts["malformed"]
        _write(self._adapter.feed_data(data, name))
        return "the event that ends here is no JSON object" if self._adapter.counts["malformed"] > malformed else None


def _write(events: list[StreamEvent]) -> None:
    if events:
        write_out(b"".join(encode_event(event) + b"\n" for event in events))
