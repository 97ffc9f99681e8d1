"""The rules R1 to R19 of a turn, each by itself, and the limits."""

import logging
from collections.abc import Callable

import pytest

from tests.actors.core.plays import (
    Play,
    answered,
    broken,
    called,
    message,
    said,
    taken_back,
    thinking,
    thought,
    tool,
)
from turnwire.actors.core.item_buffer import BufferInfo
from turnwire.messages.events import (
    FinalItem,
    FinalScriptExecution,
    Heartbeat,
    ItemDelta,
    ScriptExecutionStart,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.output_codec import encode_output
from turnwire.messages.outputs import (
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnUsage,
)

STARTED = TurnStarted(turn_id="turn-1", thread_id="thread-1", model_id="model-1", provider_id="provider-1")
COMPLETE = TurnComplete(turn_id="turn-1", thread_id="thread-1", status="complete")
ABORTED = TurnComplete(turn_id="turn-1", thread_id="thread-1", status="aborted")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


# R1


def test_r01_response_start_emits_turn_started_at_once() -> None:
    """The start of the response is the start of the turn, with model and provider."""
    assert Play().begin() == [STARTED]


def test_r01_a_second_response_start_is_counted_and_ignored() -> None:
    """A turn starts once, and keeps the provider it started with."""
    play = Play()
    play.begin()
    assert play.begin("provider-2") == []
    assert sum(play.machine.counts.values()) == 1
    assert play.done(thought("so")) == [thinking("complete", "so")]


def test_r01_items_before_the_start_have_no_provider() -> None:
    """Items that come first are processed, with an empty provider."""
    play = Play()
    play.start(item_type="reasoning")
    assert play.done(thought("so")) == [thinking("complete", "so", provider_id="")]


def test_r01_the_ids_are_the_turns_own(caplog: pytest.LogCaptureFixture) -> None:
    """Other ids in the payload are warned about and not used."""
    play = Play()
    assert play.begin(turn_id="theirs", thread_id="also theirs") == [STARTED]
    assert len(warnings(caplog)) == 2


def test_r01_the_same_ids_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Ids that agree are not worth a word."""
    Play().begin()
    assert warnings(caplog) == []


# R2


@pytest.mark.parametrize(
    ("item_type", "content_type", "held"),
    [("message", "message", False), ("reasoning", "thinking", False), ("function_call", "tool_call", True)],
)
def test_r02_item_start_makes_an_item_and_emits_nothing(item_type: str, content_type: str, held: bool) -> None:
    """An item begins silently, whatever text it begins with."""
    play = Play()
    assert play.start(item_type=item_type, initial_content="x" * 99) == []
    info = play.machine.buffers()["a"]
    assert info == BufferInfo(
        item_id="a",
        content_type=info.content_type,
        token_count=25,
        content_length=99,
        batch_index=0,
        is_held=held,
        is_complete=False,
    )
    assert info.content_type == content_type


@pytest.mark.parametrize("item_type", ["function_call_output", "error", "script_execution", "script_execution_output"])
def test_r02_other_types_make_no_item(item_type: str) -> None:
    """Outputs, errors and scripts have no item of their own."""
    play = Play()
    assert play.start(item_type=item_type, initial_content="x" * 99) == []
    assert play.machine.buffers() == {}
    assert play.close() == []


@pytest.mark.parametrize(
    ("item_id", "origin", "held"),
    [
        ("a", "user", True),
        ("a", None, False),
        ("a", "agent", False),
        ("a", "system", False),
        ("my-user-prompt-1", None, True),
        ("my-user-prompt-1", "agent", False),
        ("my-user-prompt-1", "user", True),
    ],
)
def test_r02_a_prompt_is_held(item_id: str, origin: str | None, held: bool) -> None:
    """The origin decides; the id only when there is no origin."""
    play = Play(batch_gradient=[1])
    play.start(item_id, origin=origin)
    assert play.machine.buffers()[item_id].is_held is held
    assert bool(play.delta("x" * 50, item_id)) is not held


def test_r02_reasoning_is_never_a_prompt() -> None:
    """Only messages are held for their id."""
    play = Play()
    play.start("user-prompt", "reasoning")
    assert not play.machine.buffers()["user-prompt"].is_held


def test_r02_initial_content_counts_toward_the_threshold() -> None:
    """56 characters at the start make the next delta an emission."""
    play = Play()
    play.start(initial_content="x" * 56)
    assert play.delta("y") == [message("create", "x" * 56 + "y")]


@pytest.mark.parametrize("end", ["live", "done", "error", "cancelled"])
def test_r02_an_id_is_used_once(end: str) -> None:
    """A second item_start for an id is ignored and counted, live or ended."""
    play = Play()
    play.start(initial_content="one")
    if end == "done":
        play.done(said("one"))
    elif end == "error":
        play.error()
    elif end == "cancelled":
        play.cancel()
    before = sum(play.machine.counts.values())
    play.start(initial_content="two")
    assert sum(play.machine.counts.values()) == before + 1
    assert play.flush() == ([message("create", "one")] if end == "live" else [])


@pytest.mark.parametrize("answer", [False, True])
def test_r02_the_id_of_a_call_is_used_once(answer: bool) -> None:
    """A call that is done, answered or not, keeps its id."""
    play = Play()
    play.done(called())
    if answer:
        play.done(answered(), "out")
    play.start(initial_content="text")
    assert sum(play.machine.counts.values()) == 1
    assert play.flush() == []


def test_r02_the_id_of_an_output_item_is_used_once() -> None:
    """The first item_start of an output says which call it is for; a second one is ignored and counted."""
    play = Play()
    play.done(called(call_id="call-1"), "a")
    play.done(called(call_id="call-2"), "b")
    play.start("out", "function_call_output", call_id="call-1")
    play.start("out", "function_call_output", call_id="call-2")
    assert sum(play.machine.counts.values()) == 1
    assert play.error("out") == [tool("error", "a", error_code="E1", error_message="no")]


@pytest.mark.parametrize("late", ["delta", "done", "error", "cancel"])
@pytest.mark.parametrize("end", ["done", "error", "cancel"])
def test_r02_what_comes_for_an_ended_item_is_ignored_and_counted(end: str, late: str) -> None:
    """After its end an item is deaf."""
    play = Play(batch_gradient=[1])
    play.start()
    acts: dict[str, Callable[[], list[Output]]] = {
        "delta": lambda: play.delta("late text"),
        "done": lambda: play.done(said("late")),
        "error": play.error,
        "cancel": play.cancel,
    }
    acts[end]()
    assert acts[late]() == []
    assert sum(play.machine.counts.values()) == 1
    assert play.close() == []


@pytest.mark.parametrize("late", ["message", "reasoning", "error", "call"])
def test_r02_a_done_call_takes_no_second_item_done(late: str) -> None:
    """An id is used once: another item_done under a call's id is ignored and counted, and the call stays open."""
    play = Play()
    play.done(called())
    finals: dict[str, FinalItem] = {
        "message": said("hi"),
        "reasoning": thought("hm"),
        "error": broken(),
        "call": called('{"b":2}'),
    }
    assert play.done(finals[late]) == []
    assert sum(play.machine.counts.values()) == 1
    assert play.done(answered(), "out") == [tool("complete", tool_output="ok")]


# R3


def test_r03_text_past_the_threshold_is_created_then_updated() -> None:
    """Catalogue 02: the whole text each time, create first, then update."""
    play = Play(batch_gradient=[10, 10, 20])
    play.start()
    assert play.delta("a" * 44) == [message("create", "a" * 44)]
    assert play.delta("b" * 42) == [message("update", "a" * 44 + "b" * 42)]
    assert play.delta("c" * 43) == []


def test_r03_exactly_at_the_threshold_emits_nothing() -> None:
    """Forty characters are ten tokens, which do not exceed ten; one more does."""
    play = Play()
    play.start()
    assert play.delta("x" * 40) == []
    assert play.delta("y") == [message("create", "x" * 40 + "y")]


def test_r03_one_delta_over_several_thresholds_emits_once() -> None:
    """Catalogue 17: a leap is one emission."""
    play = Play(batch_gradient=[10, 10, 20])
    play.start()
    assert play.delta("x" * 100) == [message("create", "x" * 100)]
    assert play.machine.buffers()["a"].batch_index == 2


def test_r03_after_a_leap_the_next_threshold_is_the_next_one_above() -> None:
    """Catalogue 22: from 5 to 45 tokens, and the next emission comes at 61."""
    play = Play()
    play.start()
    play.delta("x" * 20)
    play.delta("x" * 160)
    at = [tokens for tokens in range(46, 100) if play.delta("word")]
    assert at == [61, 81]


def test_r03_the_default_gradient_emits_just_past_its_sums() -> None:
    """Catalogue 21: one-token deltas up to 500 tokens."""
    play = Play()
    play.start()
    at = [tokens for tokens in range(1, 501) if play.delta("word")]
    assert at == [n + 1 for n in (10, 20, 30, 40, 60, 80, 100, 120, 170, 220, 270, 320, 420)]


def test_r03_thresholds_count_utf16_units() -> None:
    """Catalogue 23: twenty astral characters are forty units, exactly ten tokens."""
    play = Play()
    play.start()
    assert play.delta("😀" * 20) == []
    assert play.delta("!") == [message("create", "😀" * 20 + "!")]


def test_r03_reasoning_becomes_thinking_with_its_provider() -> None:
    """A block of reasoning is emitted as thinking."""
    play = Play()
    play.begin()
    play.start(item_type="reasoning")
    assert play.delta("x" * 41) == [thinking("create", "x" * 41)]


def test_r03_the_arguments_of_a_call_are_not_emitted_as_they_come() -> None:
    """A held item emits nothing on any delta."""
    play = Play(batch_gradient=[1])
    play.start(item_type="function_call")
    assert play.delta('{"a": "' + "x" * 99) == []


def test_r03_a_delta_for_an_unknown_item_is_counted() -> None:
    """Text without an item goes nowhere."""
    play = Play(batch_gradient=[1])
    assert play.delta("x" * 99) == []
    assert sum(play.machine.counts.values()) == 1


# R4


def test_r04_a_timeout_does_not_move_the_thresholds() -> None:
    """Thresholds are absolute: after an emission by timeout the next is still at ten tokens."""
    play = Play()
    play.start()
    play.delta("x" * 36)
    assert play.wait(1.0) == [message("create", "x" * 36)]
    assert play.delta("yyyy") == []
    assert play.delta("z") == [message("update", "x" * 36 + "yyyyz")]


def test_r04_a_flush_does_not_move_the_thresholds() -> None:
    """The same for a flush."""
    play = Play()
    play.start()
    play.delta("x" * 36)
    assert play.flush() == [message("create", "x" * 36)]
    assert play.machine.buffers()["a"].batch_index == 0
    assert play.delta("yyyyz") == [message("update", "x" * 36 + "yyyyz")]


def test_r04_a_flush_moves_the_index_past_what_is_exceeded() -> None:
    """Text that was over a threshold at its start is past it once it was flushed."""
    play = Play()
    play.start(initial_content="x" * 100)
    play.flush()
    assert play.machine.buffers()["a"].batch_index == 2
    assert play.delta("y" * 20) == []
    assert play.delta("z") == [message("update", "x" * 100 + "y" * 20 + "z")]


# R5


def test_r05_item_done_completes_with_the_final_text() -> None:
    """The final item wins over what was streamed, in text and origin."""
    play = Play()
    play.start()
    play.delta("streamed")
    assert play.done(said("final", origin="system")) == [message("complete", "final", origin="system")]
    assert play.machine.buffers() == {}


def test_r05_a_held_prompt_is_one_single_complete() -> None:
    """Catalogue 03: the user's message comes whole."""
    play = Play(batch_gradient=[1])
    play.start(origin="user")
    play.delta("What is the weather like today?")
    assert play.done(said("What?", origin="user")) == [message("complete", "What?", origin="user")]


def test_r05_an_empty_message_completes_empty() -> None:
    """Catalogue 11: no text is a text."""
    play = Play()
    play.start()
    assert play.done(said("")) == [message("complete", "")]


def test_r05_reasoning_completes_as_thinking() -> None:
    """The end of reasoning carries the provider."""
    play = Play()
    play.begin()
    play.start(item_type="reasoning")
    assert play.done(thought("so")) == [thinking("complete", "so")]


def test_r05_a_final_item_of_another_type_keeps_the_items_type(caplog: pytest.LogCaptureFixture) -> None:
    """A message stays a message, and somebody is told."""
    play = Play()
    play.start()
    play.delta("text")
    [output] = play.done(thought("thought"))
    assert isinstance(output, Message)
    assert output.status == "complete"
    assert len(warnings(caplog)) == 1


def test_r05_a_final_item_without_text_completes_with_what_was_streamed(caplog: pytest.LogCaptureFixture) -> None:
    """A function call at the end of a message leaves the message's text."""
    play = Play()
    play.start()
    play.delta("text")
    assert play.done(called()) == [message("complete", "text")]
    assert len(warnings(caplog)) == 1


def test_r05_a_fitting_final_item_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """What fits is not worth a word."""
    play = Play()
    play.start()
    play.done(said("text"))
    assert warnings(caplog) == []


def test_r05_an_unseen_item_is_built_from_its_final_item() -> None:
    """An item_done without an item_start is enough."""
    play = Play()
    play.begin()
    assert play.done(said("hi", origin="user"), "m") == [message("complete", "hi", "m", origin="user")]
    assert play.done(thought("hm"), "t") == [thinking("complete", "hm", "t")]
    assert play.done(called('{"a":1}'), "c") == [tool("create", "c", tool_arguments={"a": 1})]
    assert play.done(said("again"), "m") == []


@pytest.mark.parametrize("seen", [True, False])
def test_r05_a_final_error_is_a_message_error_without_content(seen: bool) -> None:
    """A final item of type error gives its code and message, and no text."""
    play = Play()
    if seen:
        play.start()
        play.delta("some text")
    expected = message("error", "", error_code="E9", error_message="oh")
    assert play.done(broken("E9", "oh")) == [expected]


def test_r05_a_final_cancelled_acts_as_a_cancellation() -> None:
    """Nothing is emitted, the item is gone."""
    play = Play()
    play.start()
    play.delta("x" * 50)
    assert play.done(taken_back()) == []
    assert play.machine.buffers() == {}
    assert play.close() == []


def test_r05_a_final_script_emits_nothing() -> None:
    """Scripts live in log A only."""
    play = Play()
    assert play.done(FinalScriptExecution(id="f", code="1")) == []


# R6


def test_r06_a_finished_call_is_created_with_its_arguments() -> None:
    """The arguments are parsed, the content is empty."""
    play = Play()
    play.start(item_type="function_call", name="early", arguments="{")
    assert play.done(called('{"a": [1, {"b": null}]}')) == [tool("create", tool_arguments={"a": [1, {"b": None}]})]
    assert play.machine.buffers() == {}


@pytest.mark.parametrize(
    "text", ["{", "[1, 2]", '"words"', "5", "null", "true", '{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}']
)
def test_r06_arguments_that_are_no_object_stay_as_text(text: str) -> None:
    """What is not a JSON object is kept raw in the content; the arguments are {}."""
    assert Play().done(called(text)) == [tool("create", content=text)]


@pytest.mark.parametrize("text", [None, ""])
def test_r06_null_arguments_act_as_empty_text(text: str | None) -> None:
    """No arguments: an empty object and no content, whatever was streamed."""
    play = Play()
    play.start(item_type="function_call", name="add")
    play.delta('{"streamed": 1}')
    assert play.done(called(text)) == [tool("create")]


def test_r06_integers_keep_all_digits() -> None:
    """A number of thirty digits arrives as it was sent."""
    [output] = Play().done(called('{"n": 123456789012345678901234567890}'))
    assert isinstance(output, ToolCall)
    assert output.tool_arguments == {"n": 123456789012345678901234567890}


@pytest.mark.parametrize("depth", [100, 250, 300, 600, *range(800, 1000, 10), 5000])
def test_r06_nested_arguments_can_always_be_put_into_words(depth: int) -> None:
    """However deep arguments are nested, what is emitted can be encoded, also by a writer with a deeper stack."""
    text = '{"a":' * depth + "1" + "}" * depth
    [output] = Play().done(called(text))
    assert encode_deeper(output, frames=40)


def encode_deeper(output: Output, frames: int) -> str:
    return encode_deeper(output, frames - 1) if frames else encode_output(output)


# R7


def test_r07_an_output_completes_its_call() -> None:
    """The complete repeats the call under the call's own item id."""
    play = Play()
    play.done(called('{"a":1}'))
    play.start("out", "function_call_output")
    expected = tool("complete", tool_arguments={"a": 1}, tool_output={"sum": 3}, success=True)
    assert play.done(answered('{"sum": 3}', success=True), "out") == [expected]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        (' {"a":1}', {"a": 1}),
        ("3", "3"),
        ("null", "null"),
        ('"q"', '"q"'),
        ("words", "words"),
        ("{x", "{x"),
        ("", ""),
    ],
)
def test_r07_only_objects_and_arrays_are_parsed(text: str, value: object) -> None:
    """Catalogue 28: a scalar stays the text it is."""
    play = Play()
    play.done(called())
    assert play.done(answered(text), "out") == [tool("complete", tool_output=value)]


