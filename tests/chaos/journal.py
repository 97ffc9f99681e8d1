"""Facts that a process writes down as they happen, one JSON line each, for the judge to read afterwards."""

import json
import time
from pathlib import Path
from typing import TextIO


class JournalFile:
    """A journal that is open for writing."""

    def __init__(self, path: Path) -> None:
        # Lines reach the kernel one by one: whoever watches the file sees what has happened.
        self._file: TextIO = path.open("w", buffering=1)

    def note(self, kind: str, *fact: object) -> None:
        """Write down one fact, and when it came to be."""
        self._file.write(json.dumps([kind, time.time(), *fact]) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
