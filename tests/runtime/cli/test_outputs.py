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


@pytest.mark.parametrize("name", ["process", "converse", "adapt", "settings"])
def test_a_closed_output_is_told(name: str, tmp_path: Path) -> None:
    """`turnwire … >&-`: nowhere to write to is the caller's mistake, in one line."""
    assert run(COMMANDS[name], ">&-", tmp_path) == (1, "turnwire: cannot write to standard output: it is closed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: no disk here can be full at will")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "converse"])  # as it does when it watches
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
