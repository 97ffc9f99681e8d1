"""The `turnwire` program: finds the subcommand, sets up logging, and turns every ending into an exit code.

Exit codes: 0 done; 1 done, but some input was bad (each named on standard error), or the output could not be written;
2 wrong usage or settings.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol

from turnwire.runtime.cli import adapt, bench, converse, demo, process, serve, settings, tail, worker
from turnwire.runtime.cli.lines import OutputError, flush_out, has_output

INTERRUPTED = 128 + signal.SIGINT


class Command(Protocol):
    """What a module of this package offers to be a subcommand. Its docstring is the description."""

    __doc__: str | None

    @property
    def NAME(self) -> str:  # noqa: N802  # a module's constant
        """What is typed."""
        ...

    @property
    def SUMMARY(self) -> str:  # noqa: N802
        """One line for the list of commands."""
        ...

    @property
    def EXAMPLE(self) -> str:  # noqa: N802
        """A call that runs."""
        ...

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what can be set."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it, and give the exit code."""
        ...


COMMANDS: tuple[Command, ...] = (demo, adapt, process, converse, serve, tail, worker, bench, settings)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    args = _parse(argv)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="turnwire: %(message)s")
    try:
        code: int = args.run(args)
        flush_out()
    except BrokenPipeError:
        _drop_output()
        return 0  # whoever read our output has gone: that is no error
    except OutputError as exc:
        print(f"turnwire: {exc}", file=sys.stderr)
        _drop_output()
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseExceptionGroup as group:  # Ctrl-C that reached a task inside a nursery comes out in a group
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        return INTERRUPTED
    return code


def _drop_output() -> None:
    """Let what is left go nowhere: Python flushes stdout once more on its way out, and would complain."""
    if has_output():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    args, rest = parser.parse_known_args(argv)
    # argparse settles an optional FILE with the positionals before the first option, so that one after the options
    # is left over: `adapt PROVIDER --run-id R FILE` is what people type.
    if len(rest) == 1 and not rest[0].startswith("-") and getattr(args, "file", "") is None:
        args.file = rest[0]
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="turnwire", description="Model streams in, whole objects out.")
    parser.add_argument("--version", action="version", version=f"turnwire {version('turnwire')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.__doc__,
            epilog=f"example:\n  {command.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
