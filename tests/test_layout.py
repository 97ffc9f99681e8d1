"""How the project stands on disk."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("actors", "messages", "runtime")


def packages_on_disk() -> set[str]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("__init__.py"))
    return {"turnwire." + ".".join(path.parent.relative_to(ROOT).parts) for path in found}


def test_the_listed_packages_are_those_on_disk() -> None:
    """An unlisted one would be missing from the wheel, and only there."""
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == packages_on_disk()


def test_each_top_folder_is_typed() -> None:
    """Type checkers of our users look for the marker."""
    assert all((ROOT / folder / "py.typed").exists() for folder in FOLDERS)


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
    return names


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("messages", ("trio", "turnwire.actors", "turnwire.runtime")),
        ("actors/core", ("trio", "turnwire.runtime")),
        ("actors", ("turnwire.runtime",)),
    ],
)
def test_imports_point_one_way(room: str, forbidden: tuple[str, ...]) -> None:
    """Runtime → actors → actors/core → messages; and the core knows no event loop."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / room).rglob("*.py")
        for name in imported_modules(path)
        if name in forbidden or name.startswith(tuple(f"{banned}." for banned in forbidden))
    ]
    assert wrong == []


def test_the_core_stands_on_messages_alone() -> None:
    """What import-linter cannot say in one line: of `actors` the core uses only itself."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "actors" / "core").rglob("*.py")
        for name in imported_modules(path)
        if name.startswith("turnwire.") and not name.startswith(("turnwire.actors.core", "turnwire.messages"))
    ]
    assert wrong == []


def test_bare_names_are_not_importable() -> None:
    """Not even in an editable install, from elsewhere than the repository."""
    code = "import turnwire.runtime\nfor name in ('actors', 'messages', 'runtime'):\n    __import__(name)"
    found = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=False)  # noqa: S603  # ourselves
    assert "No module named 'actors'" in found.stderr
