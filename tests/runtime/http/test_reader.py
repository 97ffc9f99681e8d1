"""The page's JavaScript, as Node and TypeScript see it: the reader's own tests, and its types."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NODE_FOLDER = ROOT / "tests" / "node"
PAGE = ROOT / "runtime" / "http" / "page"


def require_node() -> str:
    """Give the path of Node, or skip the test, saying so."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH: the JavaScript reader was not run")
    return node


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  # our own


def test_the_reader_keeps_its_promises() -> None:
    """Connect, resume, fold, rewind, wait, stop: the tests that stand beside it in JavaScript."""
    ran = run(require_node(), "--test", "--test-timeout=20000", str(NODE_FOLDER / "reader.test.mjs"))
    assert ran.returncode == 0, ran.stdout
    assert "# fail 0" in ran.stdout


def test_the_types_are_what_they_say() -> None:
    """TypeScript, strict, finds nothing in what the comments declare."""
    node, compiler = require_node(), NODE_FOLDER / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.exists():
        pytest.skip("no typescript in tests/node/node_modules (`make test` installs it where npm can)")
    ran = run(node, str(compiler), "-p", str(NODE_FOLDER / "tsconfig.json"))
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_reader_is_one_file_without_dependencies() -> None:
    """It can be copied: it imports nothing."""
    source = (PAGE / "reader.js").read_text()
    assert "import " not in source
    assert "require(" not in source
