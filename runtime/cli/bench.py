"""Measure this machine: what an event costs on its way from JSON bytes to a sink, as a multiple of the floor.

The floor decodes with orjson, appends, tests the threshold and encodes the same emissions in a plain loop with no
tasks. All numbers of a line come from one run, so ratios hold on any machine; the microseconds are this machine's.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import attrs
from redis.exceptions import RedisError
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from turnwire.messages.json_text import dump_json
from turnwire.runtime.bench.adapters import AdapterCost, measure_adapters
from turnwire.runtime.bench.conversation import LOADS, ConversationCosts, measure_conversations
from turnwire.runtime.bench.growth import LENGTHS, GrowthRow, measure_growth
from turnwire.runtime.bench.http_readers import HttpCosts, measure_http
from turnwire.runtime.bench.latency import PER_SECOND, TURNS, Latency, measure_latency
from turnwire.runtime.bench.memory import measure_memory
from turnwire.runtime.bench.pipeline import SHAPES, SOURCES, PipelineRow, measure
from turnwire.runtime.bench.plot import Series, draw_costs
from turnwire.runtime.bench.redis_section import DURABLE, RedisResults, as_json, measure_redis
from turnwire.runtime.cli.bench_http import print_http
from turnwire.runtime.cli.bench_redis import print_redis

NAME = "bench"
SUMMARY = "measure this machine: the table of the README, with ratios against the floor"
EXAMPLE = "turnwire bench --repeats 1 --only pipeline"

SECTIONS = ("pipeline", "memory", "latency", "growth", "adapters", "conversation")
Tick: TypeAlias = Callable[[], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs per line; the best counts (3)")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="just this section; may be repeated")
    parser.add_argument(
        "--redis",
        nargs="?",
        const="",
        metavar="URL",
        help="measure the path to Redis instead: at this server (its own keys are removed), or at one started for it",
    )
    parser.add_argument("--http", action="store_true", help="measure the service instead: 1,000 readers over HTTP")
    parser.add_argument("--plot", metavar="FILE", help="draw costs against lengths into this SVG file too")


@attrs.define
class Results:
    """Everything that was measured."""

    pipeline: list[PipelineRow] = attrs.field(factory=list)
    memory: float | None = None
    latency: Latency | None = None
    growth: list[GrowthRow] = attrs.field(factory=list)
    adapters: list[AdapterCost] = attrs.field(factory=list)
    redis: RedisResults | None = None
    http: HttpCosts | None = None
    conversation: ConversationCosts | None = None


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    sections = args.only or (() if args.redis is not None or args.http else SECTIONS)
    if args.repeats < 1:
        print("turnwire bench: --repeats must be 1 or more", file=sys.stderr)
        return 2
    if args.http and find_spec("starlette") is None:  # the service has a process of its own: a trace there helps nobody
        print("turnwire bench: starlette is not installed; pip install 'turnwire[serve]'", file=sys.stderr)
        return 2
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        results = _measure(sections, args.repeats, progress)
        if args.redis is not None:
            with _bar(progress, "Redis", (1 if args.redis else 1 + len(DURABLE)) * args.repeats + 3) as tick:
                try:
                    results.redis = measure_redis(args.redis, repeats=args.repeats, progress=tick)
                except (RuntimeError, ValueError, RedisError) as exc:
                    print(f"turnwire bench: {exc}", file=sys.stderr)
                    return 2
        if args.http:
            with _bar(progress, "HTTP", args.repeats) as tick:
                try:
                    results.http = measure_http(repeats=args.repeats, progress=tick)
                except RuntimeError as exc:
                    print(f"turnwire bench: {exc}", file=sys.stderr)
                    return 2
    if args.json:
        print(dump_json(_as_json(results)).decode())
    else:
        _print(results)
    return 0 if args.plot is None else _plot(results, args.plot)


def _measure(sections: Iterable[str], repeats: int, progress: Progress) -> Results:
    results = Results()
    if "memory" in sections:  # first: it runs in a process of its own, on a machine that is not yet warm
        results.memory = measure_memory()
    if "pipeline" in sections:
        with _bar(progress, "turns", len(SHAPES) * len(SOURCES) * repeats) as tick:
            results.pipeline = [row for shape in SHAPES for row in measure(shape, repeats=repeats, progress=tick)]
    if "latency" in sections:
        results.latency = measure_latency()
    if "growth" in sections:
        with _bar(progress, "long texts", len(LENGTHS) * repeats) as tick:
            results.growth = list(measure_growth(repeats=repeats, progress=tick))
    if "adapters" in sections:
        results.adapters = list(measure_adapters())
    if "conversation" in sections:
        with _bar(progress, "conversations", sum(len(load.sizes) for load in LOADS)) as tick:
            results.conversation = measure_conversations(loads=LOADS, repeats=repeats, progress=tick)
    return results


class _bar:  # noqa: N801  # used like a function
    """A progress bar for the length of a block."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=total)

    def __enter__(self) -> Tick:
        return lambda: self._progress.advance(self._task)

    def __exit__(self, *_: object) -> None:
        self._progress.remove_task(self._task)


