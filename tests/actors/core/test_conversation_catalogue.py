"""The catalogue of the specification, case by case, under every chunk strategy: parts, result and callbacks."""

import pytest

from tests.kit.conversations import (
    RUN,
    Stage,
    args,
    asks,
    begin,
    briefs,
    call,
    called,
    end,
    failed,
    finished,
    say,
    text,
    think,
    under_every_strategy,
)
from turnwire.messages.agui.events import Custom
from turnwire.messages.errors import ApprovalAnsweredError
from turnwire.messages.events import Usage
from turnwire.messages.ui import CalledTool, ProcessorResult

HELLO = ("Hel", "lo, ", "wor", "ld. ", "Bye", " now")
WHOLE = "".join(HELLO)
LOOKED = CalledTool(id="c1", name="look", arguments="{}")
NEVER_SAID = CalledTool(id="c1", name="look", arguments="")


@under_every_strategy
def test_catalogue_text_only(strategy: str) -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=4, total_tokens=7)
    stage = Stage(strategy).play(RUN, text(*HELLO), finished(usage=usage))
    assert stage.parts == [f"text {WHOLE!r}"]
    assert stage.machine.messages[0].role == "assistant"
    assert stage.machine.result == ProcessorResult(content=WHOLE, finish_reason="stop", usage=usage)
    assert stage.told == ["start", *stage.texts(*HELLO), "end msg-1"]


@under_every_strategy
def test_catalogue_tool_call_only(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, call(), args('{"a"', ": 1}"), called(), finished("tool_calls"))
    assert stage.parts == ["call c1 input-complete '{\"a\": 1}' {'a': 1} -> UNSET"]
    calls = (CalledTool(id="c1", name="look", arguments='{"a": 1}'),)
    assert stage.machine.result == ProcessorResult(tool_calls=calls, finish_reason="tool_calls")
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        'call msg-1 c1 input-streaming {"a"',
        'call msg-1 c1 input-streaming {"a": 1}',
        'call msg-1 c1 input-complete {"a": 1}',
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_text_then_tool(strategy: str) -> None:
    """What waits of the text is shown before the call is added, though its block has not ended."""
    stage = Stage(strategy).play(RUN, begin(), say(*HELLO), call(), args("{}"), called(), end(), finished("tool_calls"))
    assert stage.parts == [f"text {WHOLE!r}", "call c1 input-complete '{}' {} -> UNSET"]
    assert stage.machine.result == ProcessorResult(content=WHOLE, tool_calls=(LOOKED,), finish_reason="tool_calls")
    assert stage.told == [
        "start",
        *stage.texts(*HELLO),
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_parallel_tools_interleaved(strategy: str) -> None:
    stage = Stage(strategy).play(
        RUN,
        call("c1"),
        call("c2", "find"),
        args('{"x":', call_id="c1"),
        args('{"y":', call_id="c2"),
        args("1}", call_id="c1"),
        called("c1"),
        args("2}", call_id="c2"),
        called("c2"),
        finished("tool_calls"),
    )
    assert stage.parts == [
        "call c1 input-complete '{\"x\":1}' {'x': 1} -> UNSET",
        "call c2 input-complete '{\"y\":2}' {'y': 2} -> UNSET",
    ]
    calls = (
        CalledTool(id="c1", name="look", arguments='{"x":1}'),
        CalledTool(id="c2", name="find", arguments='{"y":2}'),
    )
    assert stage.machine.result == ProcessorResult(tool_calls=calls, finish_reason="tool_calls")
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c2 awaiting-input ",
        'call msg-1 c1 input-streaming {"x":',
        'call msg-1 c2 input-streaming {"y":',
        'call msg-1 c1 input-streaming {"x":1}',
        'call msg-1 c1 input-complete {"x":1}',
        'call msg-1 c2 input-streaming {"y":2}',
        'call msg-1 c2 input-complete {"y":2}',
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_parallel_tools_in_sequence(strategy: str) -> None:
    stage = Stage(strategy).play(
        RUN, call("c1"), args("{}", call_id="c1"), called("c1"), call("c2"), args("[]", call_id="c2"), called("c2")
    )
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET", "call c2 input-complete '[]' [] -> UNSET"]
    calls = (CalledTool(id="c1", name="look", arguments="{}"), CalledTool(id="c2", name="look", arguments="[]"))
    assert stage.machine.result == ProcessorResult(tool_calls=calls)
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "call msg-1 c2 awaiting-input ",
        "call msg-1 c2 input-streaming []",
        "call msg-1 c2 input-complete []",
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_an_empty_argument_delta_keeps_awaiting_input(strategy: str) -> None:
    stage = Stage(strategy)
    stage.machine.prepare_assistant_message()
    stage.send(RUN, call(), args("", ""))
    assert stage.parts == ["call c1 awaiting-input '' UNSET -> UNSET"]
    assert stage.told == ["start", "call msg-1 c1 awaiting-input "]
    assert stage.machine.result == ProcessorResult(tool_calls=(NEVER_SAID,))
    stage.send(args("", "{}", ""))
    assert stage.parts == ["call c1 input-streaming '{}' UNSET -> UNSET"]
    stage.step(stage.machine.finalize)
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET"]
    assert stage.machine.result == ProcessorResult(tool_calls=(LOOKED,))
    assert stage.told[2:] == ["call msg-1 c1 input-streaming {}", "call msg-1 c1 input-complete {}", "end msg-1"]


@under_every_strategy
def test_catalogue_a_missing_end_is_made_good_by_run_finished(strategy: str) -> None:
    """Of every call that is awaiting-input or input-streaming; and RUN_FINISHED does not latch: the stream goes on."""
    stage = Stage(strategy)
    stage.machine.prepare_assistant_message()
    stage.send(RUN, call("c1"), args("{}", call_id="c1"), call("c2"), finished("tool_calls"))
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET", "call c2 input-complete '' UNSET -> UNSET"]
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c2 awaiting-input ",
        "call msg-1 c1 input-complete {}",
        "call msg-1 c2 input-complete ",
    ]
    stage.send(RUN, text(*HELLO), finished("length"))
    stage.step(stage.machine.finalize)
    assert stage.parts[2:] == [f"text {WHOLE!r}"]
    calls = (LOOKED, CalledTool(id="c2", name="look", arguments=""))
    assert stage.machine.result == ProcessorResult(content=WHOLE, tool_calls=calls, finish_reason="length")
    assert stage.told[6:] == [*stage.texts(*HELLO), "end msg-1"]


