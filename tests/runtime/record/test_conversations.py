"""Conversations recorded and played back: to the same state, with the same timing."""

from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.kit.conversations import args, asks, call, called, flat, say, text
from turnwire.messages import TextPart, UIMessage
from turnwire.messages.agui.client_lines import (
    ClientApproval,
    ClientMessage,
    ClientStreamEnd,
    ClientToolResult,
    ConversationLine,
    structure_line,
)
from turnwire.messages.agui.events import UnknownAguiEvent
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.errors import InvalidEventError
from turnwire.runtime import open_conversation
from turnwire.runtime.record import (
    load_recording,
    open_recorder,
    play_conversation,
    read_recording,
    record,
    send_line,
)

LINES: list[ConversationLine] = [
    *flat(say("May I?"), call("c1"), args("{}", call_id="c1"), asks("c1"), call("c2"), UnknownAguiEvent(type="LATER")),
    ClientStreamEnd(),
    ClientApproval(approval_id="a1", approved=True),
    ClientToolResult(tool_call_id="c2", output={"n": [1]}, error="late"),
    ClientMessage(message=UIMessage(id="u1", role="user", parts=(TextPart(content="Go on"),))),
    *flat(called("c1", result="done"), text("Done.", message_id="m2")),
]


async def test_a_recorded_conversation_plays_back_to_the_same_state(autojump_clock: MockClock, tmp_path: Path) -> None:
    file = tmp_path / "conversation.jsonl"
    async with open_conversation("t1") as live:
        with open_recorder(file) as recorder:
            for line in LINES:
                recorder.write(line)
                await send_line(live, line)
                await trio.sleep(0.5)
    began = trio.current_time()
    async with open_conversation("t1") as again:
        async for line in play_conversation(load_recording(file)):
            await send_line(again, line)
    assert trio.current_time() - began == pytest.approx(0.5 * (len(LINES) - 1))
    assert list(again.messages) == list(live.messages)
    assert len(live.messages) == 3
    assert (again.result, again.counts, again.pending_approvals) == (live.result, {"unknown_events": 1}, ())


async def test_a_stream_can_be_recorded_on_its_way(autojump_clock: MockClock, tmp_path: Path) -> None:
    async def source() -> AsyncGenerator[AnyAguiEvent, None]:
        for event in text("a", "b"):
            yield event

    file = tmp_path / "stream.jsonl"
    async with open_conversation("t1") as live:
        with open_recorder(file) as recorder:
            await live.process(record(source(), recorder))
    assert [recorded.event for recorded in load_recording(file)] == text("a", "b")


def test_a_file_of_bare_events_is_a_recording_too() -> None:
    wires = BytesIO(
        b'{"type":"RUN_STARTED","runId":"r","timestamp":1000}\n'
        b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","timestamp":1500}\n'
        b'{"type":"CLIENT_APPROVAL","approvalId":"a","approved":true}\n'
    )
    recording = list(read_recording(wires))
    assert [recorded.at for recorded in recording[:2]] == [0, 0.5]
    assert recording[2].event == ClientApproval(approval_id="a", approved=True)


def test_what_is_no_line_is_named() -> None:
    for wrong in (b'{"type":"CLIENT_MESSAGE","message":{"id":"u"}}', b'{"what":1}', b'{"type":"RUN_STARTED"}'):
        with pytest.raises(ValueError, match="line 1"):
            list(read_recording([wrong]))
    with pytest.raises(InvalidEventError) as caught:
        structure_line({"type": "CLIENT_MESSAGE", "message": {"id": "u", "role": "user", "parts": [{"type": "x"}]}})
    assert caught.value.path == "$.message.parts[0].type"
    with pytest.raises(InvalidEventError, match="an array"):
        structure_line([])
