"""`turnwire process`: the real actors behind a filter."""

import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.turns import event
from turnwire.messages import StreamEvent, decode_message, decode_output, encode_event
from turnwire.messages.events import (
    FinalMessage,
    ItemDelta,
    ItemDone,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseStart,
)
from turnwire.runtime.cli.main import COMMANDS, main

BASE = 1_700_000_000_000


def line(payload: Payload, *, at: float, run_id: str = "r1", event_id: str | None = None) -> bytes:
    """One event as a line, so many seconds into its turn."""
    raw = event(payload, run_id=run_id, event_id=event_id)
    stamped = StreamEvent(
        event_id=raw.event_id,
        timestamp=BASE + round(at * 1000),
        run_id=run_id,
        trace_context=raw.trace_context,
        payload=payload,
    )
    return encode_event(stamped) + b"\n"


def start(run_id: str = "r1", at: float = 0.0) -> bytes:
    return line(
        ResponseStart(response_id="x", turn_id=run_id, thread_id="th", model_id="m", provider_id="p", created_at=1),
        at=at,
        run_id=run_id,
    )


def turn_lines(run_id: str, seed: int) -> list[bytes]:
    """A whole turn with chance stalls, reproducible by its seed."""
    chance = random.Random(seed)
    at = chance.random() * 100
    lines = [start(run_id, at), line(ItemStart(item_id="m", item_type="message"), at=at, run_id=run_id)]
    text = ""
    for _ in range(chance.randrange(5, 40)):
        at += chance.choice([0.0, 0.01, 0.2, 1.3])
        word = chance.choice([" and", " so", " on", " 😀", " considerably longer words"])
        text += word
        lines.append(line(ItemDelta(item_id="m", delta_content=word), at=at, run_id=run_id))
    if chance.random() < 0.7:
        done = ItemDone(item_id="m", final_item=FinalMessage(id="m", content=text))
        lines.append(line(done, at=at + 0.1, run_id=run_id))
        lines.append(line(ResponseDone(response_id="x", status="complete"), at=at + 0.2, run_id=run_id))
    return lines