@under_every_strategy
def test_catalogue_the_input_of_the_end_overrides_the_accumulated_text(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, call(), args('{"a": 1'), called(input={"a": 2}), finished("tool_calls"))
    assert stage.parts == ["call c1 input-complete '{\"a\":2}' {'a': 2} -> UNSET"]
    calls = (CalledTool(id="c1", name="look", arguments='{"a":2}'),)
    assert stage.machine.result == ProcessorResult(tool_calls=calls, finish_reason="tool_calls")
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        'call msg-1 c1 input-streaming {"a": 1',
        'call msg-1 c1 input-complete {"a":2}',
        "end msg-1",
    ]
    same = Stage(strategy).play(RUN, call(), args('{"a":  2}'), called(input={"a": 2}))
    assert same.parts == ["call c1 input-complete '{\"a\":  2}' {'a': 2} -> UNSET"], "what says the same stays as it is"


@under_every_strategy
def test_catalogue_thinking_then_text(strategy: str) -> None:
    """One part where thinking first came, updated in place."""
    stage = Stage(strategy).play(RUN, think("Let me "), think("see."), text(*HELLO), think(" Done."), finished())
    assert stage.parts == ["thinking 'Let me see. Done.'", f"text {WHOLE!r}"]
    assert stage.machine.result == ProcessorResult(content=WHOLE, thinking="Let me see. Done.", finish_reason="stop")
    assert stage.told == [
        "start",
        "thinking msg-1 Let me ",
        "thinking msg-1 Let me see.",
        *stage.texts(*HELLO),
        "thinking msg-1 Let me see. Done.",
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_end_with_result(strategy: str) -> None:
    """The output is parsed, the result is the raw text. An empty text is a result, and what is no JSON is a text."""
    stage = Stage(strategy).play(RUN, call(), args("{}"), called(), called(result='{"b": 2}'), finished())
    assert stage.parts == ["call c1 complete '{}' {} -> {'b': 2}", "result c1 complete '{\"b\": 2}' None"]
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "call msg-1 c1 complete {}",
        "end msg-1",
    ]
    assert stage.machine.result == ProcessorResult(tool_calls=(LOOKED,), finish_reason="stop")
    empty = Stage(strategy).play(RUN, call(), called(result=""))
    assert empty.parts == ["call c1 complete '' UNSET -> ''", "result c1 complete '' None"]
    states = ("awaiting-input", "input-complete", "complete")
    assert empty.told == ["start", *(f"call msg-1 c1 {state} " for state in states), "end msg-1"]
    plain = Stage(strategy).play(RUN, call(), called(result="not { json", error="no such city"))
    assert plain.parts == ["call c1 error '' UNSET -> 'not { json'", "result c1 error 'not { json' 'no such city'"]


