"""Read StreamEvents as JSON lines, run each turn in the real actors, and write one JSON line per emission.

One turn or many, mixed; they are told apart by run_id. With --clock events (the default) time is virtual and follows
the events' timestamps, so a stall in a recording fires the batch timeout and every run gives the same, at once. With
--clock real the wall clock runs, for live pipes.
"""

import argparse
import sys
from contextlib import aclosing
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import BinaryIO

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from turnwire.actors.core.gradient import DEFAULT_GRADIENT
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.turn import Turn
from turnwire.messages.errors import InvalidEventError, TooManyTurnsError
from turnwire.messages.event_codec import decode_event
from turnwire.messages.events import ResponseDone, ResponseError, ResponseStart, StreamEvent, TurnAbortedByUser
from turnwire.messages.output_codec import encode_message
from turnwire.messages.outputs import StreamMessage
from turnwire.runtime.cli.lines import MOST_COMPLAINTS, Complaints, LineWriter, live_lines, open_input, reason_of
from turnwire.runtime.cli.schedule import Arrival, Scheduled, schedule
from turnwire.runtime.clock import SetClock
from turnwire.runtime.host import Runtime, open_runtime

NAME = "process"
SUMMARY = "StreamEvents in, StreamMessages out"
EXAMPLE = "turnwire process --gradient 10,10,20 --bare events.jsonl"

SEGMENT = 2048  # events: enough that settling all turns costs little, few enough to hold their emissions in memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    default = ", ".join(f"{step:g}×{len([*same])}" for step, same in groupby(DEFAULT_GRADIENT))
    parser.add_argument("file", nargs="?", metavar="FILE", help="JSON lines of StreamEvents (standard input)")
    parser.add_argument("--bare", action="store_true", help="write the outputs alone, without their envelopes")
    parser.add_argument("--gradient", type=_gradient, metavar="STEPS", help=f"tokens between emissions ({default})")
    parser.add_argument("--growth", type=float, default=0.0, help="each step is at least this share of the text (0)")
    parser.add_argument(
        "--batch-timeout",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="a stall this long emits what is there (1.0)",
    )
    parser.add_argument("--thread", metavar="ID", help="thread id of turns whose events name none")
    parser.add_argument("--clock", choices=("events", "real"), default="events", help="what time follows (events)")


def run(args: argparse.Namespace) -> int:
    """Process all input; 1 if some of it was bad, 2 if an option is."""
    try:
        options = TurnOptions(
            batch_gradient=args.gradient or DEFAULT_GRADIENT,
            growth=args.growth,
            batch_timeout=args.batch_timeout,
            patience=inf,  # a slow reader of our output holds us up; nothing is conflated
            deadline=inf,  # a recording may be as long as it likes
        )
        source = open_input(args.file)
    except (ValueError, OSError) as exc:
        print(f"turnwire process: {reason_of(exc)}", file=sys.stderr)
        return 2
    is_live = args.clock == "real"
    complaints = Complaints(most=inf if is_live else MOST_COMPLAINTS)  # the end of a live pipe may be days away
    output = _Output(bare=args.bare, flush=is_live)
    with source:
        if is_live:
            trio.run(_process_live, source, args.thread, options, output, complaints)
        else:
            clock = SetClock()
            turns = schedule(source, thread_id=args.thread, complain=complaints.add)
            trio.run(_process_recorded, turns, clock, options, output, clock=clock)
    was_bad = complaints.end()
    output.raise_if_broken()
    return 1 if was_bad else 0


async def _process_recorded(turns: list[Scheduled], clock: SetClock, options: TurnOptions, output: "_Output") -> None:
    """Send each event at its time, and close each turn right after its last one."""
    arrivals = sorted((arrival for turn in turns for arrival in turn.arrivals), key=Arrival.order)
    with output.until_broken:
        await _send_all(arrivals, clock, options, output)


