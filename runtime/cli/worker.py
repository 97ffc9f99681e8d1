"""Work on turns that producers announce in Redis, until SIGTERM or Ctrl-C.

More machines are more of these on the same Redis; nothing else is needed. Told to stop, a worker takes no more turns,
waits for those it has (worker.grace) and hands the rest over; told again, it hands them over at once. Log lines are
JSON on standard error. Exit 0: stopped; 1: a part of it failed too often; 2: wrong settings.
"""

import argparse
import sys

from turnwire.runtime.cli import settings as settings_command
from turnwire.runtime.cli.lasting import run_lasting
from turnwire.runtime.worker import run_worker

NAME = "worker"
SUMMARY = "work on turns that are announced in Redis"
EXAMPLE = "turnwire worker --redis redis://127.0.0.1:6379/0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("--redis", metavar="URL", help="the server: short for --set redis.url=URL")
    parser.add_argument("--quiet", action="store_true", help="log only what somebody may have to act on")
    settings_command.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Be a worker, and give the exit code."""
    if args.redis is not None:
        args.assignments.append(f"redis.url={args.redis}")
    loaded = settings_command.settings_of(args)
    if loaded is None:
        return 2
    if loaded.settings.redis.url is None:
        print("turnwire: redis.url: a worker needs a server; give --redis URL", file=sys.stderr)
        return 2
    return run_lasting(NAME, run_worker, loaded.settings, quiet=args.quiet)
