"""What holds for every stream, however odd: invariants over streams made by chance."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.conversations import STRATEGIES, Stage, briefs
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationOptions
from turnwire.messages.agui.codec import decode_agui, encode_agui
from turnwire.messages.agui.events import (
    Custom,
    RunError,
    RunErrorInfo,
    RunFinished,
    RunStarted,
    StepFinished,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
    UnknownAguiEvent,
)
from turnwire.messages.agui.more_events import (
    AnyAguiEvent,
    ReasoningEncryptedValue,
    ReasoningMessageContent,
    TextMessageChunk,
    ToolCallChunk,
    ToolCallResult,
)
from turnwire.messages.ui import TextPart, ThinkingPart, ToolCallPart, ToolResultPart, UIMessage
from turnwire.messages.ui_codec import decode_ui_messages, encode_ui_messages

MESSAGE_IDS = st.sampled_from(["m1", "m2", "m3"])
CALL_IDS = st.sampled_from(["c1", "c2", "c3", "c4"])
STEP_IDS = st.sampled_from(["s1", "s2"])
PIECES = st.sampled_from(["", " ", "a", "word ", " two", "end. ", "\n", "é", "😀", "{", '"x"', ", "])
SEALED = {"turnwire.providerData": {"format": "f"}}
ARGUMENTS = st.sampled_from(["", "{", "}", '{"a":', "1", '"b"', "[]"])


def custom_request(call_id: str, number: int) -> Custom:
    approval = {"id": f"a-{call_id}-{number}", "needsApproval": True}
    data = {"toolCallId": call_id, "toolName": "t", "input": {"n": number}, "approval": approval}
    return Custom(name="approval-requested", data=data)


EVENTS: st.SearchStrategy[AnyAguiEvent] = st.one_of(
    st.builds(TextMessageContent, message_id=MESSAGE_IDS, delta=PIECES),
    st.builds(TextMessageContent, message_id=MESSAGE_IDS, delta=PIECES),
    st.builds(TextMessageStart, message_id=MESSAGE_IDS, role=st.sampled_from(["assistant", "assistant", "user"])),
    st.builds(TextMessageEnd, message_id=MESSAGE_IDS, metadata=st.none() | st.just(SEALED)),
    st.builds(ToolCallStart, tool_call_id=CALL_IDS, tool_name=st.just("t")),
    st.builds(ToolCallArgs, tool_call_id=CALL_IDS, delta=ARGUMENTS),
    st.builds(ToolCallEnd, tool_call_id=CALL_IDS, result=st.none() | ARGUMENTS, input=st.none() | st.just({"i": 1})),
    st.builds(ToolCallResult, tool_call_id=CALL_IDS, content=ARGUMENTS),
    st.builds(StepFinished, step_id=STEP_IDS, delta=PIECES, signature=st.none() | st.just("sig")),
    st.builds(ReasoningMessageContent, message_id=STEP_IDS, delta=PIECES),
    st.builds(
        ReasoningEncryptedValue,
        subtype=st.sampled_from(["message", "tool-call"]),
        entity_id=CALL_IDS | STEP_IDS,
        encrypted_value=st.just("sealed"),
    ),
    st.builds(TextMessageChunk, message_id=st.none() | MESSAGE_IDS, delta=PIECES),
    st.builds(ToolCallChunk, tool_call_id=st.none() | CALL_IDS, tool_name=st.none() | st.just("t"), delta=ARGUMENTS),
    st.builds(custom_request, CALL_IDS, st.integers(0, 1)),
    st.just(RunStarted(run_id="r")),
    st.just(RunFinished(run_id="r", finish_reason="tool_calls")),
    st.just(RunError(error=RunErrorInfo(message="x"))),
    st.just(UnknownAguiEvent(type="NOISE")),
)
STREAMS = st.lists(EVENTS, max_size=40)
NAMES = st.sampled_from([*STRATEGIES])


def texts_of(messages: Sequence[UIMessage]) -> str:
    """Give what the assistant said."""
    parts = (part for message in messages if message.role == "assistant" for part in message.parts)
    return "".join(part.content for part in parts if isinstance(part, TextPart))


def play(name: str, stream: Sequence[AnyAguiEvent], **options: Any) -> Stage:
    return Stage(name, options=options).play(list(stream))


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS)
def test_the_text_parts_joined_are_the_content_of_the_result(name: str, stream: list[AnyAguiEvent]) -> None:
    stage = play(name, stream)
    content = stage.machine.result.content
    assert texts_of(stage.machine.messages) == content or (not content.strip() and not stage.machine.messages)


@settings(deadline=None)  # a busy machine is no bug
@given(STREAMS, st.sampled_from(["full", "classic"]), st.sampled_from(["message", "step"]))
def test_every_strategy_ends_in_the_same_messages(stream: list[AnyAguiEvent], states: Any, thinking: Any) -> None:
    ends = [play(name, stream, states=states, thinking=thinking) for name in STRATEGIES]
    assert all(list(end.machine.messages) == list(ends[0].machine.messages) for end in ends)
    assert all(end.machine.result == ends[0].machine.result for end in ends)


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS)
def test_parts_stand_in_the_order_of_the_stream(name: str, stream: list[AnyAguiEvent]) -> None:
    """Each part that begins is given to the end: a part, once there, keeps its place among those before it."""
    stage = play(name, stream)
    longest: list[str] = []
    for view in stage.listener.views:
        if not view:
            continue
        kinds = [_identity(part) for part in view[-1].parts]
        assert kinds[: len(longest)] == longest
        longest = kinds


def _identity(part: object) -> str:
    match part:
        case ToolCallPart():
            return f"call {part.id}"
        case ToolResultPart():
            return f"result {part.tool_call_id}"
        case _:
            return type(part).__name__


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS)
def test_text_and_calls_are_where_the_stream_had_them(name: str, stream: list[AnyAguiEvent]) -> None:
    """Played without strategies and states: text between two new parts is what the stream said between them."""
    plain = [event for event in stream if isinstance(event, TextMessageContent | ToolCallStart | RunStarted)]
    expected: list[str] = []
    seen: set[str] = set()
    for event in plain:
        if isinstance(event, ToolCallStart) and event.tool_call_id not in seen:
            seen.add(event.tool_call_id)
            expected.append(f"<{event.tool_call_id}>")
        elif isinstance(event, TextMessageContent):
            expected.append(event.delta)
    stage = play(name, plain)
    told = "".join(
        f"<{part.id}>" if isinstance(part, ToolCallPart) else part.content
        for message in stage.machine.messages
        for part in message.parts
        if isinstance(part, ToolCallPart | TextPart)
    )
    assert told == "".join(expected) or not "".join(expected).strip()


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS, st.lists(st.tuples(st.integers(0, 40), CALL_IDS, st.booleans()), max_size=6))
def test_no_approval_and_no_output_is_ever_erased(
    name: str, stream: list[AnyAguiEvent], answers: list[tuple[int, str, bool]]
) -> None:
    """Nor a terminal state taken back; whatever the stream says and whenever the user answers."""
    stage = Stage(name)
    known: dict[str, ToolCallPart] = {}
    for number, event in enumerate(stream):
        stage.machine.process_event(event)
        for at, call_id, approved in answers:
            part = known.get(call_id)
            if at == number and part is not None and part.approval is not None and part.approval.approved is None:
                stage.machine.add_tool_approval_response(part.approval.id, approved)
        for part in _calls(stage.machine.messages):
            if (before := known.get(part.id)) is not None:
                _assert_kept(before, part)
            known[part.id] = part


def _calls(messages: Sequence[UIMessage]) -> list[ToolCallPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]


def _assert_kept(before: ToolCallPart, after: ToolCallPart) -> None:
    if before.approval is not None:
        assert after.approval is not None
        assert before.approval.approved in (None, after.approval.approved)
    assert not before.output or after.output is not None or before.output is after.output
    if before.state in ("complete", "error"):
        assert after.state == before.state


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS)
def test_a_stream_in_one_piece_and_event_by_event_give_the_same(name: str, stream: list[AnyAguiEvent]) -> None:
    options = ConversationOptions(strategy=STRATEGIES[name])
    whole = ConversationMachine(options)
    result = whole.process(stream)
    single = ConversationMachine(options)
    for event in stream:
        single.process_event(decode_agui(encode_agui(event)))
    assert single.finalize() == result
    assert list(single.messages) == list(whole.messages)
    assert single.counts == whole.counts


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS, STREAMS)
def test_messages_survive_their_json_and_go_on_from_there(
    name: str, first: list[AnyAguiEvent], second: list[AnyAguiEvent]
) -> None:
    """A reload between two streams changes nothing."""
    stage = play(name, first)
    again = Stage(name, messages=decode_ui_messages(encode_ui_messages(stage.machine.messages)))
    assert list(again.machine.messages) == list(stage.machine.messages)
    stage.play(second)
    again.play(second)
    assert [briefs(message) for message in again.machine.messages] == [briefs(m) for m in stage.machine.messages]
    assert set(again.machine.pending_approvals) == set(stage.machine.pending_approvals)


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, STREAMS)
def test_views_taken_on_the_way_are_what_the_messages_were_then(name: str, stream: list[AnyAguiEvent]) -> None:
    stage = Stage(name)
    seen: list[tuple[Any, list[UIMessage]]] = []
    for event in stream:
        stage.machine.process_event(event)
        view = stage.machine.messages
        seen.append((view, list(stage.machine.messages)))
    stage.machine.finalize()
    late = [list(stage_view) for stage_view in stage.listener.views]
    assert all(list(view) == then for view, then in seen)
    assert len(late) == len(stage.listener.views)


@settings(deadline=None)  # a busy machine is no bug
@given(STREAMS)
def test_thinking_is_whole_and_its_steps_add_up(stream: list[AnyAguiEvent]) -> None:
    stage = play("immediate", stream)
    parts = [part for message in stage.machine.messages for part in message.parts if isinstance(part, ThinkingPart)]
    assert len(parts) <= 1
    assert "".join(part.content for part in parts) == stage.machine.result.thinking or not stage.machine.messages
    for part in parts:
        if part.provider_data is not None:
            assert "".join(step["content"] for step in part.provider_data["steps"]) == part.content


@settings(deadline=None)  # a busy machine is no bug
@given(NAMES, st.lists(PIECES, min_size=1))
def test_changes_taken_at_each_step_make_up_the_messages(name: str, pieces: list[str]) -> None:
    """Whoever follows the changes knows the messages."""
    machine = ConversationMachine(ConversationOptions(strategy=STRATEGIES[name]))
    known: dict[str, UIMessage] = {}
    for piece in pieces:
        machine.process_event(TextMessageContent(message_id="m", delta=piece))
        _follow(machine, known)
    machine.finalize()
    _follow(machine, known)
    assert list(known.values()) == list(machine.messages)


def _follow(machine: ConversationMachine, known: dict[str, UIMessage]) -> None:
    for change in machine.take_changes():
        message = getattr(change, "message", None)
        if message is None:
            known.pop(change.message_id)  # type: ignore[union-attr]  # nothing else happens here
        else:
            known[message.id] = message