def _plot(results: Results, file: str) -> int:
    conversation = results.conversation.rows if results.conversation is not None else []
    texts = [row for row in conversation if row.name == LOADS[0].name]
    lines = [
        Series("a turn's delta", [(row.deltas, row.us_without_bytes) for row in results.growth]),
        Series("a conversation's delta", [(row.size, row.us_per_event) for row in texts]),
        Series(
            "the same in @tanstack/ai",
            [(row.size, row.tanstack_us) for row in texts if row.tanstack_us is not None],
            dashed=True,
        ),
    ]
    try:
        Path(file).write_text(draw_costs([line for line in lines if line.points]), encoding="utf-8")
    except (OSError, ValueError) as exc:
        print(f"turnwire bench: --plot {file}: {exc}; it draws the sections growth and conversation", file=sys.stderr)
        return 2
    return 0


def _as_json(results: Results) -> dict[str, Any]:
    document = attrs.asdict(results)
    document["redis"] = None if results.redis is None else as_json(results.redis)
    for row, fields in zip(results.pipeline, document["pipeline"], strict=True):
        fields["ratio"] = row.ratio
    if results.conversation is not None:
        for line, fields in zip(results.conversation.rows, document["conversation"]["rows"], strict=True):
            fields["ratio"] = line.ratio
    return {**document, "bytes_per_open_turn": document.pop("memory")}


def _print(results: Results) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    if results.pipeline:
        table = Table("turns", "from", "events/s", "µs/event", "floor", "× floor", title="JSON or objects → sink")
        for row in results.pipeline:
            numbers = (f"{row.us_per_event:.2f}", f"{row.floor_us_per_event:.2f}", f"{row.ratio:.2f}")
            table.add_row(row.name, row.source, f"{row.events_per_second:,.0f}", *numbers)
        console.print(table)
    if results.memory is not None:
        console.print(f"memory per open turn (one item, ten deltas sent): {results.memory / 1000:.1f} kB")
    if results.latency is not None:
        pace = f"{PER_SECOND:,} events/s over {TURNS} turns"
        console.print(f"send → sink at {pace}: p50 {results.latency.p50:.2f} ms, p99 {results.latency.p99:.2f} ms")
    if results.growth:
        table = Table("deltas of one item", "µs/delta", "without the emitted bytes", "× the first")
        for growth in results.growth:
            ratio = growth.us_without_bytes / results.growth[0].us_without_bytes
            numbers = (f"{growth.us_per_delta:.2f}", f"{growth.us_without_bytes:.2f}", f"{ratio:.2f}")
            table.add_row(f"{growth.deltas:,}", *numbers)
        console.print(table)
    if results.adapters:
        table = Table("adapter", "content", "deltas", "µs/event", "SDK µs/event", "times faster")
        for cost in results.adapters:
            sdk = "" if cost.sdk_us_per_event is None else f"{cost.sdk_us_per_event:.1f}"
            faster = "" if cost.ratio is None else f"{cost.ratio:.0f}"
            table.add_row(cost.provider, cost.content, f"{cost.deltas:,}", f"{cost.us_per_event:.2f}", sdk, faster)
        console.print(table)
    if results.redis is not None:
        print_redis(results.redis, console)
    if results.http is not None:
        print_http(results.http, console)
    if results.conversation is not None:
        _print_conversation(console, results.conversation)


def _print_conversation(console: Console, costs: ConversationCosts) -> None:
    table = Table(
        "conversation", "size", "µs/event", "× the first", "unread", "@tanstack/ai", "× its first", "× ours",
        title="AG-UI events → UIMessages",
    )  # fmt: skip
    for row in costs.rows:
        others = (row.tanstack_us, row.tanstack_growth, row.ratio)
        told = ("" if number is None else f"{number:.1f}" for number in others)
        ours = (f"{row.us_per_event:.2f}", f"{row.growth:.2f}", f"{row.us_unread:.2f}")
        table.add_row(row.name, f"{row.size:,}", *ours, *told)
    console.print(table)
    if costs.note is not None:
        console.print(costs.note)
