"""The wheel: what is in it, and that it works where nothing else of the project is."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.kit.pages import ROOT, blocks_of, text_of

FOLDERS = ("actors", "messages", "runtime")
NEVER_BUILT = (".git", ".venv", "*cache*", "*.egg-info", ".hypothesis", "node_modules", "build")
_OFFLINE = re.compile(
    r"(?i).*(?:connection (?:error|refused|broken)|new connection|name resolution|dns error|unreachable|error sending).*"
)
"""What pip and uv say when they cannot reach an index at all; a package that is not there they call by its name."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once from a copy: building leaves its traces where it works."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*NEVER_BUILT))
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    run(sys.executable, "-c", code, str(folder), cwd=source)
    (built,) = folder.glob("turnwire-*.whl")
    return built


def run(*command: str, cwd: Path) -> str:
    """Run a program that must end well; give what it printed. It sees nothing of the source tree."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TURNWIRE_"))}
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603  # ours
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def test_the_wheel_holds_turnwire_and_no_bare_names(wheel: Path) -> None:
    """Installing `messages` or `runtime` would collide with modules of the applications that host us."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"turnwire"}
    assert [name for name in names if "test_" in name or "/tests/" in name or "conftest" in name] == []


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    """Code, the markers for type checkers, the demo's stream and the page: an editable install has them all anyway."""
    source = wheel.parent / "source"
    on_disk = {
        f"turnwire/{path.relative_to(source)}"
        for folder in FOLDERS
        for path in (source / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert on_disk - set(zipfile.ZipFile(wheel).namelist()) == set()
    named = {
        *(f"{folder}/py.typed" for folder in FOLDERS),
        "runtime/record/demo_stream.jsonl",
        "runtime/http/page/index.html",
    }
    assert {f"turnwire/{name}" for name in named} <= on_disk


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """With its dependencies and no extra: the ten lines of the README, and the program."""
    home = tmp_path / "elsewhere"
    home.mkdir()
    environment = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=home)
    install(wheel, environment)
    python, turnwire = (str(environment / "bin" / name) for name in ("python", "turnwire"))

    (home / "ten_lines.py").write_text(text_of(blocks_of(ROOT / "README.md", "python")), encoding="utf-8")
    *_, last = run(python, "ten_lines.py", cwd=home).splitlines()
    assert '"status":"complete","usage":' in last
    assert run(turnwire, "--version", cwd=home).startswith("turnwire ")
    assert "--terminal" in run(turnwire, "demo", "--help", cwd=home)
    where = run(python, "-c", "import turnwire.runtime; print(turnwire.runtime.__file__)", cwd=home)
    assert str(environment) in where
    assert run(python, "-c", "from importlib.util import find_spec; print(find_spec('httpx'))", cwd=home) == "None\n"


def install(wheel: Path, environment: Path) -> None:
    """Install it with the versions that were tested. Skips, saying so, where no index can be reached."""
    if uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", str(environment / "bin" / "python")]
    elif find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--no-input", "--retries", "1"]
    else:
        pytest.skip("neither uv nor pip: the wheel was not installed anywhere")
    command += ["-c", str(ROOT / "constraints.txt"), str(wheel)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603  # an installer
    if ran.returncode and (offline := _OFFLINE.search(ran.stderr)):
        pytest.skip(f"no package index can be reached, so the wheel was not installed: {offline[0].strip()}")
    assert ran.returncode == 0, ran.stderr
