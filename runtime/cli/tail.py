"""Follow a turn in the terminal, live: from a service, or straight from Redis. Ends when the turn does.

A terminal shows the newest state of each item as it grows; a pipe gets one JSON line per output, as `turnwire process
--bare` writes them. A lost connection is made again, and the turn goes on where it was. Exit 2: the service has no such
turn, or wants another token. Redis itself cannot tell a turn that will never come from one that has not begun: with
--redis both are waited for, and that is said.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeAlias

import trio
from rich.console import Console

from turnwire.actors.groups import leaves
from turnwire.messages.entries import START, EntryId
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.output_codec import decode_output, encode_output
from turnwire.messages.outputs import Output
from turnwire.runtime.cli.lines import LineWriter, reason_of
from turnwire.runtime.cli.picture import TurnScreen
from turnwire.runtime.logs.redis import RedisLog, RedisLogOptions, open_redis_log
from turnwire.runtime.turn_reads import RETRY, ReadOutput, RefusedError, Trouble

NAME = "tail"
SUMMARY = "follow a turn in the terminal"
EXAMPLE = "turnwire tail TURN --url http://127.0.0.1:8080"

DEFAULT_URL = "http://127.0.0.1:8080"
Show: TypeAlias = Callable[[ReadOutput], None]
Say: TypeAlias = Callable[[str], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("turn", metavar="TURN", help="the turn's id")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--url", default=DEFAULT_URL, help=f"the service ({DEFAULT_URL})")
    source.add_argument("--redis", metavar="URL", help="read the log itself, from this server")
    parser.add_argument("--token", help="bearer token of the service; @FILE reads it from a file")
    parser.add_argument("--prefix", default="codex", help="with --redis: what all keys begin with (codex)")
    parser.add_argument("--from", dest="after", metavar="ID", help="only what comes after this entry, such as 1-7")


def run(args: argparse.Namespace) -> int:
    """Follow to the turn's end, and give the exit code."""
    try:
        after = START if args.after is None else EntryId.parse(args.after)
        token = _read_token(args.token)
    except (ValueError, OSError) as exc:
        print(f"turnwire tail: {reason_of(exc)}", file=sys.stderr)
        return 2
    code = 0
    try:
        trio.run(_tail, args, token, after)
    except* (RefusedError, ValueError, ModuleNotFoundError) as group:  # ValueError: an address of Redis that is none
        print(f"turnwire tail: {'; '.join(map(str, leaves(group)))}", file=sys.stderr)
        code = 2
    return code


def _read_token(given: str | None) -> str | None:
    if given is not None and given.startswith("@"):
        return Path(given[1:]).read_text(encoding="utf-8").strip()
    return given


async def _tail(args: argparse.Namespace, token: str | None, after: EntryId) -> None:
    console = Console()
    if not console.is_terminal:
        writer = LineWriter(flush=True)
        with writer.until_broken:
            await _follow(args, token, after, lambda read: writer.write(encode_output(read.output).encode()), _complain)
        writer.raise_if_broken()
        return
    trouble = ""

    def show(read: ReadOutput) -> None:
        nonlocal trouble
        trouble = ""
        screen.show(read.output, rewound=read.rewound)

    def say(words: str) -> None:
        nonlocal trouble
        trouble = words
        screen.refresh()

    with TurnScreen(console, footer=lambda: trouble) as screen:
        await _follow(args, token, after, show, say)


def _complain(words: str) -> None:
    print(f"turnwire tail: {words}", file=sys.stderr)


async def _follow(args: argparse.Namespace, token: str | None, after: EntryId, show: Show, say: Say) -> None:
    def trouble(problem: str, wait: float) -> None:
        say(f"{problem}; trying again in {wait:.1f} s")

    if args.redis is None:
        from turnwire.runtime.turn_client import read_turn  # noqa: PLC0415  # an extra, which Redis does not need

        async with aclosing(read_turn(args.url, args.turn, token=token, after=after, on_trouble=trouble)) as reads:
            async for read in reads:
                show(read)
        return
    async with open_redis_log(args.redis, options=RedisLogOptions(prefix=args.prefix)) as log:
        if not await _has_begun(log, args.turn, trouble):
            say(f"turn {args.turn!r} has nothing yet; waiting")
        async with log.follow(args.turn, after=after) as entries:
            async for entry in entries:
                output = _decoded(entry.message.payload)
                if output is not None:
                    show(ReadOutput(id=str(entry.id), output=output, rewound=entry.rewound))


async def _has_begun(log: RedisLog, turn_id: str, trouble: Trouble) -> bool:
    """Ask until the server answers."""
    failures = 0
    while True:
        try:
            return (await log.newest([turn_id]))[0] is not None
        except LogUnavailableError as exc:
            wait = RETRY.delay_after(failures) or RETRY.longest
            failures += 1
            trouble(str(exc).rstrip("."), wait)
            await trio.sleep(wait)


def _decoded(payload: str) -> Output | None:
    try:
        return decode_output(payload)
    except ValueError as exc:
        print(f"turnwire tail: an entry that is no output: {exc}", file=sys.stderr)
        return None
