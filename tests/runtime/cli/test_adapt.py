"""`turnwire adapt`: JSON lines or a raw body in, StreamEvents out, bad lines named."""

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.recordings import Recording, adapt, each_recording, recording_named
from tests.kit.streams import brief, chunk
from turnwire.messages import StreamEvent, decode_event
from turnwire.messages.events import ItemStart, ResponseStart
from turnwire.messages.providers.contract import check_contract
from turnwire.runtime.cli import adapt as command

EVENTS = [chunk(content="Hel"), chunk(content="lo"), chunk("stop")]
LINES = "".join(json.dumps(event) + "\n" for event in EVENTS)


class Ran:
    """What one run of the command gave."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.err = code, err
        self.events: list[StreamEvent] = [decode_event(line) for line in out.splitlines()]


@pytest.fixture
def turnwire(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command in this process."""

    def run(*argv: str, stdin: str | bytes = "") -> Ran:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = command.run(parser.parse_args(argv))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def test_json_lines_from_standard_input(turnwire: Any) -> None:
    """One provider event per line; blank lines are nothing."""
    ran = turnwire("openai-chat", stdin=LINES + "\n")
    assert (ran.code, ran.err) == (0, "")
    assert brief(ran.events) == [
        "begin",
        "start message",
        "delta Hel",
        "delta lo",
        "done message Hello",
        "end complete stop",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_raw_body_is_seen_from_its_first_line(turnwire: Any, end: str) -> None:
    """An SSE body works as it came from the wire."""
    body = (
        f": hello{end}{end}"
        + "".join(f"data: {json.dumps(event)}{end}{end}" for event in EVENTS)
        + f"data: [DONE]{end}{end}"
    )
    ran = turnwire("openai-chat", stdin=body)
    assert (ran.code, ran.err) == (0, "")
    assert brief(ran.events)[-1] == "end complete stop"


@each_recording
def test_every_recording_is_told_as_by_the_adapter(recording: Recording, turnwire: Any, tmp_path: Path) -> None:
    """From a file of JSON lines and from its raw body, the payloads are the adapter's."""
    lines, body = tmp_path / "lines.jsonl", tmp_path / "body.txt"
    lines.write_text("".join(json.dumps(event) + "\n" for event in recording.events), encoding="utf-8")
    body.write_bytes(recording.body())
    expected = [event.payload for event in adapt(recording.provider, recording.events)][1:]
    for file in (lines, body):
        ran = turnwire(recording.provider, str(file), "--run-id", "run", "--thread-id", "thread")
        assert ran.code == 0
        check_contract(ran.events)
        assert [event.payload for event in ran.events][1:] == expected


def test_a_byte_order_mark_is_no_obstacle(turnwire: Any) -> None:
    """A file that some editor has marked is read like any other."""
    assert turnwire("openai-chat", stdin="\ufeff" + LINES).code == 0


def test_ids_prompt_and_model_are_the_callers(turnwire: Any) -> None:
    """The options go into the start of the turn."""
    ran = turnwire(
        "openai-chat", "-", "--run-id", "r7", "--thread-id", "t7", "--prompt", "Hello", "--model", "m7", stdin=LINES
    )
    first, prompt = ran.events[0].payload, ran.events[1].payload
    assert isinstance(first, ResponseStart)
    assert (first.response_id, first.turn_id, first.thread_id, first.model_id) == ("r7", "r7", "t7", "m7")
    assert isinstance(prompt, ItemStart)
    assert prompt.item_id == "r7-user-prompt"


def test_runs_without_ids_do_not_collide(turnwire: Any) -> None:
    """Each run makes fresh ids, so that two outputs can be joined."""
    one, two = turnwire("openai-chat", stdin=LINES), turnwire("openai-chat", stdin=LINES)
    assert one.events[0].run_id != two.events[0].run_id


def test_server_tools_are_shown_on_request(turnwire: Any, tmp_path: Path) -> None:
    """--show-server-tools tells of the provider's own tools."""
    recording = recording_named("anthropic-messages", "web-search")
    file = tmp_path / "body.txt"
    file.write_bytes(recording.body())
    shown = brief(turnwire("anthropic-messages", str(file), "--show-server-tools").events)
    assert any(line.startswith("start function_call") for line in shown)


@pytest.mark.parametrize(
    ("stdin", "line"),
    [
        (LINES + "{oops\n", 4),
        ("[1]\n" + LINES, 1),
        ("\n" + LINES.replace("\n", "\n\n", 1) + "7\n", 6),
        (f"data: {json.dumps(EVENTS[0])}\n\ndata: oops\n\ndata: {json.dumps(EVENTS[2])}\n\n", 4),
        (f"data: {json.dumps(EVENTS[0])}\n\ndata: {json.dumps(EVENTS[2])}\n\ndata: oo", 5),
    ],
    ids=["json", "array", "number", "sse", "sse end"],
)
def test_bad_lines_are_named_and_the_rest_is_used(turnwire: Any, stdin: str, line: int) -> None:
    """Exit 1, the line's number on standard error, and everything else told."""
    ran = turnwire("openai-chat", stdin=stdin)
    assert ran.code == 1
    assert ran.err.startswith(f"turnwire adapt: line {line}: ")
    assert ran.err.count("\n") == 1
    assert brief(ran.events)[-1] == "end complete stop"


def test_a_cut_off_input_is_a_truncation(turnwire: Any) -> None:
    """The end of the input ends the response; an empty input too."""
    assert brief(turnwire("anthropic-messages", stdin="").events) == ["begin", "broken STREAM_TRUNCATED"]


def test_a_missing_file_is_wrong_usage(turnwire: Any, tmp_path: Path) -> None:
    """Exit 2, and the name of the file."""
    ran = turnwire("openai-chat", str(tmp_path / "nowhere"))
    assert ran.code == 2
    assert "nowhere" in ran.err


def test_a_recordings_times_become_the_timestamps(turnwire: Any) -> None:
    """Lines with a time of their own keep their distances, so a later `turnwire process` sees the stalls."""
    lines = "".join(
        json.dumps({"at": at, "event": event}) + "\n" for at, event in zip([0, 1.5, 4], EVENTS, strict=True)
    )
    ran = turnwire("openai-chat", stdin=lines)
    times = [event.timestamp for event in ran.events]
    assert times[-1] - times[1] == pytest.approx(4000, abs=2)
    assert times[3] - times[2] == pytest.approx(1500, abs=2)


def test_garbage_in_the_first_line_is_named_and_the_rest_is_used(turnwire: Any) -> None:
    """It does not make a body of JSON lines one of SSE."""
    ran = turnwire("openai-chat", stdin="garbage\n" + LINES)
    assert ran.code == 1
    assert "line 1" in ran.err
    assert brief(ran.events) == brief(turnwire("openai-chat", stdin=LINES).events)


def test_an_error_printed_over_many_lines_is_one_document(turnwire: Any) -> None:
    """As a provider's refusal comes through curl."""
    error = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": None}}
    pretty = turnwire("openai-chat", stdin=json.dumps(error, indent=2) + "\n")
    single = turnwire("openai-chat", stdin=json.dumps(error) + "\n")
    assert (pretty.code, pretty.err) == (0, "")
    assert brief(pretty.events) == brief(single.events)
