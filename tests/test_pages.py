"""Every block of code on every page is run, or stands in a short list with the reason why not.

A page is followed in a folder of its own: its Python as one program, then its commands, block by block. The tutorial,
whose parts make one whole, is in tests/test_tutorial.py.
"""

import re
from pathlib import Path

import pytest
from trio.to_thread import run_sync as in_thread

from tests.kit.node_clients import NODE_FOLDER, require_node
from tests.kit.page_claims import CLAIMS
from tests.kit.page_places import open_place, start_turn
from tests.kit.pages import PAGES, ROOT, Block, Place, blocks_of, text_of
from tests.kit.service import open_asked
from turnwire.runtime.settings import load_settings

RUN = {"python", "sh", "console", "output", "js", "toml", "json", "text"}
BUILT = {"{eval-rst}", "{toctree}"}  # directives of the generator: tests/test_docs.py builds the pages
UNRUN = {  # page and first line → why
    ("README.md", "make demo"): "installs the project and serves for ever; the demo has tests of its own",
    ("coming_from.md", "const processor"): "somebody else's library, shown as what one comes from",
}

SAYS = {  # what code and commands come to, where the page does not show it
    "adapters.md": ['"content":"Hi!","origin":"agent"'],
    "agents.md": ["RunOutcome(status='complete', iterations=1,", "PendingCall(", '"content":"Hello!","origin":"agent"'],
    "http.md": ['"content":"Hello"', '"status":"aborted"', '{"turns":[]'],
    "page.md": ['"content":"Hello!","origin":"agent"'],
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_of_a_page_is_left_out(page: Path) -> None:
    """A new kind of block is run from its first day, or its page says nothing that could be wrong."""
    left = [str(block) for block in blocks_of(page) if block.language not in RUN | BUILT and not is_unrun(block)]
    assert left == []


def test_what_is_not_run_is_still_there() -> None:
    """The list of exceptions does not outlive them."""
    for name, start in UNRUN:
        (page,) = (page for page in PAGES if page.name == name)
        assert any(block.text.startswith(start) for block in blocks_of(page)), (name, start)


def is_unrun(block: Block) -> bool:
    return any(block.page == page and block.text.startswith(start) for page, start in UNRUN)


TO_FOLLOW = [page for page in PAGES if page.name != "tutorial.md" and blocks_of(page, "python", "sh", "console")]


@pytest.mark.parametrize("page", TO_FOLLOW, ids=lambda page: page.name)
async def test_a_page_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Its Python runs and prints what stands there as output; its commands end well and say what is shown."""
    async with open_place(page, tmp_path) as place:
        printed = await in_thread(place.run_python, text_of(blocks_of(page, "python")))
        for block in blocks_of(page, "output"):
            assert block.text in printed, f"{block} is not in:\n{printed}"
        said = printed
        for block in blocks_of(page, "sh", "console"):
            if is_unrun(block):
                continue
            if block.language == "console":
                await in_thread(place.run_session, block.text)
            else:
                ran = await in_thread(place.run_shell, block.text)
                assert ran.returncode == 0, f"{block}:\n{ran.stdout}\n{ran.stderr}"
                assert not re.search(r"Traceback|^\{\"error\"", ran.stdout + ran.stderr, re.MULTILINE), (
                    f"{block}:\n{ran}"
                )
                said += ran.stdout
        assert [text for text in SAYS.get(page.name, ()) if text not in said] == []


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "js")], ids=lambda page: page.name)
async def test_the_javascript_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """On Node, against a service that has the turn it asks for."""
    node = require_node("ai")
    (tmp_path / "node_modules").symlink_to(NODE_FOLDER / "node_modules")
    (tmp_path / "reader.js").symlink_to(ROOT / "runtime" / "http" / "page" / "reader.js")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    async with open_asked(script=lambda _: "Hello!") as asked:
        await start_turn(asked)
        place = Place(tmp_path, {"https://example.org": asked.url, 'token: "…"': 'token: "none"'})
        for block in blocks_of(page, "js"):
            ran = await in_thread(place.run, node, str(place.write("page.mjs", block.text)))
            assert (ran.returncode, ran.stderr) == (0, ""), f"{block}:\n{ran.stdout}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "toml")], ids=lambda page: page.name)
def test_the_settings_of_a_page_are_settings(page: Path, tmp_path: Path) -> None:
    """The reader of settings takes the file, and each value in it counts."""
    for block in blocks_of(page, "toml"):
        file = Place(tmp_path).write("turnwire.toml", block.text)
        loaded = load_settings(file, environ={})
        changed = {name for name, source in loaded.sources.items() if str(file) in str(source)}
        assert len(changed) == len(re.findall(r"^\w+ *=", block.text, re.MULTILINE))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "json")], ids=lambda page: page.name)
async def test_the_json_of_a_page_is_what_it_says(page: Path) -> None:
    """Each example is taken or made by what it speaks of."""
    blocks = blocks_of(page, "json")
    claims = CLAIMS[page.name]
    assert len(claims) == len(blocks), "an example without a claim, or a claim without an example"
    for claim, block in zip(claims, blocks, strict=True):
        await claim(block.text)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "text")], ids=lambda page: page.name)
def test_a_drawing_names_files_that_there_are(page: Path) -> None:
    """Drawings of the house and of its tasks."""
    named = re.findall(r"\b(?:actors|messages|runtime)/[\w/]*(?:\.py)?", text_of(blocks_of(page, "text")))
    assert [name for name in named if not (ROOT / name).exists()] == []
