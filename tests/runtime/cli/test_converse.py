"""`turnwire converse`: AG-UI lines in, the conversation out."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.conversations import STRATEGIES, Stage, args, asks, call, called, finished, flat, text, think
from turnwire.messages import encode_agui
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.ui_codec import unstructure_result, unstructure_ui_messages
from turnwire.runtime.cli.main import main

STREAM = flat(
    think("Hm"),
    text("Let me ", "see. "),
    call(),
    args('{"a":', "1}"),
    called(),
    asks(value={"a": 1}),
    finished("tool_calls"),
)
NAMES = {
    "immediate": "immediate",
    "punctuation": "punctuation",
    "word": "word",
    "every-2": "every:2",
    "any-of": "punctuation,every:3",
}


def lines(*events: AnyAguiEvent | dict[str, Any], dialect: Any = "1.0") -> bytes:
    wires = (
        json.dumps(event).encode() if isinstance(event, dict) else encode_agui(event, dialect=dialect)
        for event in events
    )
    return b"".join(wire + b"\n" for wire in wires)


class Run:
    """What came of one call of the program."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code, self.err = code, err
        self.documents: list[Any] = [json.loads(line) for line in out.splitlines()]


Converse = Callable[..., Run]


@pytest.fixture
def converse(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Converse:
    """Run the command in this process, over a file."""

    def run(data: bytes, *args: str) -> Run:
        file = tmp_path / "events.jsonl"
        file.write_bytes(data)
        code = main(["converse", *args, str(file)])
        captured = capfdbinary.readouterr()
        return Run(code, captured.out, captured.err.decode())

    return run


@pytest.mark.parametrize("dialect", ["1.0", "canonical"])
def test_one_object_comes_out(converse: Converse, dialect: str) -> None:
    ran = converse(lines(*STREAM, dialect=dialect))
    stage = Stage().play(STREAM)
    assert ran.code == 0
    assert ran.err == ""
    assert ran.documents == [
        {
            "messages": unstructure_ui_messages(stage.machine.messages),
            "result": unstructure_result(stage.machine.result),
        }
    ]
    assert ran.documents[0]["result"] == {
        "content": "Let me see. ",
        "thinking": "Hm",
        "toolCalls": [{"id": "c1", "name": "look", "arguments": '{"a":1}'}],
        "finishReason": "tool_calls",
    }


def test_the_clients_answers_are_lines_in_their_place(converse: Converse) -> None:
    approval = {"type": "CLIENT_APPROVAL", "approvalId": "a1", "approved": True}
    result = {"type": "CLIENT_TOOL_RESULT", "toolCallId": "c1", "output": {"b": 2}}
    ran = converse(lines(*STREAM, approval, result, *text("Two.", message_id="m2")))
    assert ran.code == 0
    (message,) = ran.documents[0]["messages"]
    assert [part["type"] for part in message["parts"]] == ["thinking", "text", "tool-call", "tool-result", "text"]
    tool = message["parts"][2]
    assert (tool["state"], tool["output"], tool["approval"]) == ("complete", {"b": 2}, {"id": "a1", "needsApproval": True, "approved": True})  # fmt: skip
    failed = converse(lines(*STREAM, {**result, "error": "no"}))
    assert failed.documents[0]["messages"][0]["parts"][-1] == {"type": "tool-result", "toolCallId": "c1", "content": '{"b":2}', "state": "error", "error": "no"}  # fmt: skip


def test_streams_and_messages_of_the_user_may_follow_each_other(converse: Converse) -> None:
    user = {
        "type": "CLIENT_MESSAGE",
        "message": {"id": "u1", "role": "user", "parts": [{"type": "text", "content": "Why?"}]},
    }
    end = {"type": "CLIENT_STREAM_END"}
    ran = converse(lines(*text("One."), end, user, *text("Two."), finished()))
    assert [message["id"] for message in ran.documents[0]["messages"]] == ["msg-1", "u1", "msg-2"]
    assert ran.documents[0]["result"]["content"] == "Two."


def test_classic_states(converse: Converse) -> None:
    events = flat(call(), args("{}"), called(result="1"))
    assert converse(lines(*events)).documents[0]["messages"][0]["parts"][0]["state"] == "complete"
    classic = converse(lines(*events), "--states", "classic")
    assert classic.documents[0]["messages"][0]["parts"][0]["state"] == "input-complete"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_watching_prints_each_change_as_a_line(converse: Converse, strategy: str) -> None:
    ran = converse(lines(*STREAM), "--watch", "--strategy", NAMES[strategy])
    stage = Stage(strategy).play(STREAM)
    seen = [unstructure_ui_messages(view)[0] for view in stage.listener.views]
    assert ran.documents == [
        *({"message": message} for message in seen),
        {"result": unstructure_result(stage.machine.result)},
    ]


def test_watching_tells_of_removal_replacement_and_state(converse: Converse) -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "x"}]}
    ran = converse(lines({"type": "STATE_SNAPSHOT", "snapshot": None}, snapshot, *text(" ")), "--watch")
    assert [next(iter(document)) for document in ran.documents] == ["state", "messages", "message", "removed", "result"]