@pytest.mark.parametrize("success", [None, True, False])
def test_r07_success_is_passed_on_or_left_out(success: bool | None) -> None:
    """A missing success stays missing, a false one stays false."""
    play = Play()
    play.done(called())
    [output] = play.done(answered(success=success), "out")
    assert isinstance(output, ToolCall)
    assert output.success is success
    assert ('"success"' in encode_output(output)) is (success is not None)


def test_r07_an_unknown_call_is_warned_about_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Catalogue 29: an output before its call goes nowhere, and the call then waits on."""
    play = Play()
    assert play.done(answered(), "early") == []
    assert sum(play.machine.counts.values()) == 1
    assert len(warnings(caplog)) == 1
    play.done(called())
    assert play.done(answered(), "out") == [tool("complete", tool_output="ok")]


def test_r07_a_call_is_answered_once() -> None:
    """Catalogue 29: the second of two outputs is counted and ignored."""
    play = Play()
    play.done(called())
    play.done(answered(), "out-1")
    assert play.done(answered("again"), "out-2") == []
    assert sum(play.machine.counts.values()) == 1


def test_r07_calls_with_one_call_id_are_answered_in_order() -> None:
    """Two open calls share an id: first come, first answered."""
    play = Play()
    play.done(called(name="one"), "a")
    play.done(called(name="two"), "b")
    assert play.done(answered("1"), "x") == [tool("complete", "a", tool_name="one", tool_output="1")]
    assert play.done(answered("2"), "y") == [tool("complete", "b", tool_name="two", tool_output="2")]


def test_r07_an_output_may_come_under_the_items_own_id() -> None:
    """A producer that uses one id for the call and its output is understood."""
    play = Play()
    play.done(called())
    assert play.done(answered()) == [tool("complete", tool_output="ok")]


# R8


def test_r08_item_error_emits_what_there_was() -> None:
    """Catalogue 07: the partial text, with code and message; the turn goes on."""
    play = Play()
    play.start()
    play.delta("x" * 29)
    expected = message("error", "x" * 29, error_code="CONTENT_FILTER", error_message="no")
    assert play.error(code="CONTENT_FILTER") == [expected]
    assert play.finish() == [COMPLETE]


def test_r08_thinking_fails_as_thinking() -> None:
    """The type of the item stays."""
    play = Play()
    play.begin()
    play.start(item_type="reasoning", initial_content="hm")
    assert play.error() == [thinking("error", "hm", error_code="E1", error_message="no")]


def test_r08_a_held_prompt_fails_with_origin_user() -> None:
    """The user's own message stays the user's."""
    play = Play()
    play.start(origin="user", initial_content="hi")
    assert play.error() == [message("error", "hi", origin="user", error_code="E1", error_message="no")]


def test_r08_a_done_call_fails_under_its_item() -> None:
    """Catalogue 29: the call is repeated with the error, and forgotten."""
    play = Play()
    play.done(called('{"a":1}'))
    assert play.error() == [tool("error", tool_arguments={"a": 1}, error_code="E1", error_message="no")]
    assert play.done(answered(), "out") == []


@pytest.mark.parametrize(("start", "call_id"), [({"call_id": "call-7"}, "call-7"), ({}, "")])
def test_r08_an_unfinished_call_fails_with_what_is_known(start: dict[str, str], call_id: str) -> None:
    """Name from the start, no arguments, the text so far as content, the call id if known."""
    play = Play()
    play.start(item_type="function_call", name="early", **start)
    play.delta('{"a": ')
    expected = tool("error", content='{"a": ', tool_name="early", call_id=call_id, error_code="E1", error_message="no")
    assert play.error() == [expected]


def test_r08_the_error_of_an_output_item_is_its_calls_error() -> None:
    """An output item that named its call fails that call."""
    play = Play()
    play.done(called())
    play.start("out", "function_call_output", call_id="call-1")
    assert play.error("out") == [tool("error", error_code="E1", error_message="no")]
    assert play.done(answered(), "out") == []


@pytest.mark.parametrize("late", ["error", "cancel"])
def test_r08_an_answered_output_touches_no_other_call(late: str) -> None:
    """Whatever comes for an output that is done is ignored, even if another call has the same call id."""
    play = Play()
    play.done(called(name="one"), "a")
    play.done(called(name="two"), "b")
    play.start("out", "function_call_output", call_id="call-1")
    play.done(answered("1"), "out")
    assert (play.error("out") if late == "error" else play.cancel("out")) == []
    assert play.done(answered("2"), "out-2") == [tool("complete", "b", tool_name="two", tool_output="2")]


def test_r08_an_error_for_an_unknown_item_is_counted() -> None:
    """Nothing is made up for an item nobody knows."""
    play = Play()
    assert play.error("nobody") == []
    assert sum(play.machine.counts.values()) == 1


# R9


def test_r09_a_cancelled_item_is_dropped() -> None:
    """Catalogue 18: no content at all."""
    play = Play()
    play.start()
    play.delta("text")
    assert play.cancel() == []
    assert play.machine.buffers() == {}
    assert play.finish() == [COMPLETE]


def test_r09_a_cancelled_call_is_forgotten() -> None:
    """Its output finds nobody."""
    play = Play()
    play.done(called())
    assert play.cancel() == []
    assert play.done(answered(), "out") == []


def test_r09_by_default_a_cancelled_item_stays_silent_even_when_seen() -> None:
    """Nothing is emitted unless it was asked for."""
    play = Play(batch_gradient=[1])
    play.start()
    play.delta("some text")
    assert play.cancel() == []


def test_r09_on_request_a_seen_item_ends_with_an_error() -> None:
    """The option tells readers about the end of what they have seen."""
    play = Play(batch_gradient=[1], emit_cancelled=True)
    play.start()
    play.delta("some text")
    [output] = play.cancel()
    assert isinstance(output, Message)
    assert (output.status, output.content, output.error_code) == ("error", "some text", "ITEM_CANCELLED")


def test_r09_on_request_an_open_call_ends_with_an_error() -> None:
    """Its create was out, so its end is told."""
    play = Play(emit_cancelled=True)
    play.done(called())
    [output] = play.cancel()
    assert isinstance(output, ToolCall)
    assert (output.status, output.item_id, output.error_code) == ("error", "a", "ITEM_CANCELLED")


def test_r09_on_request_an_unseen_item_still_vanishes() -> None:
    """What nobody has seen needs no end."""
    play = Play(emit_cancelled=True)
    play.start()
    play.delta("text")
    assert play.cancel() == []


def test_r09_cancelling_an_unknown_item_is_counted() -> None:
    """Nothing to cancel."""
    play = Play()
    assert play.cancel("nobody") == []
    assert sum(play.machine.counts.values()) == 1


# R10


def test_r10_a_stalled_item_is_emitted_at_its_deadline() -> None:
    """The timeout emits at the moment it was due, however late somebody looks."""
    play = Play(batch_timeout=0.05, batch_gradient=[100])
    play.start()
    play.delta("some text")
    assert play.wait(0.04) == []
    assert play.wait(0.06) == [message("create", "some text")]
    assert play.record == [(0.05, message("create", "some text"))]


def test_r10_the_timeout_starts_at_item_start() -> None:
    """Initial content alone is emitted after the timeout."""
    play = Play()
    play.start(initial_content="hi")
    assert play.wait(0.99) == []
    assert play.wait(0.01) == [message("create", "hi")]


def test_r10_each_delta_starts_the_timeout_again() -> None:
    """While text keeps coming the timeout waits."""
    play = Play()
    play.start()
    for _ in range(5):
        play.delta("x")
        assert play.wait(0.75) == []
    assert play.wait(0.25) == [message("create", "xxxxx")]


def test_r10_an_empty_delta_starts_the_timeout_again() -> None:
    """A delta without text is a delta."""
    play = Play()
    play.start()
    play.delta("x")
    play.wait(0.75)
    play.delta("")
    assert play.wait(0.75) == []
    assert play.wait(0.25) == [message("create", "x")]


def test_r10_a_heartbeat_does_not_touch_the_timeout() -> None:
    """Only deltas do."""
    play = Play()
    play.start()
    play.delta("x")
    play.wait(0.75)
    play.push(Heartbeat())
    assert play.wait(0.25) == [message("create", "x")]


def test_r10_the_timeout_fires_once_per_stall() -> None:
    """A long silence is one emission; the next text starts another."""
    play = Play()
    play.start()
    play.delta("x")
    assert play.wait(1.0) == [message("create", "x")]
    assert play.wait(50.0) == []
    play.delta("y")
    assert play.wait(1.0) == [message("update", "xy")]


def test_r10_nothing_new_nothing_emitted() -> None:
    """Catalogue 27: a timeout after an emission by threshold has nothing to say."""
    play = Play()
    play.start()
    play.delta("x" * 41)
    assert play.wait(5.0) == []
    play.start("b")
    assert play.wait(5.0) == []


def test_r10_held_items_have_no_timeout() -> None:
    """Catalogue 27: prompts and calls wait for their end."""
    play = Play()
    play.start(origin="user", initial_content="hi")
    play.start("c", "function_call", initial_content="{")
    assert play.wait(100.0) == []


def test_r10_what_is_due_comes_before_the_event() -> None:
    """A delta at or after the deadline finds the timeout done."""
    play = Play()
    play.start()
    play.delta("x")
    play.now = 1.0
    assert play.delta("y" * 60) == [message("create", "x"), message("update", "x" + "y" * 60)]
    assert [at for at, _ in play.record] == [1.0, 1.0]


@pytest.mark.parametrize(
    "late", ["delta", "done", "error", "cancel", "finish", "breaks", "abort", "flush", "close", "heartbeat"]
)
def test_r10_every_event_finds_the_timeout_done(late: str) -> None:
    """Whatever comes late, the timeout came before it and at its own time."""
    play = Play()
    play.start()
    play.delta("x")
    play.now = 1.5
    acts: dict[str, Callable[[], list[Output]]] = {
        "delta": lambda: play.delta("y"),
        "done": lambda: play.done(said("x")),
        "error": play.error,
        "cancel": play.cancel,
        "finish": play.finish,
        "breaks": play.breaks,
        "abort": play.abort,
        "flush": play.flush,
        "close": play.close,
        "heartbeat": lambda: play.push(Heartbeat()),
    }
    acts[late]()
    assert play.record[0] == (1.0, message("create", "x"))


def test_r10_failing_the_turn_finds_the_timeout_done() -> None:
    """The end of a turn by its own deadline comes after what was due before."""
    play = Play()
    play.start()
    play.delta("x")
    play.now = 1.5
    play.machine.fail("TURN_TIMEOUT", "too long", now=play.now)
    play.news()
    assert play.record[0] == (1.0, message("create", "x"))


def test_r10_timeouts_fire_in_the_order_they_were_due() -> None:
    """Two stalled items are emitted by their deadlines, not by their start."""
    play = Play()
    play.start("a")
    play.start("b")
    play.now = 0.25
    play.delta("for b", "b")
    play.now = 0.5
    play.delta("for a", "a")
    play.wait(10)
    assert play.record == [(1.25, message("create", "for b", "b")), (1.5, message("create", "for a", "a"))]


def test_r10_equal_deadlines_fire_in_order_of_start() -> None:
    """What is due together goes by the order of the items."""
    play = Play()
    play.start("z", initial_content="1")
    play.start("a", initial_content="2")
    assert play.wait(10) == [message("create", "1", "z"), message("create", "2", "a")]


def test_r10_max_latency_emits_while_deltas_keep_coming() -> None:
    """Text that has waited this long is emitted, and the next text has the same patience."""
    play = Play(max_latency=1.0, batch_timeout=0.5, batch_gradient=[1000])
    play.start()
    for _ in range(12):
        play.delta("x")
        play.wait(0.25)
    assert [at for at, _ in play.record] == [1.0, 2.0, 3.0]


def test_r10_without_max_latency_steady_deltas_wait_for_the_threshold() -> None:
    """The default has no latency bound."""
    play = Play(batch_timeout=0.5, batch_gradient=[1000])
    play.start()
    for _ in range(100):
        play.delta("x")
        assert play.wait(0.25) == []


# R11


@pytest.mark.parametrize("new", ["x", "xx", "xxx"])
def test_r11_a_flush_judges_by_text_not_by_tokens(new: str) -> None:
    """Catalogue 25: one to three new characters are news."""
    play = Play()
    play.start(initial_content="x" * 41)
    play.flush()
    play.delta(new)
    assert play.flush() == [message("update", "x" * 41 + new)]


def test_r11_a_flush_goes_in_order_of_start() -> None:
    """Items flush in the order they started, not in the order their text came."""
    play = Play()
    for item_id in "cab":
        play.start(item_id)
    for item_id in "abc":
        play.delta(item_id, item_id)
    assert play.flush() == [message("create", item_id, item_id) for item_id in "cab"]


def test_r11_a_flush_repeats_nothing() -> None:
    """Nothing new, nothing flushed."""
    play = Play()
    play.start(initial_content="hi")
    play.flush()
    assert play.flush() == []
    assert play.finish() == [COMPLETE]


def test_r11_an_item_without_text_flushes_nothing() -> None:
    """Silence stays silent."""
    play = Play()
    play.start()
    play.delta("")
    assert play.finish() == [COMPLETE]


def test_r11_a_held_prompt_flushes_with_origin_user() -> None:
    """A prompt without its end is still the user's."""
    play = Play()
    play.start(origin="user", initial_content="hi")
    assert play.finish() == [message("create", "hi", origin="user"), COMPLETE]


