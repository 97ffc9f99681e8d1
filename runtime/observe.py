"""What an operator sees: log lines that are an event and its facts.

Log lines go through the host's own `logging`, whatever it has set up: the message reads `healed key=... entries=3`,
and the same facts hang on the record as `facts`. A program that has set up nothing runs in `log_to_stderr` and gets one
line of JSON per event.
"""

import logging
import sys
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

__all__ = ["get_logger", "log_to_stderr"]


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Give a logger whose lines are an event and its facts: `log.warning("healed", key=..., entries=3)`.

    It does not ask how the host has configured structlog: the default of that prints to standard output, which is for
    data.
    """
    return structlog.wrap_logger(  # type: ignore[no-any-return]  # structlog types what it wraps as Any
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, _to_logging],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


@contextmanager
def log_to_stderr(*, level: int = logging.INFO) -> Generator[None, None, None]:
    """Write turnwire's log lines as JSON to standard error for the length of a block: for programs of our own."""
    line = logging.StreamHandler(sys.stderr)
    line.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _take_facts,
                structlog.processors.format_exc_info,
            ],
        )
    )
    root = logging.getLogger("turnwire")
    before = root.level, root.propagate
    root.addHandler(line)
    root.setLevel(level)
    root.propagate = False
    try:
        yield
    finally:
        root.removeHandler(line)
        root.setLevel(before[0])
        root.propagate = before[1]


def _to_logging(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[str], dict[str, Any]]:
    """Say everything in the message, for hosts that print just that, and hang the facts on the record."""
    exc_info = event.pop("exc_info", None)
    words = [str(event["event"]), *(f"{name}={value}" for name, value in event.items() if name != "event")]
    return (" ".join(words),), {"exc_info": exc_info, "extra": {"facts": event}}


def _take_facts(_logger: WrappedLogger, _method: str, line: EventDict) -> MutableMapping[str, Any]:
    line.update(getattr(line.get("_record"), "facts", {}))
    return line