def test_bad_lines_are_named_and_skipped(converse: Converse) -> None:
    wrong: list[dict[str, Any]] = [
        {"type": "TOOL_CALL_ARGS", "toolCallId": 5, "delta": "x"},
        {"type": "CLIENT_APPROVAL", "approvalId": "a9", "approved": True},
        {"type": "CLIENT_APPROVAL", "approvalId": "a1", "approved": "yes"},
        {"type": "CLIENT_TOOL_RESULT", "toolCallId": "c1"},
        {"type": "CUSTOM", "name": "approval-requested", "value": {}},
    ]
    approval = {"type": "CLIENT_APPROVAL", "approvalId": "a1", "approved": False}
    ran = converse(b"nonsense\n\n[1]\n" + lines(*wrong, *STREAM, approval, approval))
    assert ran.code == 1
    complaints = ran.err.splitlines()
    assert [line.split(": ")[1] for line in complaints] == [
        "line 1",
        "line 3",
        *(f"line {n}" for n in range(4, 9)),
        f"line {10 + len(STREAM)}",
    ]
    assert "$.toolCallId: expected `str`, got `int`" in complaints[2]
    assert "no approval a9" in complaints[3]
    assert "$.approved" in complaints[4]
    assert "$.output: missing" in complaints[5]
    assert "$.data.toolCallId" in complaints[6]
    assert "a1 was answered before: denied" in complaints[7]
    assert ran.documents[0]["result"]["content"] == "Let me see. "


def test_unknown_events_are_not_bad(converse: Converse) -> None:
    ran = converse(lines({"type": "LATER"}, *text("x")))
    assert (ran.code, ran.err) == (0, "")


def test_an_empty_input_is_an_empty_conversation(converse: Converse) -> None:
    assert converse(b"").documents == [{"messages": [], "result": {"content": "", "finishReason": None}}]


@pytest.mark.parametrize("args", [["--strategy", "never"], ["--strategy", "every:0"]])
def test_wrong_settings_exit_2_with_a_message(converse: Converse, args: list[str]) -> None:
    ran = converse(b"", *args)
    assert (ran.code, ran.documents) == (2, [])
    assert ran.err.startswith("turnwire converse: ")


def test_a_missing_file_and_wrong_usage_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["converse", "no/such/file"]) == 2
    assert "no/such/file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["converse", "--states", "modern"])
    assert caught.value.code == 2


def test_lines_come_out_while_lines_still_come_in() -> None:
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "converse", "--watch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:  # noqa: S603  # ourselves
        assert program.stdin is not None
        assert program.stdout is not None
        for count, event in enumerate(text("a", "b")[1:3], 1):
            program.stdin.write(lines(event))
            program.stdin.flush()
            assert json.loads(program.stdout.readline())["message"]["parts"][0]["content"] == "ab"[:count]
        program.stdin.close()
        assert json.loads(program.stdout.readline())["result"]["content"] == "ab"
    assert program.returncode == 0


def test_a_closed_pipe_ends_quietly() -> None:
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "converse", "--watch"]
    data = lines(*text(*["word "] * 3000))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:  # noqa: S603  # ourselves
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        try:
            program.stdin.write(data)
            program.stdin.close()
        except BrokenPipeError:
            pass
        assert program.stderr.read() == b""
    assert program.returncode == 0
