"""The other side of the comparison: @tanstack/ai in a Node process, if both are there.

The package is no dependency of ours. Where the project is checked out, `make test` installs it with what else the
tests ask of Node; it is looked for there, and in the node_modules of the folder that the bench is run in.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from turnwire.messages.json_text import dump_json, parse_json
from turnwire.runtime.bench.conversation_streams import Kind, Stream, count_events, make_conversation

SCRIPT = Path(__file__).with_name("tanstack.mjs")
PACKAGE = Path("@tanstack/ai")
PATIENCE = 300.0  # seconds; its cost per event grows with the text, and a slow machine is slow at that too


@attrs.frozen(kw_only=True)
class NodeCase:
    """One measurement to be made."""

    turns: list[Stream]
    partial: bool
    repeats: int

    @classmethod
    def of(cls, kind: Kind, size: int, partial: bool, repeats: int) -> "NodeCase":  # the word says it
        """Make the case of a load."""
        return cls(turns=make_conversation(kind, size), partial=partial, repeats=repeats)


def run_in_node(cases: Sequence[NodeCase]) -> tuple[list[float | None], str | None]:
    """Give µs per event for each case; or Nones, and the reason."""
    nothing: list[float | None] = [None] * len(cases)
    node, package = find_node(), find_package()
    if node is None:
        return nothing, "no node on PATH: @tanstack/ai was not measured"
    if package is None:
        return nothing, "no @tanstack/ai in any node_modules here: it was not measured (npm install in tests/node)"
    work = dump_json([attrs.asdict(case) for case in cases])
    try:
        ran = subprocess.run(  # noqa: S603  # our own script, by the node that the user has
            [node, str(SCRIPT), str(package)], input=work, capture_output=True, timeout=PATIENCE, check=True
        )
    except subprocess.TimeoutExpired:
        return nothing, f"@tanstack/ai took more than {PATIENCE:.0f} s and was stopped"
    except subprocess.CalledProcessError as exc:
        return nothing, f"@tanstack/ai could not be measured: {exc.stderr.decode(errors='replace').strip()[-300:]}"
    told = parse_json(ran.stdout)
    return [row["milliseconds"] * 1000 / count_events(case.turns) for row, case in zip(told, cases, strict=True)], None


def find_node() -> str | None:
    """Find the user's Node."""
    return shutil.which("node")


def find_package() -> Path | None:
    """Find the package in a node_modules near by."""
    return next((place / PACKAGE for place in _places() if (place / PACKAGE / "package.json").exists()), None)


def _places() -> Iterator[Path]:
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        yield folder / "node_modules"
        yield folder / "tests" / "node" / "node_modules"
