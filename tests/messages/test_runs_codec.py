"""Inputs of runs, calls that wait, and answers as JSON."""

import json

import pytest

from turnwire.messages.errors import InvalidEventError
from turnwire.messages.runs import ApprovalAnswer, PendingCall, RunInput, ToolAnswer, ToolSpec
from turnwire.messages.runs_codec import (
    decode_answer,
    decode_pending,
    decode_run_input,
    encode_answer,
    encode_pending,
    encode_run_input,
)
from turnwire.messages.ui import TextPart, UIMessage

HELLO = UIMessage(id="u1", role="user", parts=(TextPart(content="Hello"),))
PENDING = PendingCall(
    kind="approval", thread_id="th", run_id="r", tool_call_id="c", tool_name="t", input={"a": None}, approval_id="a"
)


def test_an_input_survives_the_wire_with_camel_case_names() -> None:
    """What is not there is left out; no messages is not the same as none."""
    bare = RunInput(run_id="r", turn_id="t", thread_id="th")
    assert decode_run_input(encode_run_input(bare)) == bare
    full = RunInput(
        run_id="r",
        turn_id="t",
        thread_id="th",
        messages=(),
        new_messages=(HELLO,),
        answers=(ApprovalAnswer(approval_id="a", approved=False), ToolAnswer(tool_call_id="c", output=[1])),
        client_tools=(ToolSpec(name="pick"),),
        model="m",
        state=[1],
        instructions="Be brief",
    )
    data = encode_run_input(full)
    assert decode_run_input(data) == full
    assert b'"newMessages"' in data
    assert b'{"type":"approval-answer","approvalId":"a","approved":false}' in data
    assert b'"messages":[]' in data
    assert b'"messages"' not in encode_run_input(bare)


def test_answers_and_waiting_calls_survive_the_wire() -> None:
    """Each kind under its own name."""
    for answer in (
        ApprovalAnswer(approval_id="a", approved=True),
        ToolAnswer(tool_call_id="c", output={"x": 1}, error="e"),
    ):
        assert decode_answer(encode_answer(answer)) == answer
    assert decode_pending(encode_pending([PENDING])) == (PENDING,)
    assert json.loads(encode_pending([PENDING])) == [
        {
            "kind": "approval",
            "threadId": "th",
            "runId": "r",
            "toolCallId": "c",
            "toolName": "t",
            "input": {"a": None},
            "approvalId": "a",
        }
    ]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("{", "$"),
        ('{"runId": "r", "turnId": "t"}', "$"),
        ('{"runId": "", "turnId": "t", "threadId": "th"}', "$.runId"),
        (
            '{"runId": "r", "turnId": "t", "threadId": "th", "newMessages": [{"id": "u", "role": "x"}]}',
            "$.newMessages[0].role",
        ),
        ('{"runId": "r", "turnId": "t", "threadId": "th", "answers": [{"type": "yes"}]}', "$.answers[0].type"),
        ('{"runId": "r", "turnId": "t", "threadId": "th", "clientTools": [{}]}', "$.clientTools[0]"),
    ],
)
def test_wrong_json_is_refused_with_a_path(data: str, path: str) -> None:
    """So that whoever sent it can mend it."""
    with pytest.raises(InvalidEventError) as refused:
        decode_run_input(data)
    assert refused.value.path.startswith(path)


def test_a_number_that_is_none_is_refused() -> None:
    """JSON has no NaN."""
    with pytest.raises(ValueError, match="nan is not JSON"):
        encode_answer(ToolAnswer(tool_call_id="c", output=float("nan")))
