"""The example for AnyIO does the same on both of its backends, as it says."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "anyio_app.py"


BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])


@BACKENDS
def test_the_example_for_anyio_runs_on_both_of_its_backends(backend: str) -> None:
    """A whole turn with its reader, then one that is cut by a timeout and has handed over what it had by then."""
    command = [sys.executable, str(EXAMPLE), "--backend", backend]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603  # ours
    assert (ran.returncode, ran.stderr) == (0, "")
    *lines, last = ran.stdout.splitlines()
    assert sorted(lines[:2]) == ["a reader of demo was told something", "demo: 4 items, TurnComplete"]
    assert lines[2].startswith("demo:1-1: ")  # of the sink, awaited on the host's own loop
    assert last.startswith("again: timed out is True, still ")
