"""The outputs of every recording and the demo before the AI SDK: its schema and its own reader, from npm `ai` 6."""

from functools import cache

import pytest

from tests.kit.recorded_turns import STREAMS, run_turns
from tests.kit.recordings import ALL, RECORDINGS
from tests.kit.ui_message_client import UiVerdict, ask_sdk, require_sdk
from turnwire.messages import Message, Thinking, ToolCall, TurnError, fold_outputs
from turnwire.messages.dialects.call_texts import error_of
from turnwire.messages.dialects.ui_message import outputs_to_ui_message

each_stream = pytest.mark.parametrize("name", STREAMS)


@cache
def verdicts() -> dict[tuple[str, str], UiVerdict]:
    """Give the SDK's verdict on each turn: read from its start, and joined halfway with a snapshot."""
    require_sdk()
    streams = {f"early {name}": outputs_to_ui_message(outputs) for name, outputs in run_turns().items()}
    for name, outputs in run_turns().items():
        half = len(outputs) // 2
        streams[f"late {name}"] = outputs_to_ui_message([*fold_outputs(outputs[:half]).outputs, *outputs[half:]])
    told = ask_sdk(streams)
    return {(key.partition(" ")[0], key.partition(" ")[2]): verdict for key, verdict in told.items()}


def test_the_recordings_were_there() -> None:
    """Say so if only the demo was put before the SDK."""
    if not ALL:
        pytest.skip(f"no recordings at {RECORDINGS}: only the demo was put before the SDK")


@each_stream
def test_the_sdk_takes_every_chunk(name: str) -> None:
    """Its schema refuses none, and its reader complains of nothing but the turn's own failure."""
    verdict, end = verdicts()["early", name], fold_outputs(run_turns()[name]).terminal
    assert verdict.refused == []
    assert verdict.errors == ([end.error.message or end.error.code] if isinstance(end, TurnError) else [])


@each_stream
def test_the_sdk_shows_what_the_turn_said(name: str) -> None:
    """Texts, thoughts, calls, inputs, outputs and errors are those of our own fold, in its order."""
    fold, verdict = fold_outputs(run_turns()[name]), verdicts()["early", name]
    assert verdict.message["id"] == name
    assert verdict.texts() == [i.content for i in fold.items if isinstance(i, Message) and i.origin != "user"]
    assert verdict.texts("reasoning") == [item.content for item in fold.items if isinstance(item, Thinking)]
    calls = [item for item in fold.items if isinstance(item, ToolCall)]
    assert [(part["toolCallId"], part["toolName"]) for part in verdict.calls] == [
        (item.call_id or item.item_id, item.tool_name) for item in calls
    ]
    for part, item in zip(verdict.calls, calls, strict=True):
        assert part["input"] == (item.tool_arguments or item.content or {})
        assert part.get("errorText") == error_of(item)
        assert part.get("output") == (None if error_of(item) else item.tool_output)


@each_stream
def test_a_late_reader_is_shown_the_same(name: str) -> None:
    """Joined halfway, the stream comes to the same message."""
    late, early = verdicts()["late", name], verdicts()["early", name]
    assert (late.refused, late.errors) == ([], early.errors)
    assert (late.parts, late.message["metadata"]) == (early.parts, early.message["metadata"])