@under_every_strategy
def test_catalogue_client_tool(strategy: str) -> None:
    """The client is asked, and answers: before or after the end of the stream."""
    asked = Custom(name="tool-input-available", data={"toolCallId": "c1", "toolName": "look", "input": {"a": 1}})
    stage = Stage(strategy).play(RUN, call(), args('{"a":1}'), called(), asked, finished("tool_calls"))
    calls = (CalledTool(id="c1", name="look", arguments='{"a":1}'),)
    assert stage.machine.result == ProcessorResult(tool_calls=calls, finish_reason="tool_calls")
    told = [
        "start",
        "call msg-1 c1 awaiting-input ",
        'call msg-1 c1 input-streaming {"a":1}',
        'call msg-1 c1 input-complete {"a":1}',
        "tool c1 look {'a': 1}",
        "end msg-1",
    ]
    assert stage.told == told
    stage.step(stage.machine.add_tool_result, "c1", {"b": [2]})
    assert stage.parts == [
        "call c1 complete '{\"a\":1}' {'a': 1} -> {'b': [2]}",
        "result c1 complete '{\"b\":[2]}' None",
    ]
    assert stage.told == [*told, 'call msg-1 c1 complete {"a":1}']
    broken = Stage(strategy)
    broken.send(RUN, call(), args("{}"), called(), asked)
    broken.step(broken.machine.add_tool_result, "c1", "half", "it broke")
    broken.step(broken.machine.finalize)
    assert broken.parts == ["call c1 error '{}' {} -> 'half'", "result c1 error 'half' 'it broke'"]
    assert broken.told[4:] == ["tool c1 look {'a': 1}", "call msg-1 c1 error {}", "end msg-1"]


@under_every_strategy
@pytest.mark.parametrize("approved", [True, False])
def test_catalogue_approval_flow(strategy: str, *, approved: bool) -> None:
    stage = Stage(strategy).play(RUN, call(), args("{}"), called(), asks(value={}), finished("tool_calls"))
    assert stage.parts == ["call c1 approval-requested '{}' {} -> UNSET a1=None"]
    told = [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "call msg-1 c1 approval-requested {}",
        "approval c1 look {} a1",
        "end msg-1",
    ]
    assert stage.told == told
    assert stage.machine.pending_approvals == ("a1",)
    stage.step(stage.machine.add_tool_approval_response, "a1", approved)
    assert stage.parts == [f"call c1 approval-responded '{{}}' {{}} -> UNSET a1={approved}"]
    assert stage.told == [*told, "call msg-1 c1 approval-responded {}"]
    assert not stage.machine.pending_approvals
    assert stage.machine.result == ProcessorResult(tool_calls=(LOOKED,), finish_reason="tool_calls")