def test_r11_an_unfinished_call_flushes_nothing() -> None:
    """Half the arguments are of no use."""
    play = Play()
    play.start(item_type="function_call", name="add")
    play.delta('{"a":')
    assert play.finish() == [COMPLETE]


def test_r11_a_flush_leaves_the_items_live() -> None:
    """A host's flush ends nothing."""
    play = Play()
    play.start(initial_content="hi")
    play.flush()
    assert play.done(said("hi!")) == [message("complete", "hi!")]


# R12


@pytest.mark.parametrize(
    ("status", "expected", "warned"),
    [
        ("complete", "complete", 0),
        ("error", "error", 0),
        ("aborted", "aborted", 0),
        ("queued", "complete", 1),
        ("in_progress", "complete", 1),
        ("fine", "complete", 1),
    ],
)
def test_r12_the_status_passes_or_counts_as_complete(
    status: str, expected: str, warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Error and aborted pass; all else is complete, with a warning unless it is the word."""
    [output] = Play().finish(status)
    assert isinstance(output, TurnComplete)
    assert output.status == expected
    assert len(warnings(caplog)) == warned


def test_r12_response_done_flushes_first() -> None:
    """Text not yet emitted comes before the terminal."""
    play = Play()
    play.start(initial_content="hi")
    assert play.finish() == [message("create", "hi"), COMPLETE]


@pytest.mark.parametrize(
    ("update", "final", "expected"),
    [
        (None, None, None),
        (None, (10, 3, 13), (10, 3, 13)),
        (None, (10, 3, None), (10, 3, 13)),
        (None, (10, 3, 99), (10, 3, 99)),
        (None, (0, 0, None), (0, 0, 0)),
        (None, (10, None, 13), None),
        (None, (None, 3, 13), None),
        ((1, 2, 3), None, (1, 2, 3)),
        ((1, 2, None), None, (1, 2, 3)),
        ((1, 2, 3), (10, 3, 13), (10, 3, 13)),
    ],
)
def test_r12_usage_is_given_when_it_is_known(
    update: tuple[int | None, ...] | None, final: tuple[int | None, ...] | None, expected: tuple[int, ...] | None
) -> None:
    """From response_done, else from the update; both halves must be known, the total is given or their sum."""
    play = Play()
    if update is not None:
        play.push(UsageUpdate(response_id="r", usage=usage(*update)))
    [output] = play.finish(usage=None if final is None else usage(*final))
    assert isinstance(output, TurnComplete)
    if expected is None:
        assert output.usage is None
    else:
        prompt, completion, total = expected
        assert output.usage == TurnUsage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)


def usage(prompt: int | None, completion: int | None, total: int | None) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)


def test_r12_the_latest_usage_update_counts() -> None:
    """Updates replace each other."""
    play = Play()
    play.push(UsageUpdate(response_id="r", usage=usage(1, 1, 2)))
    play.push(UsageUpdate(response_id="r", usage=usage(5, 5, 10)))
    [output] = play.finish()
    assert isinstance(output, TurnComplete)
    assert output.usage == TurnUsage(prompt_tokens=5, completion_tokens=5, total_tokens=10)


def test_r12_open_calls_are_forgotten() -> None:
    """A call without output gets no end of its own."""
    play = Play()
    play.done(called())
    assert play.finish() == [COMPLETE]


# R13, R14


def test_r13_response_error_flushes_then_breaks() -> None:
    """Catalogue 24: the text first, then turn_error, and no turn_complete."""
    play = Play()
    play.start(initial_content="hi")
    failure = TurnFailure(code="PROVIDER_ERROR", message="gone")
    assert play.breaks() == [
        message("create", "hi"),
        TurnError(turn_id="turn-1", thread_id="thread-1", error=failure),
    ]


def test_r14_an_abort_flushes_then_completes_as_aborted() -> None:
    """Stop means: what there is, and the end."""
    play = Play()
    play.start(initial_content="hi")
    assert play.abort() == [message("create", "hi"), ABORTED]


# R15


@pytest.mark.parametrize("first", ["finish", "breaks", "abort"])
@pytest.mark.parametrize("late", ["finish", "breaks", "abort", "begin", "start", "delta", "done", "error", "cancel"])
def test_r15_the_first_terminal_wins(first: str, late: str) -> None:
    """Catalogue 26: whatever comes later is counted and ignored."""
    play = Play(batch_gradient=[1])
    play.start()
    acts: dict[str, Callable[[], list[Output]]] = {
        "finish": play.finish,
        "breaks": play.breaks,
        "abort": play.abort,
        "begin": play.begin,
        "start": lambda: play.start("b", initial_content="x" * 99),
        "delta": lambda: play.delta("x" * 99),
        "done": lambda: play.done(said("late")),
        "error": play.error,
        "cancel": play.cancel,
    }
    assert len(acts[first]()) == 1
    assert acts[late]() == []
    assert sum(play.machine.counts.values()) == 1
    assert play.wait(100) == play.flush() == play.close() == []


def test_r15_our_own_failure_comes_no_later_than_the_first_terminal() -> None:
    """A turn that has ended cannot run out of time."""
    play = Play()
    play.finish()
    play.machine.fail("TURN_TIMEOUT", "too long", now=1.0)
    play.machine.crash(now=2.0)
    assert play.news() == []


def test_r15_our_own_failure_is_a_terminal() -> None:
    """After a turn_error of ours nothing of theirs counts."""
    play = Play()
    play.start(initial_content="hi")
    play.machine.fail("TURN_TIMEOUT", "too long", now=0.0)
    failure = TurnFailure(code="TURN_TIMEOUT", message="too long")
    assert play.news() == [message("create", "hi"), TurnError(turn_id="turn-1", thread_id="thread-1", error=failure)]
    assert play.finish() == []


def test_r15_a_crash_ends_the_turn_without_internals() -> None:
    """A bug of ours is an INTERNAL_ERROR, with nothing flushed from a state nobody trusts."""
    play = Play()
    play.start(initial_content="hi")
    play.machine.crash(now=0.0)
    [output] = play.news()
    assert isinstance(output, TurnError)
    assert output.error.code == "INTERNAL_ERROR"
    assert play.machine.buffers() == {}
    assert play.machine.ended


# R16


def test_r16_close_flushes_and_emits_no_terminal() -> None:
    """The host's end is not the turn's."""
    play = Play()
    play.start(initial_content="hi")
    play.start("c", "function_call", initial_content="{")
    assert play.close() == [message("create", "hi")]
    assert play.machine.buffers() == {}
    assert play.machine.ended


def test_r16_close_has_nothing_to_add_to_what_is_out() -> None:
    """Catalogue 12: a create on the delta, nothing at close."""
    play = Play()
    play.start()
    assert play.delta("x" * 47) == [message("create", "x" * 47)]
    assert play.close() == []


def test_r16_closing_twice_is_fine() -> None:
    """The second close finds nothing to do."""
    play = Play()
    play.start(initial_content="hi")
    play.close()
    assert play.close() == []


# R17


def test_r17_a_repeated_event_is_ignored_and_counted() -> None:
    """The same event id twice is the same event."""
    play = Play(batch_gradient=[100])
    play.start()
    play.push(ItemDelta(item_id="a", delta_content="x"), "same")
    play.push(ItemDelta(item_id="a", delta_content="x"), "same")
    assert sum(play.machine.counts.values()) == 1
    assert play.flush() == [message("create", "x")]


@pytest.mark.parametrize(("between", "repeated"), [(0, True), (62, True), (63, True), (64, False), (200, False)])
def test_r17_the_last_64_events_are_remembered(between: int, repeated: bool) -> None:
    """An id is known for as long as it is among the last 64, deltas and others alike."""
    play = Play(batch_gradient=[10_000])
    play.start()
    play.push(ItemDelta(item_id="a", delta_content="x"), "same")
    for number in range(between):
        if number % 2:
            play.delta("")
        else:
            play.push(Heartbeat())
    play.push(ItemDelta(item_id="a", delta_content="x"), "same")
    assert play.flush() == [message("create", "x" if repeated else "xx")]


def test_r17_a_repeated_terminal_is_one_terminal() -> None:
    """Every kind of event is told by its id."""
    play = Play()
    play.start()
    play.push(Heartbeat(), "same")
    play.push(UnknownPayload(type="poem", fields={}), "same")
    assert play.machine.counts == {"repeated_events": 1}


# R18


def test_r18_what_the_turn_does_not_know_is_counted() -> None:
    """An unknown payload, a heartbeat, a script: no outputs, and only the unknown one is counted."""
    play = Play()
    play.push(UnknownPayload(type="poem", fields={}))
    play.push(Heartbeat())
    play.push(ScriptExecutionStart(item_id="s", code="1"))
    assert play.outputs == []
    assert sum(play.machine.counts.values()) == 1


# R19


def test_r19_a_pair_split_over_two_deltas_is_joined() -> None:
    """Two halves make one character."""
    play = Play()
    play.start()
    play.delta("a\ud83d")
    play.delta("\ude00b")
    assert play.flush() == [message("create", "a😀b")]


def test_r19_an_emission_holds_a_half_back() -> None:
    """Half a pair is never emitted; with its partner it is."""
    play = Play()
    play.start()
    play.delta("a\ud83d")
    assert play.wait(1.0) == [message("create", "a")]
    assert play.wait(5.0) == []
    assert play.flush() == []
    play.delta("\ude00")
    assert play.flush() == [message("update", "a😀")]


def test_r19_half_a_pair_past_a_threshold_does_not_repeat_what_was_said() -> None:
    """The emission waits for something to say; its threshold stays crossed."""
    play = Play(batch_gradient=[1])
    play.start()
    play.delta("abcd")
    assert play.wait(1.0) == [message("create", "abcd")]
    assert play.delta("\ud83d") == []
    assert play.delta("\ude00") == [message("update", "abcd😀")]


def test_r19_a_half_alone_is_no_news() -> None:
    """A half that waits for its partner is not worth a create."""
    play = Play()
    play.start()
    play.delta("\ud83d")
    assert play.wait(5.0) == []


@pytest.mark.parametrize("end", ["finish", "breaks", "abort", "close"])
def test_r19_a_half_that_is_never_joined_becomes_a_mark(end: str) -> None:
    """At the end of its item a lone half is U+FFFD."""
    play = Play()
    play.start()
    play.delta("a\ud83d")
    play.flush()
    acts: dict[str, Callable[[], list[Output]]] = {"finish": play.finish, "breaks": play.breaks}
    acts |= {"abort": play.abort, "close": play.close}
    assert acts[end]()[0] == message("update", "a\ufffd")


def test_r19_an_error_ends_a_half_too() -> None:
    """The content of an error is whole text."""
    play = Play()
    play.start()
    play.delta("a\ud83d")
    assert play.error() == [message("error", "a\ufffd", error_code="E1", error_message="no")]


def test_r19_a_final_text_has_no_halves() -> None:
    """Final items are mended as well."""
    assert Play().done(said("a\ud83d\ude00b\ud83d")) == [message("complete", "a😀b\ufffd")]


# Limits


def test_an_item_that_grows_too_large_ends_with_an_error() -> None:
    """The text of an item has a limit in bytes; the item ends with what it had."""
    play = Play(max_item_bytes=10)
    play.start()
    play.delta("12345")
    play.delta("67890")
    [output] = play.delta("!")
    assert isinstance(output, Message)
    assert (output.status, output.content, output.error_code) == ("error", "1234567890", "ITEM_TOO_LARGE")
    assert play.delta("more") == []
    assert play.finish() == [COMPLETE]


@pytest.mark.parametrize("text", ["é" * 6, "€" * 4, "😀" * 3])
def test_the_limit_of_an_item_counts_bytes(text: str) -> None:
    """Characters weigh what their UTF-8 weighs."""
    play = Play(max_item_bytes=11)
    play.start()
    [output] = play.delta(text)
    assert isinstance(output, Message)
    assert output.error_code == "ITEM_TOO_LARGE"


def test_a_pair_in_two_halves_weighs_no_more_than_in_one() -> None:
    """How a text is split does not decide whether it is too large."""
    play = Play(max_item_bytes=8)
    play.start()
    for half in ("\ud83d", "\ude00", "\ud83d", "\ude00"):
        assert play.delta(half) == []
    assert play.flush() == [message("create", "😀😀")]


def test_initial_content_may_be_too_large() -> None:
    """The limit holds from the start."""
    play = Play(max_item_bytes=10)
    [output] = play.start(item_type="reasoning", initial_content="12345678901")
    assert isinstance(output, Thinking)
    assert (output.status, output.error_code) == ("error", "ITEM_TOO_LARGE")
    assert play.machine.buffers() == {}


@pytest.mark.parametrize("seen", [True, False])
def test_a_final_text_may_be_too_large(seen: bool) -> None:
    """The limit holds to the end, for messages and for arguments."""
    play = Play(max_item_bytes=10)
    if seen:
        play.start("m")
        play.start("c", "function_call")
    [final_message] = play.done(said("12345678901"), "m")
    [call] = play.done(called('{"a":"12345"}'), "c")
    assert isinstance(final_message, Message)
    assert isinstance(call, ToolCall)
    assert final_message.error_code == call.error_code == "ITEM_TOO_LARGE"
    assert play.done(answered(), "out") == []


def test_one_item_too_many_is_an_error_item() -> None:
    """Past the limit an item_start gives an error item; when there is room again, items start again."""
    play = Play(max_items=2)
    play.start("a")
    play.start("b")
    [output] = play.start("c", initial_content="hi")
    assert isinstance(output, Message)
    assert (output.item_id, output.status, output.error_code) == ("c", "error", "TOO_MANY_ITEMS")
    assert play.delta("text", "c") == []
    play.done(said(""), "a")
    assert play.start("d") == []
    assert set(play.machine.buffers()) == {"b", "d"}
