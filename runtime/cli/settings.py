"""Show the settings that are in force, and where each of them came from.

The output is a settings file itself, with secrets hidden. A wrong setting is named with its place, and the exit code is
2, so that a deployment can be checked before it is started.
"""

import argparse
import os
import sys
from itertools import groupby

from turnwire.runtime.cli.lines import write_out
from turnwire.runtime.settings import LoadedSettings, SettingsError, load_settings
from turnwire.runtime.settings.sources import FILE_VARIABLE, all_fields
from turnwire.runtime.settings.values import shown

NAME = "settings"
SUMMARY = "show the settings in force, and where they came from"
EXAMPLE = "turnwire settings --set redis.url=redis://127.0.0.1:6379/0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be set. Every command that reads settings offers the same."""
    parser.add_argument("--settings", metavar="FILE", help=f"a TOML file with settings (${FILE_VARIABLE})")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="assignments",
        help="one setting, such as redis.prefix=codex; wins over the file and the environment; repeatable",
    )


def settings_of(args: argparse.Namespace) -> LoadedSettings | None:
    """Load what a command's arguments and the environment ask for; None, told on standard error, if it is wrong."""
    try:
        return load_settings(args.settings, environ=os.environ, command_line=args.assignments)
    except SettingsError as exc:
        for problem in exc.problems:
            print(f"turnwire: {problem}", file=sys.stderr)
        return None


def run(args: argparse.Namespace) -> int:
    """Print all settings; 2 if one is wrong."""
    loaded = settings_of(args)
    if loaded is None:
        return 2
    for group, names in groupby(all_fields(), key=lambda name: name.partition(".")[0]):
        lines = (f"[{group}]", *(_line(name, loaded) for name in names), "", "")
        write_out("\n".join(lines).encode())
    return 0


def _line(name: str, loaded: LoadedSettings) -> str:
    field = all_fields()[name]
    group = getattr(loaded.settings, name.partition(".")[0])
    return f"{field.name} = {shown(field, getattr(group, field.name))}  # {loaded.sources[name]}"
