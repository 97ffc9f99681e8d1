"""Standard output that is closed, full or not read any more: one line that says so, and no trace of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.pages import ROOT

DEMO = ROOT / "runtime" / "record" / "demo_stream.jsonl"
CONVERSATION = """\
{"type":"RUN_STARTED","threadId":"t","runId":"r"}
{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}
{"type":"RUN_FINISHED","threadId":"t","runId":"r"}
"""
COMMANDS = {
    "demo, served": "demo",
    "process": f"process {DEMO}",
    "process, live": f"process --clock real {DEMO}",
    "converse": "converse conversation.jsonl",
    "converse, watching": "converse --watch conversation.jsonl",
    "adapt": "adapt openai-chat conversation.jsonl",
    "demo": "demo --terminal --speed 1000",
    "settings": "settings",
}


def run(command: str, where: str, folder: Path) -> tuple[int, str]:
    """Run a command with its output led somewhere; give its exit code and what it said on standard error."""
    (folder / "conversation.jsonl").write_text(CONVERSATION)
    script = f"'{sys.executable}' -m turnwire.runtime.cli.main {command} {where}"
    ran = subprocess.run(  # noqa: S603  # ourselves
        ["bash", "-c", script],  # noqa: S607  # whichever there is
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("name", ["process", "converse", "adapt", "settings", "demo, served"])
def test_a_closed_output_is_told(name: str, tmp_path: Path) -> None:
    """`turnwire … >&-`: nowhere to write to is the caller's mistake, in one line."""
    assert run(COMMANDS[name], ">&-", tmp_path) == (1, "turnwire: cannot write to standard output: it is closed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: no disk here can be full at will")
@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in ("converse", "demo, served")]
)  # as with --watch; prints one line
def test_a_full_disk_is_told(name: str, tmp_path: Path) -> None:
    """`turnwire … > file`: what is not there must not look as if it were."""
    told = (1, "turnwire: cannot write to standard output: No space left on device\n")
    assert run(COMMANDS[name], "> /dev/full", tmp_path) == told


@pytest.mark.parametrize("name", ["adapt", "settings"])  # the others have such tests beside their own
def test_a_reader_that_has_gone_is_no_error(name: str, tmp_path: Path) -> None:
    """`turnwire … | head -1` is what people type: it had what it wanted."""
    assert run(COMMANDS[name], "| true; exit ${PIPESTATUS[0]}", tmp_path) == (0, "")


@pytest.mark.parametrize("name", ["process", "adapt"])
def test_a_closed_input_is_told(name: str, tmp_path: Path) -> None:
    """`turnwire … <&-` has nothing to read: wrong usage."""
    command = " ".join(word for word in COMMANDS[name].split() if "jsonl" not in word)
    code, said = run(command, "<&-", tmp_path)
    assert (code, said.count("\n")) == (2, 1)
    assert said.endswith("standard input is closed\n")


@pytest.mark.parametrize("command", ["process", "converse", "adapt openai-chat"])
def test_a_file_that_is_not_there_is_told(command: str, tmp_path: Path) -> None:
    """In the same words everywhere: the file, and what is wrong with it."""
    said = f"turnwire {command.split(maxsplit=1)[0]}: nowhere.jsonl: No such file or directory\n"
    assert run(f"{command} nowhere.jsonl", "", tmp_path) == (2, said)


@pytest.mark.parametrize("command", ["process", "converse"])
def test_a_file_of_another_kind_does_not_fill_the_screen(command: str, tmp_path: Path) -> None:
    """Ten bad lines are named, the rest is counted."""
    (tmp_path / "prose.txt").write_text("not an event\n" * 25)
    code, said = run(f"{command} prose.txt", "", tmp_path)
    lines = said.splitlines()
    assert code == 1
    assert [line.split(": ")[1] for line in lines[:-1]] == [f"line {number}" for number in range(1, 11)]
    assert lines[-1] == "turnwire: and 15 more bad lines"


def test_every_bad_line_of_a_live_pipe_is_named(tmp_path: Path) -> None:
    """A pipe may last for days: its end is no place for what is wrong now."""
    (tmp_path / "prose.txt").write_text("not an event\n" * 25)
    code, said = run("process --clock real prose.txt", "", tmp_path)
    assert (code, len(said.splitlines())) == (1, 25)
