"""The documentation is true where a machine can tell: it builds, its links lead somewhere, every public name is in it."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import turnwire.messages
from turnwire.messages import errors

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
PUBLIC = re.findall(r"^\.\. automodule:: (\S+)", (DOCS / "api.md").read_text(), re.MULTILINE)
MODULES = [path for folder in ("actors", "messages", "runtime") for path in sorted((ROOT / folder).rglob("*.py"))]
WITH_EXAMPLES = [path.relative_to(ROOT).with_suffix("").parts for path in MODULES if ">>>" in path.read_text()]

_FENCES = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)\"")
_TICKED = re.compile(r"[^\w\- ]")


def anchors(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as a reader of the repository and of the built pages has them."""
    headings = re.findall(r"^#+ (.+)$", _FENCES.sub("", page.read_text()), re.MULTILINE)
    return {_TICKED.sub("", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    """Pages that no table of contents names, snippets that no lexer reads and docstrings that are no text are warned of."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603  # ours
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "index.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """Files and headings; other sites are not asked."""
    broken: list[str] = []
    for found in _LINK.finditer(_FENCES.sub("", page.read_text())):
        link: str = found[1] or found[2]
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_documented(package: str) -> None:
    """Whatever a package offers by `__all__` is there and says what it is for."""
    module = importlib.import_module(package)
    offered = [(name, getattr(module, name)) for name in module.__all__]
    told = (each for each in offered if inspect.isclass(each[1]) or inspect.isroutine(each[1]))
    silent = [name for name, what in told if not inspect.getdoc(what)]
    assert silent == []


def test_every_error_can_be_caught_by_its_public_name() -> None:
    """Whoever must act on one should not have to look for it."""
    missing = [name for name in vars(errors) if name.endswith("Error") and name not in turnwire.messages.__all__]
    assert missing == []


@pytest.mark.parametrize("module", WITH_EXAMPLES, ids=".".join)
def test_the_examples_in_docstrings_come_to_what_they_say(module: tuple[str, ...]) -> None:
    """They are read as promises."""
    found = doctest.testmod(importlib.import_module(".".join(("turnwire", *module))))
    assert found.attempted > 0
    assert found.failed == 0


def test_every_package_that_offers_names_is_on_the_page_of_the_api() -> None:
    """`__all__` is the promise; what is not promised is not on the page."""
    offering = {
        "turnwire." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in ("actors", "messages", "runtime")
        for path in (ROOT / folder).rglob("__init__.py")
        if "__all__" in path.read_text()
    }
    assert offering <= set(PUBLIC)