@under_every_strategy
def test_catalogue_text_tool_text(strategy: str) -> None:
    """The text after the call is a part of its own, also under the same message id and without a start."""
    stage = Stage(strategy).play(RUN, begin(), say(*HELLO), call(), called(), say("And ", "then."), finished())
    assert stage.parts == [f"text {WHOLE!r}", "call c1 input-complete '' UNSET -> UNSET", "text 'And then.'"]
    whole = f"{WHOLE}And then."
    assert stage.machine.result == ProcessorResult(content=whole, tool_calls=(NEVER_SAID,), finish_reason="stop")
    assert stage.told == [
        "start",
        *stage.texts(*HELLO),
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-complete ",
        *stage.texts("And ", "then."),
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_text_tool_result_text(strategy: str) -> None:
    """Over two iterations of a loop, in one message."""
    stage = Stage(strategy).play(
        RUN, text(*HELLO), call(), args("{}"), called(), finished("tool_calls"),
        called(result="21"), RUN, text("It is ", "21.", message_id="m2"), finished(),
    )  # fmt: skip
    assert len(stage.machine.messages) == 1
    assert stage.parts == [
        f"text {WHOLE!r}",
        "call c1 complete '{}' {} -> 21",
        "result c1 complete '21' None",
        "text 'It is 21.'",
    ]
    whole = f"{WHOLE}It is 21."
    assert stage.machine.result == ProcessorResult(content=whole, tool_calls=(LOOKED,), finish_reason="stop")
    assert stage.told == [
        "start",
        *stage.texts(*HELLO),
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "call msg-1 c1 complete {}",
        *stage.texts("It is ", "21."),
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_an_empty_stream_leaves_no_message(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, begin(), end(), finished())
    assert list(stage.machine.messages) == []
    assert stage.machine.result == ProcessorResult(finish_reason="stop")
    assert stage.told == []
    assert stage.listener.views == []


@under_every_strategy
def test_catalogue_run_error(strategy: str) -> None:
    """There is a message to show it on, be it empty; what was said stays."""
    stage = Stage(strategy).play(RUN, failed())
    assert (len(stage.machine.messages), stage.parts) == (1, [])
    assert stage.told == ["start", "error it broke (OOPS)", "end msg-1"]
    assert stage.machine.result == ProcessorResult()
    later = Stage(strategy).play(RUN, begin(), say(*HELLO), call(), args('{"a'), failed(code=None))
    assert later.parts == [f"text {WHOLE!r}", "call c1 input-complete '{\"a' UNSET -> UNSET"]
    assert later.told == [
        "start",
        *later.texts(*HELLO),
        "call msg-1 c1 awaiting-input ",
        'call msg-1 c1 input-streaming {"a',
        "error it broke",
        'call msg-1 c1 input-complete {"a',
        "end msg-1",
    ]
    calls = (CalledTool(id="c1", name="look", arguments='{"a'),)
    assert later.machine.result == ProcessorResult(content=WHOLE, tool_calls=calls)


@under_every_strategy
def test_catalogue_a_duplicate_start_changes_nothing(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, call(), args("{}"), call(), called(), call(name="other"), finished())
    assert stage.parts == ["call c1 input-complete '{}' {} -> UNSET"]
    assert stage.machine.result == ProcessorResult(tool_calls=(LOOKED,), finish_reason="stop")
    assert stage.machine.counts == {"repeated_tool_call_starts": 2}
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-streaming {}",
        "call msg-1 c1 input-complete {}",
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_args_for_an_unknown_id_are_counted_and_warned_of(
    strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(strategy).play(RUN, args("{", "}", call_id="ghost"), called("ghost", result="x"), finished())
    assert list(stage.machine.messages) == []
    assert stage.machine.result == ProcessorResult(finish_reason="stop")
    assert stage.machine.counts == {"args_for_unknown_call": 2, "end_for_unknown_call": 1}
    assert stage.told == []
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "ghost" in caplog.text


@under_every_strategy
def test_catalogue_two_text_blocks_in_a_row_are_two_parts(strategy: str) -> None:
    """With or without an end between them, under one message id or two."""
    for second in ("m1", "m2"):
        for between in ([], [end()]):
            stage = Stage(strategy).play(
                RUN, begin(), say(*HELLO), between, begin(second), say("Two", "!", message_id=second), finished()
            )
            assert stage.parts == [f"text {WHOLE!r}", "text 'Two!'"]
            assert stage.machine.result == ProcessorResult(content=f"{WHOLE}Two!", finish_reason="stop")
            assert stage.told == ["start", *stage.texts(*HELLO), *stage.texts("Two", "!"), "end msg-1"]


@under_every_strategy
def test_catalogue_text_inside_a_tool_call(strategy: str) -> None:
    """It stands after the call, and the call goes on."""
    stage = Stage(strategy).play(
        RUN, call(), args('{"a"'), text(*HELLO), args(":1}"), called(), say("More", ".", message_id="m1"), finished()
    )
    assert stage.parts == ["call c1 input-complete '{\"a\":1}' {'a': 1} -> UNSET", f"text {WHOLE + 'More.'!r}"]
    calls = (CalledTool(id="c1", name="look", arguments='{"a":1}'),)
    assert stage.machine.result == ProcessorResult(content=f"{WHOLE}More.", tool_calls=calls, finish_reason="stop")
    shown = ["More", "More."] if strategy == "immediate" else ["More."]
    assert stage.told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        'call msg-1 c1 input-streaming {"a"',
        *stage.texts(*HELLO),
        'call msg-1 c1 input-streaming {"a":1}',
        'call msg-1 c1 input-complete {"a":1}',
        *(f"text msg-1 {WHOLE}{more}" for more in shown),
        "end msg-1",
    ]


@under_every_strategy
def test_catalogue_an_approval_answered_twice_is_refused_with_the_first_answer(strategy: str) -> None:
    stage = Stage(strategy).play(RUN, call(), called(), asks())
    stage.step(stage.machine.add_tool_approval_response, "a1", False)
    told = [*stage.told]
    for second in (True, False):
        with pytest.raises(ApprovalAnsweredError, match="a1 was answered before: denied") as caught:
            stage.step(stage.machine.add_tool_approval_response, "a1", second)
        assert caught.value.approved is False
    assert stage.parts == ["call c1 approval-responded '' UNSET -> UNSET a1=False"]
    assert stage.told == told
    assert told == [
        "start",
        "call msg-1 c1 awaiting-input ",
        "call msg-1 c1 input-complete ",
        "call msg-1 c1 approval-requested ",
        "approval c1 look None a1",
        "end msg-1",
        "call msg-1 c1 approval-responded ",
    ]
    assert stage.machine.result == ProcessorResult(tool_calls=(NEVER_SAID,))


@under_every_strategy
def test_catalogue_a_result_after_approval_in_a_new_stream_goes_to_the_message_with_the_call(strategy: str) -> None:
    stage = Stage(strategy).play(
        RUN, text(*HELLO), call(), args("{}"), called(), asks(value={}), finished("tool_calls")
    )
    stage.step(stage.machine.add_tool_approval_response, "a1", True)
    told = len(stage.told)
    stage.play(RUN, called(result="done"), text("Ok", ".", message_id="m2"), finished())
    first, second = stage.machine.messages
    assert briefs(first) == [
        f"text {WHOLE!r}",
        "call c1 complete '{}' {} -> 'done' a1=True",
        "result c1 complete 'done' None",
    ]
    assert briefs(second) == ["text 'Ok.'"]
    assert stage.machine.result == ProcessorResult(content="Ok.", finish_reason="stop")
    assert stage.told[told:] == [
        "call msg-1 c1 complete {}",
        "start",
        *stage.texts("Ok", ".", message="msg-2"),
        "end msg-2",
    ]
