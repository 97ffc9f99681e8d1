"""Chunks, snapshots, the state beside the messages, and what is ignored."""

from typing import Any

import pytest

from tests.kit.conversations import (
    SNAPSHOT,
    Stage,
    args,
    asks,
    begin,
    briefs,
    call,
    called,
    finished,
    say,
    text,
    think,
    under_every_strategy,
)
from turnwire.messages.agui.codec import structure_agui
from turnwire.messages.agui.custom import ApprovalRequested, ToolInputAvailable, read_custom, tell_custom
from turnwire.messages.agui.events import Custom, UnknownAguiEvent
from turnwire.messages.agui.more_events import (
    AnyAguiEvent,
    ReasoningMessageChunk,
    StateDelta,
    StateSnapshot,
    TextMessageChunk,
    ToolCallChunk,
)
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.events import Usage
from turnwire.messages.ui import Approval, TextPart, ThinkingPart, UIMessage


def question(number: int = 1) -> UIMessage:
    return UIMessage(id=f"u{number}", role="user", parts=(TextPart(content="Why?"),))


@under_every_strategy
def test_text_chunks_are_blocks_of_text(strategy: str) -> None:
    chunks = [
        TextMessageChunk(message_id="m1", delta="One"),
        TextMessageChunk(delta=" two"),
        TextMessageChunk(message_id="m2", role="assistant", delta="Three"),
    ]
    empty: list[AnyAguiEvent] = [TextMessageChunk(message_id="m2"), ReasoningMessageChunk(message_id="r")]
    stage = Stage(strategy).play(TextMessageChunk(delta="lost"), chunks, empty)
    assert stage.parts == ["text 'One two'", "text 'Three'"]
    assert stage.machine.counts == {"nameless_chunk": 1}


def test_a_tool_chunk_of_another_call_ends_the_one_before() -> None:
    stage = Stage()
    stage.send(
        ToolCallChunk(tool_call_id="c1", tool_name="look", delta="{}"),
        ToolCallChunk(tool_call_id="c2", tool_name="look"),
    )
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET", "call c2 awaiting-input '' UNSET -> UNSET"]


def test_tool_chunks_are_calls() -> None:
    stage = Stage().play(
        ToolCallChunk(delta="lost"),
        ToolCallChunk(tool_call_id="c0", delta="no name"),
        ToolCallChunk(tool_call_id="c1", tool_name="look", delta='{"a"'),
        ToolCallChunk(delta=":1}"),
        ToolCallChunk(tool_call_id="c2", tool_name="find"),
        ReasoningMessageChunk(delta="lost"),
    )
    assert stage.parts == [
        "call c1 input-complete '{\"a\":1}' {'a': 1} -> UNSET",
        "call c2 input-complete '' UNSET -> UNSET",
    ]
    assert stage.machine.counts == {"nameless_chunk": 3}


def test_a_messages_snapshot_replaces_the_messages() -> None:
    stage = Stage(messages=[question()]).play(text("old"))
    stage.send(structure_agui(SNAPSHOT))
    assert [(message.id, message.role, briefs(message)) for message in stage.machine.messages] == [
        ("u1", "user", ["text 'Look'", "image http://x/y.png"]),
        (
            "a1",
            "assistant",
            [
                "thinking 'Hm'",
                "text 'Let me see'",
                "call c1 complete '{}' {} -> [1]",
                "result c1 complete '[1]' None",
                "text 'One.'",
            ],
        ),
        ("s1", "system", ["text 'Be brief'"]),
        ("a3", "assistant", ["call c2 error '{' UNSET -> ''", "result c2 error '' 'bad arguments'"]),
    ]
    thinking = stage.machine.messages[1].parts[0]
    assert isinstance(thinking, ThinkingPart)
    assert thinking.provider_data == {"steps": [{"stepId": "r1", "content": "Hm", "encryptedValue": "e"}]}


def test_a_late_answer_in_a_snapshot_goes_to_the_message_with_the_call() -> None:
    messages = [
        {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}]},
        {"id": "u", "role": "user", "content": "Well?"},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "late"},
        {"id": "o", "role": "tool", "toolCallId": "nobody's", "content": "lost"},
    ]  # fmt: skip
    stage = Stage(options={"states": "classic"})
    stage.send(structure_agui({"type": "MESSAGES_SNAPSHOT", "messages": messages}))
    assert [(message.id, briefs(message)) for message in stage.machine.messages] == [
        ("a", ["call c input-complete '{}' {} -> 'late'", "result c complete 'late' None"]),
        ("u", ["text 'Well?'"]),
        ("o", ["result nobody's complete 'lost' None"]),
    ]


