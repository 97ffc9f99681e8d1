"""Serve turns over HTTP, and work on them, until SIGTERM or Ctrl-C.

Logs are in memory unless --redis names a server: then other processes may serve and work beside this one, and turns
outlive it. Told to stop, it ends streams and takes no more, waits for requests and turns (http.grace, worker.grace) and
hands the rest over; told again, it does not wait. The address goes to standard output, log lines as JSON to standard
error. Exit 0: stopped; 1: a part of it failed too often, or the address is taken; 2: wrong settings.
"""

import argparse
import sys

from turnwire.runtime.cli import settings as settings_command
from turnwire.runtime.cli.lasting import run_lasting

NAME = "serve"
SUMMARY = "serve turns over HTTP: streams, snapshots, threads, the page"
EXAMPLE = "turnwire serve --port 8080 --set model.provider=scripted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set."""
    parser.add_argument("--redis", metavar="URL", help="keep logs there: short for --set redis.url=URL")
    parser.add_argument("--host", help="listen on this address: short for --set http.host=HOST")
    parser.add_argument("--port", help="and on this port, 0 for any that is free: short for --set http.port=PORT")
    parser.add_argument("--quiet", action="store_true", help="log only what somebody may have to act on")
    settings_command.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Be a service, and give the exit code."""
    shorts = {"redis.url": args.redis, "http.host": args.host, "http.port": args.port}
    args.assignments.extend(f"{name}={value}" for name, value in shorts.items() if value is not None)
    loaded = settings_command.settings_of(args)
    if loaded is None:
        return 2
    try:
        from turnwire.runtime.http.process import run_service  # noqa: PLC0415  # an extra: say what to install
    except ModuleNotFoundError as exc:
        print(f"turnwire serve: {exc.name} is not installed; pip install 'turnwire[serve]'", file=sys.stderr)
        return 2
    return run_lasting(NAME, run_service, loaded.settings, _say, quiet=args.quiet)


def _say(urls: tuple[str, ...]) -> None:
    for url in urls:
        print(url, flush=True)