async def _send_all(arrivals: list[Arrival], clock: SetClock, options: TurnOptions, output: "_Output") -> None:
    ordered = _Ordered(output, {arrival.turn.run_id: arrival.turn for arrival in arrivals})
    async with open_runtime(sink=ordered, options=options, max_turns=len(arrivals) + 1) as runtime:
        turns: dict[str, Turn] = {}
        for number, arrival in enumerate(arrivals, 1):
            clock.set(arrival.at)
            run_id = arrival.turn.run_id
            turn = turns.get(run_id)
            if turn is None:
                turn = turns[run_id] = runtime.open_turn(
                    turn_id=run_id, thread_id=arrival.turn.thread_id, timestamps=arrival.turn.timestamp
                )
            await turn.send(arrival.event)
            if arrival.is_last:
                await turns.pop(run_id).aclose()
            if number % SEGMENT == 0 or number == len(arrivals):
                for open_turn in turns.values():
                    open_turn.catch_up()
                await wait_all_tasks_blocked()
                await ordered.write()


class _Ordered:
    """Collects the emissions of many turns and writes them in the order of their time.

    Which of two turns runs first is the scheduler's choice, and it rolls dice. Within a segment all emissions are made,
    then sorted: so the whole output is the same in every run, not just each turn's share of it.
    """

    def __init__(self, output: "_Output", turns: dict[str, Scheduled]) -> None:
        self._output = output
        self._turns = turns
        self._segment: list[tuple[float, int, StreamMessage]] = []

    async def __call__(self, message: StreamMessage) -> None:
        turn = self._turns[message.turn_id]
        self._segment.append((message.timestamp - turn.base_ms, turn.first_line, message))

    async def write(self) -> None:
        segment, self._segment = sorted(self._segment, key=itemgetter(0, 1)), []
        for _, _, message in segment:
            await self._output(message)


async def _process_live(
    source: BinaryIO, thread_id: str | None, options: TurnOptions, output: "_Output", complaints: Complaints
) -> None:
    """Send events as they come in, and close what is open at the end of input."""
    number = 0
    with output.until_broken:
        async with open_runtime(sink=output, options=options) as runtime, aclosing(live_lines(source)) as lines:
            turns = _LiveTurns(runtime, thread_id)
            async for line in lines:
                number += 1
                if line.strip():
                    try:
                        await turns.send(decode_event(line))
                    except (InvalidEventError, TooManyTurnsError) as exc:
                        complaints.add(number, exc)
            await turns.close()


@attrs.define
class _LiveTurns:
    """The turns of a live pipe. One that has ended is let go; only its id is kept, for what comes too late."""

    _runtime: Runtime
    _thread_id: str | None
    _open: dict[str, Turn] = attrs.field(factory=dict)
    _gone: set[str] = attrs.field(factory=set)
    _refused: set[str] = attrs.field(factory=set)

    async def send(self, event: StreamEvent) -> None:
        run_id = event.run_id
        if run_id in self._gone:
            return
        turn = self._open.get(run_id)
        if turn is None:
            start = event.payload
            thread_id = start.thread_id if isinstance(start, ResponseStart) else self._thread_id
            if thread_id is None:
                self._refuse(event)
                return
            turn = self._open[run_id] = self._runtime.open_turn(turn_id=run_id, thread_id=thread_id)
        await turn.send(event)
        if isinstance(event.payload, ResponseDone | ResponseError | TurnAbortedByUser):
            turn.catch_up()  # so that it knows of its end, and can be let go
        if not turn.is_open:
            await self._open.pop(run_id).aclose()
            self._gone.add(run_id)

    def _refuse(self, event: StreamEvent) -> None:
        if event.run_id not in self._refused:
            self._refused.add(event.run_id)
            problem = f"run {event.run_id} begins without a response_start, and no --thread is given"
            raise InvalidEventError(problem, event=event.event_id)

    async def close(self) -> None:
        for turn in self._open.values():
            await turn.aclose()


class _Output(LineWriter):
    """The sink: an emission is a line."""

    def __init__(self, *, bare: bool, flush: bool) -> None:
        super().__init__(flush=flush)
        self._bare = bare

    async def __call__(self, message: StreamMessage) -> None:
        self.write(message.payload.encode() if self._bare else encode_message(message))


def _gradient(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(step) if "." in step else int(step) for step in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers, such as 10,10,20") from None
