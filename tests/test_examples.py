"""Every example is a whole program under 80 lines that runs, and says what to try and what to watch."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example: Path) -> None:
    """As a user would run it."""
    source = example.read_text()
    assert len(source.splitlines()) < 80
    assert re.search(r"^Try: .*^Watch: ", source, re.MULTILINE | re.DOTALL)
    through = ("-m", "pytest", "-p", "no:cacheprovider") if example.stem.startswith("test_") else ()
    command = [sys.executable, *through, str(example)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603  # ours
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["agent.py", "--provider", "anthropic"], "ANTHROPIC_API_KEY"),
        (["service_and_worker.py", "redis://127.0.0.1:1/0"], "Redis cannot be reached"),
    ],
    ids=["a provider without its key", "a server that is not there"],
)
def test_an_example_that_cannot_run_says_why_in_one_line(arguments: list[str], told: str) -> None:
    """Whoever tries it out has not read any code yet: a trace would not help."""
    name, *rest = arguments
    command = [sys.executable, str(ROOT / "examples" / name), *rest]
    without_key = {variable: value for variable, value in os.environ.items() if variable != "ANTHROPIC_API_KEY"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=without_key)  # noqa: S603  # ours
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (1, "", 1), ran.stderr
    assert told in ran.stderr
