"""The command line where only turnwire itself is installed: what needs no extra works, what does says which."""

import subprocess
import sys

import pytest

PATIENCE = 60
BARE = """
import sys
for name in ("httpx", "hypercorn", "starlette"):  # what the extras bring
    sys.modules[name] = None
from turnwire.runtime.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BARE, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603  # ourselves


def test_the_commands_are_listed() -> None:
    """`turnwire --help` needs no extra."""
    ran = run("--help")
    assert ran.returncode == 0, ran.stderr
    assert "tail" in ran.stdout


def test_a_provider_stream_becomes_events() -> None:
    """Commands that only read and write need no extra."""
    chunk = '{"choices": [{"delta": {"content": "Hi!"}, "finish_reason": "stop"}]}'
    ran = run("adapt", "openai-chat", given=chunk)
    assert ran.returncode == 0, ran.stderr
    assert "response_done" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["demo"], "serve"),
        (["serve"], "serve"),
        (["bench", "--http"], "serve"),
        (["tail", "turn-1"], "providers"),
        (
            ["worker", "--redis=redis://127.0.0.1:1", "--set=model.provider=openai-chat", "--set=model.name=m"],
            "providers",
        ),
    ],
    ids=["demo", "serve", "bench", "tail", "worker"],
)
def test_what_is_missing_is_said(arguments: list[str], extra: str) -> None:
    """Exit 2 and what to install, in one line and without a trace."""
    ran = run(*arguments)
    assert ran.returncode == 2
    assert f"pip install 'turnwire[{extra}]'" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_program_is_told_what_to_install() -> None:
    """`import turnwire.runtime.http` names the extra, as the command line does."""
    program = BARE.partition("from turnwire")[0] + "import turnwire.runtime.http"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603  # ourselves
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: the HTTP service needs ")
    assert last.endswith("pip install 'turnwire[serve]'")
