"""Every example is a whole program under 80 lines that runs, and says what to try and what to watch."""

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
