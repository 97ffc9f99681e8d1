"""The pages of the documentation as things that run: their fenced blocks, a folder to run them in, what they print.

The pages speak of fixed addresses: port 8080 for a service, 6379 for Redis, providers on the internet. In a `Place` each
is put in by one of this machine before anything is run, so that pages of several runs do not meet, and nothing leaves
the machine. Of what a page shows as output `…` stands for anything, within a line or, on a line alone, over lines.
"""

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess, Popen, TimeoutExpired

import attrs

from tests.kit import until_up
from turnwire.runtime.bench.redis_server import server_binaries

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PATIENCE = 120.0  # seconds; the tutorial takes fifteen, and on a busy machine several times that

_BLOCK = re.compile(
    r"^(?P<fence>```+|~~~+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
_ANYTHING = re.compile(r"(?:\\ )?…(?:\\ )?")  # escaped: a space beside it is there for the eye

# What is started here is ended here. Before a command that would run for ever stands `until_up`.
_PROLOGUE = f"""\
set -eo pipefail
trap 'ended=$?; kill $(jobs -p) 2>/dev/null || true; wait; exit $ended' EXIT
until_up() {{ {shlex.quote(sys.executable)} {shlex.quote(until_up.__file__)} "$@"; }}
"""
_ENDLESS = re.compile(r"^((?:\w+=\S+ )*)(?=turnwire (?:serve|worker|demo)\b(?!.*--help)(?![^#\n]*&))", re.MULTILINE)


@attrs.frozen
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language or 'no language'})"


def blocks_of(page: Path, *languages: str) -> list[Block]:
    """Give the blocks of a page, in order; with languages, those alone."""
    source = page.read_text(encoding="utf-8")
    found = [
        Block(page.name, source.count("\n", 0, match.start()) + 1, match["language"].strip(), match["text"])
        for match in _BLOCK.finditer(source)
    ]
    return [block for block in found if not languages or block.language in languages]


def text_of(blocks: Iterable[Block]) -> str:
    """Give blocks as one text."""
    return "\n".join(block.text for block in blocks)


def assert_shown(shown: str, said: str) -> None:
    """Hold what a page shows against what was said: all of it, but for what `…` stands for."""
    lines = (_ANYTHING.sub(".*?", re.escape(line)) + r"\n" for line in shown.strip().splitlines())
    pattern = "".join(r"(?:.*\n)*?" if line == r".*?\n" else line for line in lines)
    assert re.fullmatch(pattern, said.strip() + "\n"), f"the page shows:\n{shown}\nwhat was said:\n{said}"


@attrs.frozen
class Place:
    """A folder to run a page in, and what stands there for the addresses that pages speak of."""

    folder: Path
    stands_for: Mapping[str, str] = attrs.field(factory=dict[str, str])
    """What is put in for what; the first that fits counts."""
    environment: Mapping[str, str] = attrs.field(factory=dict[str, str])

    def put_in(self, text: str) -> str:
        """Give a text of a page with this machine's addresses in it."""
        if not self.stands_for:
            return text
        known = re.compile("|".join(map(re.escape, self.stands_for)))
        return known.sub(lambda found: self.stands_for[found[0]], text)

    def write(self, name: str, text: str) -> Path:
        """Write a file as a reader of the page would."""
        file = self.folder / name
        file.write_text(self.put_in(text), encoding="utf-8")
        return file

    def run(self, *command: str) -> CompletedProcess[str]:
        """Run a program here, with ours and a Redis server on its path."""
        environment = {**os.environ, **self.environment, "PATH": self._path(), "PYTHONUNBUFFERED": "1"}
        with Popen(  # noqa: S603  # what our own pages say
            command,
            cwd=self.folder,
            env=environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
            process_group=0,
        ) as process:
            try:
                said, complained = process.communicate(timeout=PATIENCE)
            except TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its group: what it started, a service perhaps, goes too
                said, complained = process.communicate()
                raise AssertionError(f"{command} does not end:\n{said}\n{complained}") from None
        return CompletedProcess(command, process.returncode, said, complained)

    def run_python(self, text: str) -> str:
        """Run a page's Python as one program, and give what it printed. It must end well and complain of nothing."""
        ran = self.run(sys.executable, str(self.write("page.py", text)))
        assert (ran.returncode, ran.stderr) == (0, ""), f"{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def run_shell(self, text: str) -> CompletedProcess[str]:
        """Run commands in one shell. What would run for ever is told to end as soon as it is up."""
        return self.run("bash", "-c", _PROLOGUE + _ENDLESS.sub(r"\1until_up ", self.put_in(text)))

    def run_session(self, text: str) -> None:
        """Run what is shown as a session: behind each `$ ` a command, under it what it says, standard error included."""
        for turn in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = re.sub(r"\\\n", "", turn).partition("\n")
            ran = self.run("bash", "-c", f"set -o pipefail; {{ {self.put_in(command)}\n}} 2>&1")
            assert ran.returncode == 0 or shown.strip(), ran.stdout  # a failure is none where the page shows it
            if shown.strip() or ran.stdout:
                assert_shown(self.put_in(shown), ran.stdout)

    def _path(self) -> str:
        programs = self.folder / "bin"
        binaries = server_binaries()
        if binaries and not programs.exists():
            programs.mkdir()
            (programs / "redis-server").symlink_to(next(iter(binaries.values())))
        return os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