@under_every_strategy
def test_a_stream_goes_on_after_a_snapshot_in_a_new_message(strategy: str) -> None:
    stage = Stage(strategy).play(
        begin(),
        say("lo", "st"),
        call("c9"),
        think("x"),
        structure_agui(SNAPSHOT),
        args("{", call_id="c9"),
        say("More"),
        think("y"),
        call("c3"),
        finished(),
    )
    assert stage.parts == ["text 'More'", "thinking 'y'", "call c3 input-complete '' UNSET -> UNSET"]
    assert stage.told.count("start") == 1
    assert stage.told[-1] == f"end {stage.machine.messages[-1].id}"
    assert stage.machine.counts == {"args_for_unknown_call": 1}


def test_a_snapshot_erases_no_approval_and_no_output() -> None:
    """AG-UI's messages cannot tell of approvals: what was known of a call stays known."""
    stage = Stage().play(call("c2"), args("{", call_id="c2"), asks("c2"), called("c2", result="7"))
    quiet = {**SNAPSHOT, "messages": SNAPSHOT["messages"][:-1]}
    stage.send(structure_agui(quiet))
    assert stage.parts == ["call c2 complete '{' UNSET -> 7 a1=None"]
    stage.machine.add_tool_approval_response("a1", approved=True)
    assert stage.parts == ["call c2 complete '{' UNSET -> 7 a1=True"]


def test_state_is_kept_by_snapshot_and_patch() -> None:
    stage = Stage().play(
        StateSnapshot(snapshot={"a": [1]}),
        StateDelta(delta=({"op": "add", "path": "/a/-", "value": 2}, {"op": "replace", "path": "/a/0", "value": 0})),
    )
    assert stage.machine.state == {"a": [0, 2]}
    assert stage.told == ["state {'a': [1]}", "state {'a': [0, 2]}"]
    assert list(stage.machine.messages) == []


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "remove", "path": "/nothing"}],
        [{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/a", "value": 2}],
        [{"op": "jump", "path": "/a"}],
        [{"op": "add"}],
        [{}],
        [{"op": "add", "path": 7, "value": 1}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "move", "from": "/a", "path": "/a/b"}],
        [{"op": "replace", "path": "/a/x/y", "value": 1}],
        [{"op": "add", "path": "/a/99", "value": 1}],
        [{"op": ["add"], "path": "/a", "value": 1}],
        [{"op": "copy", "from": None, "path": "/a"}],
    ],
)
def test_a_bad_patch_is_counted_and_changes_nothing(patch: list[dict[str, Any]]) -> None:
    stage = Stage().play(StateSnapshot(snapshot={"a": [1]}), StateDelta(delta=tuple(patch)))
    assert stage.machine.state == {"a": [1]}
    assert stage.machine.counts == {"bad_state_patches": 1}
    assert stage.told == ["state {'a': [1]}"]


def test_unknown_events_are_ignored_and_counted() -> None:
    stage = Stage().play(UnknownAguiEvent(type="SOMETHING_NEW"), text("x"), UnknownAguiEvent(type="SOMETHING_NEW"))
    assert stage.parts == ["text 'x'"]
    assert stage.machine.counts == {"unknown_events": 2}


def test_custom_events_of_others_go_to_the_callback() -> None:
    assert Stage().play(Custom(name="mood", data={"is": "good"})).told == ["custom mood {'is': 'good'}"]


@pytest.mark.parametrize(
    ("name", "data", "path"),
    [
        ("tool-input-available", {"toolName": "x"}, "$.data.toolCallId"),
        ("tool-input-available", None, "$.data"),
        ("approval-requested", {"toolCallId": "c", "toolName": "x"}, "$.data.approval"),
        ("approval-requested", {"toolCallId": "c", "toolName": "x", "approval": {"id": 5}}, "$.data.approval.id"),
    ],
)
def test_a_malformed_request_to_the_client_is_an_error_that_says_where(name: str, data: Any, path: str) -> None:
    stage = Stage()
    with pytest.raises(InvalidEventError) as caught:
        stage.machine.process_event(Custom(name=name, data=data))
    assert caught.value.path == path