class Run:
    """What came of one call of the program."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self) -> list[bytes]:
        return self.out.splitlines()


Process = Callable[..., Run]


@pytest.fixture
def process(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Process:
    """Run the command in this process, over a file."""

    def run(data: bytes, *args: str) -> Run:
        file = tmp_path / "events.jsonl"
        file.write_bytes(data)
        code = main(["process", *args, str(file)])
        captured = capfdbinary.readouterr()
        return Run(code, captured.out, captured.err.decode())

    return run


def test_each_emission_is_one_line_with_its_envelope(process: Process) -> None:
    """Ids are the turn's own; timestamps follow the events'."""
    ran = process(start() + line(ResponseDone(response_id="x", status="complete"), at=2.5))
    messages = [decode_message(text) for text in ran.lines]
    assert ran.code == 0
    assert [message.event_id for message in messages] == ["r1:1-1", "r1:1-2"]
    assert [message.timestamp for message in messages] == [BASE, BASE + 2500]
    assert json.loads(messages[0].payload)["turnId"] == "r1"


def test_bare_writes_the_outputs_alone(process: Process) -> None:
    """The same without envelopes."""
    ran = process(start(), "--bare")
    assert [json.loads(text)["type"] for text in ran.lines] == ["turn_started"]


def test_a_stall_in_the_recording_fires_the_batch_timeout(process: Process) -> None:
    """Time is virtual: the emission is stamped a second after the delta, and the run takes no time."""
    begun, text = ItemStart(item_id="m", item_type="message"), ItemDelta(item_id="m", delta_content="slow")
    ran = process(start() + line(begun, at=1) + line(text, at=2) + line(text, at=700))
    messages = [decode_message(text) for text in ran.lines]
    assert [(message.timestamp - BASE) / 1000 for message in messages] == [0, 3, 700]
    assert [json.loads(message.payload).get("content") for message in messages] == [None, "slow", "slowslow"]


def test_options_of_the_turn_can_be_set(process: Process) -> None:
    """Gradient, growth and timeout change what is emitted."""
    begun = ItemStart(item_id="m", item_type="message")
    deltas = b"".join(line(ItemDelta(item_id="m", delta_content="four"), at=1 + n / 100) for n in range(30))
    few = process(start() + line(begun, at=1) + deltas, "--gradient", "20,10")
    many = process(start() + line(begun, at=1) + deltas, "--gradient", "2.5")
    assert len(few.lines) == 1 + 1 + 1
    assert len(many.lines) > len(few.lines)
    assert len(process(start() + line(begun, at=1) + deltas, "--gradient", "1", "--growth", "1").lines) < len(
        many.lines
    )
    stalled = start() + line(begun, at=1) + line(ItemDelta(item_id="m", delta_content="x"), at=1) + start(at=2)
    assert decode_message(process(stalled, "--batch-timeout", "0.25").lines[1]).timestamp == BASE + 1250


def test_a_timestamp_in_the_past_counts_as_now(process: Process) -> None:
    """Time never runs backwards within a turn."""
    ran = process(start(at=5) + line(ResponseDone(response_id="x", status="complete"), at=1))
    assert [decode_message(text).timestamp for text in ran.lines] == [BASE + 5000, BASE + 5000]


def test_a_mixed_file_of_a_thousand_turns_gives_each_what_it_gives_alone(process: Process) -> None:
    """Twice the same, and exactly that of the turn on its own: contents, order, timestamps and ids."""
    turns = {f"run{number}": turn_lines(f"run{number}", number) for number in range(1000)}
    queues = [list(lines) for lines in turns.values()]
    chance = random.Random(7)
    mixed: list[bytes] = []
    while queues:
        queue = chance.choice(queues)
        mixed.append(queue.pop(0))
        if not queue:
            queues.remove(queue)
    together = process(b"".join(mixed))
    assert together.code == 0
    assert together.out == process(b"".join(mixed)).out
    per_turn: dict[str, list[bytes]] = {name: [] for name in turns}
    for text in together.lines:
        per_turn[decode_message(text).turn_id].append(text)
    for name in [*turns][::25]:
        assert per_turn[name] == process(b"".join(turns[name])).lines
    assert all(per_turn.values())


def test_a_stall_of_exactly_the_timeout_is_the_same_alone_and_among_others(process: Process) -> None:
    """Time is set, not added up: what other turns do in between cannot move it by a rounding."""
    begun = ItemStart(item_id="m", item_type="message")
    mine = [
        start("a"),
        line(begun, at=2.89, run_id="a"),
        line(ItemDelta(item_id="m", delta_content="x"), at=2.89, run_id="a"),
        line(ItemDelta(item_id="m", delta_content="y"), at=3.89, run_id="a"),
    ]
    other = [start("b"), *(line(begun, at=n / 100, run_id="b") for n in range(28, 400, 7))]
    alone = process(b"".join(mine)).lines
    together = [text for text in process(b"".join(mine + other)).lines if decode_message(text).turn_id == "a"]
    assert alone == together
    assert len(alone) == 3


def test_there_is_no_limit_to_the_number_of_recorded_turns(process: Process) -> None:
    """A service has to limit its open turns; a file is as long as it is."""
    lines = [start(f"r{number}") for number in range(10_001)]
    lines += [line(ResponseDone(response_id="x", status="complete"), at=1, run_id=f"r{n}") for n in range(10_001)]
    ran = process(b"".join(lines), "--bare")
    assert (ran.code, len(ran.lines)) == (0, 20_002)


def test_a_timestamp_that_is_no_moment_is_a_bad_line(process: Process) -> None:
    """Not a crash of the whole run."""
    huge = start().replace(str(BASE).encode(), b"1" + b"0" * 400, 1)
    ran = process(huge + start("r2"), "--bare")
    assert ran.code == 1
    assert "line 1: " in ran.err
    assert "$.timestamp" in ran.err
    assert len(ran.lines) == 1


def test_a_bad_line_is_named_and_skipped(process: Process) -> None:
    """Exit 1: done, but some input was bad."""
    ran = process(
        start() + b'{"event_id": "e9"}\nnot json\n' + line(ResponseDone(response_id="x", status="done"), at=1)
    )
    assert ran.code == 1
    assert len(ran.lines) == 2
    assert "line 2: event e9: $" in ran.err
    assert "line 3: event: $: not JSON" in ran.err


def test_a_turn_without_a_thread_is_reported_at_its_first_line(process: Process) -> None:
    """Neither a response_start nor --thread: nothing to call its thread."""
    data = line(ItemStart(item_id="m", item_type="message"), at=0, run_id="lost") + start("r2")
    ran = process(data, "--bare")
    assert ran.code == 1
    assert "line 1: run lost has no response_start" in ran.err
    assert [json.loads(text)["turnId"] for text in ran.lines] == ["r2"]
    done = ItemDone(item_id="m", final_item=FinalMessage(id="m", content="hi"))
    named = process(line(done, at=0), "--thread", "th9", "--bare")
    assert (named.code, json.loads(named.lines[0])["threadId"]) == (0, "th9")


def test_the_end_of_input_closes_open_turns_without_a_terminal(process: Process) -> None:
    """Text below its threshold is flushed; no end is made up."""
    begun, text = ItemStart(item_id="m", item_type="message"), ItemDelta(item_id="m", delta_content="rest")
    ran = process(start() + line(begun, at=0) + line(text, at=0), "--bare")
    assert [json.loads(out)["type"] for out in ran.lines] == ["turn_started", "message"]


@pytest.mark.parametrize("args", [["--gradient", "10,0"], ["--growth", "-1"], ["--batch-timeout", "0"]])
def test_wrong_settings_exit_2_with_a_message(args: list[str], process: Process) -> None:
    """Before any input is read."""
    ran = process(start(), *args)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("turnwire process: ")


def test_wrong_usage_exits_2(process: Process) -> None:
    """As argparse does it."""
    with pytest.raises(SystemExit) as caught:
        process(start(), "--gradient", "ten")
    assert caught.value.code == 2


def test_a_missing_file_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Named in the message."""
    assert main(["process", "no/such/file"]) == 2
    assert "no/such/file" in capsys.readouterr().err


