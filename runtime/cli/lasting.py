"""How a command runs that lasts until it is told to stop: log lines as JSON, and the reason if it ends by itself."""

import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from turnwire.actors.groups import leaves
from turnwire.runtime.collector import collect_rarely
from turnwire.runtime.observe import log_to_stderr
from turnwire.runtime.settings import SettingsError


def run_lasting(name: str, main: Callable[..., Awaitable[object]], *args: Any, quiet: bool) -> int:
    """Run a command's main function to its end, and give the exit code; `quiet` logs only what asks for an act."""
    try:
        with log_to_stderr(level=logging.WARNING if quiet else logging.INFO), collect_rarely():
            trio.run(main, *args)
    except SettingsError as exc:
        for problem in exc.problems:
            print(f"turnwire: {problem}", file=sys.stderr)
        return 2
    except OSError as exc:  # it could not begin, and says so in a sentence; what fails later comes in a group
        print(f"turnwire {name}: {exc.strerror or exc}", file=sys.stderr)
        return 1
    except Exception as exc:  # noqa: BLE001  # whatever it is, it ends the process with the reason
        for failure in leaves(exc):
            print(f"turnwire {name}: ended because of {type(failure).__name__}: {failure}", file=sys.stderr)
        return 1
    finally:
        # Python would look through all that was ever imported before it ends: a sixth of a second, and seconds on a
        # machine that is busy. Whoever told us to stop counts them.
        gc.freeze()
    return 0