def test_requests_to_the_client_can_be_made() -> None:
    """`tell_custom` words what `read_custom` reads."""
    for request in (
        ToolInputAvailable(tool_call_id="c", tool_name="t", input={"a": None}),
        ApprovalRequested(tool_call_id="c", tool_name="t", approval=Approval(id="a"), input=[1]),
    ):
        assert read_custom(tell_custom(request)) == request


def test_usage_of_all_iterations_is_added_up() -> None:
    stage = Stage().play(
        finished(usage=Usage(prompt_tokens=1)), finished(usage=Usage(prompt_tokens=2, total_tokens=5)), finished(None)
    )
    assert stage.machine.result.usage == Usage(prompt_tokens=3, total_tokens=5)
    assert stage.machine.result.finish_reason is None


def test_chunks_of_the_user_are_a_message_before_what_follows_them() -> None:
    stage = Stage()
    stage.send(
        TextMessageChunk(message_id="u", role="user", delta="Hi"),
        TextMessageChunk(message_id="m", role="assistant", delta="Hello"),
    )
    assert [(message.id, message.role) for message in stage.machine.messages] == [("u", "user"), ("msg-1", "assistant")]


def test_chunks_end_when_something_else_happens() -> None:
    """As in AG-UI's own client: the call is whole, and what names nothing belongs to nothing."""
    stage = Stage()
    stage.send(
        ToolCallChunk(tool_call_id="c1", tool_name="look", delta="{}"), TextMessageChunk(message_id="m", delta="A")
    )
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET", "text 'A'"]
    stage.send(ToolCallChunk(delta="lost"), begin("n"), TextMessageChunk(delta="lost"))
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET", "text 'A'"]
    assert stage.machine.counts == {"nameless_chunk": 2}


def test_a_malformed_event_amid_chunks_ends_none() -> None:
    stage = Stage()
    stage.send(ToolCallChunk(tool_call_id="c1", tool_name="look", delta="{"))
    with pytest.raises(InvalidEventError):
        stage.machine.process_event(Custom(name="approval-requested", data={}))
    stage.send(ToolCallChunk(delta="}"))
    assert stage.parts == ["call c1 input-streaming '{}' UNSET -> UNSET"]


def test_a_users_character_in_two_halves_is_whole() -> None:
    stage = Stage().play(begin("u", role="user"), say("\ud83d", "\ude00", message_id="u"))
    assert stage.parts == ["text '😀'"]


def test_a_snapshot_keeps_what_providers_have_sealed() -> None:
    """Of messages, of thinking, of calls and of results."""
    call_wire = {"id": "c1", "type": "function", "encryptedValue": "3", "function": {"name": "look", "arguments": "{}"}}
    stage = Stage()
    stage.send(
        structure_agui(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "u", "role": "user", "content": "Look", "encryptedValue": "0"},
                    {"id": "r", "role": "reasoning", "content": "Hm", "encryptedValue": "1"},
                    {"id": "a", "role": "assistant", "toolCalls": [call_wire], "encryptedValue": "2"},
                    {"id": "t", "role": "tool", "toolCallId": "c1", "content": "ok", "encryptedValue": "4"},
                    {"id": "b", "role": "assistant", "content": "So.", "encryptedValue": "5"},
                ],
            }
        )
    )
    asked, answered = stage.machine.messages
    assert asked.provider_data == {"encryptedValues": {"u": "0"}}
    assert answered.provider_data == {"encryptedValues": {"a": "2"}}
    assert [part.provider_data for part in answered.parts] == [
        {"steps": [{"stepId": "r", "content": "Hm", "encryptedValue": "1"}]},
        {"encryptedValue": "3"},
        {"encryptedValue": "4"},
        {"encryptedValue": "5"},
    ]


def test_an_answer_in_a_snapshot_is_that_of_the_call_before_it() -> None:
    """Where a host numbers its calls anew, the older call keeps its own answer."""
    look = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    stage = Stage()
    stage.send(
        structure_agui(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "a", "role": "assistant", "toolCalls": look},
                    {"id": "t", "role": "tool", "toolCallId": "c1", "content": "1"},
                    {"id": "b", "role": "assistant", "toolCalls": look},
                    {"id": "s", "role": "tool", "toolCallId": "c1", "content": "2"},
                ],
            }
        )
    )
    assert stage.parts == [
        "call c1 complete '{}' {} -> 1",
        "result c1 complete '1' None",
        "call c1 complete '{}' {} -> 2",
        "result c1 complete '2' None",
    ]