def run_program(*args: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", *args]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)  # noqa: S603  # ourselves


def test_live_pipes_run_on_the_wall_clock() -> None:
    """--clock real gives the same outputs for a turn that does not stall, line by line as they come."""
    ran = run_program(
        "process", "--clock", "real", "--bare", data=b"".join(turn_lines("r1", 1)) + b"bad\n" + start("r2")
    )
    outputs = [decode_output(text) for text in ran.stdout.splitlines()]
    assert ran.returncode == 1
    assert b"not JSON" in ran.stderr
    assert {output.turn_id for output in outputs} == {"r1", "r2"}


def test_a_live_turn_without_a_thread_is_reported_once() -> None:
    """Until its response_start comes there is nothing to call its thread."""
    begun = line(ItemStart(item_id="m", item_type="message"), at=0)
    ran = run_program("process", "--clock", "real", "--bare", data=begun + begun + start())
    assert ran.stderr.count(b"begins without a response_start") == 1
    assert len(ran.stdout.splitlines()) == 1


@pytest.mark.parametrize("clock", ["events", "real"])
def test_a_closed_pipe_ends_quietly(clock: str) -> None:
    """Whoever read our output has gone: no trace, no complaint."""
    data = b"".join(text for number in range(300) for text in turn_lines(f"run{number}", number))
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "process", "--clock", clock]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:  # noqa: S603  # ourselves
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            program.stdin.write(data)
            program.stdin.close()
        assert program.stderr.read() == b""
        assert program.wait(timeout=60) == 0


def test_every_command_explains_itself_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` of each, and the list of all."""
    for command in COMMANDS:
        with pytest.raises(SystemExit) as caught:
            main([command.NAME, "--help"])
        assert caught.value.code == 0
        assert command.EXAMPLE in capsys.readouterr().out


def test_the_demo_plays_in_a_pipe_as_plain_lines(capfd: pytest.CaptureFixture[str]) -> None:
    """One line per emission, ending with the terminal."""
    assert main(["demo", "--terminal", "--speed", "200"]) == 0
    lines = capfd.readouterr().out.splitlines()
    kinds = [json.loads(text)["type"] for text in lines]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_complete"
    assert {"message", "thinking", "tool_call"} <= set(kinds)


def test_a_demo_whose_reader_has_gone_ends_quietly() -> None:
    """`turnwire demo --terminal | head -1` is what people type."""
    command = [sys.executable, "-m", "turnwire.runtime.cli.main", "demo", "--terminal", "--speed", "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:  # noqa: S603  # ourselves
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(timeout=60) == 0


def test_the_program_knows_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Named with the program."""
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("turnwire 0.")
