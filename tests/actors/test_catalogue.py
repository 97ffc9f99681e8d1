"""The catalogue of the specification, case by case, through the real actors under the mock clock."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.kit.turns import (
    THREAD,
    TURN,
    RecordingSink,
    answered,
    begin,
    broken,
    called,
    cancelled,
    delta,
    failed,
    finished,
    options,
    said,
    started,
    thought,
    tokens,
)
from turnwire.actors.core.options import TurnOptions
from turnwire.actors.turn import Turn
from turnwire.messages import Message, RetryExhaustedError, StreamEvent, Thinking, ToolCall, TurnComplete, TurnError
from turnwire.messages.events import Usage
from turnwire.messages.outputs import TurnUsage
from turnwire.runtime import open_runtime


@asynccontextmanager
async def stage(sink: RecordingSink, turn_options: TurnOptions | None = None) -> AsyncGenerator[Turn, None]:
    async with (
        open_runtime(sink=sink) as runtime,
        runtime.open_turn(turn_id=TURN, thread_id=THREAD, options=turn_options) as turn,
    ):
        yield turn


async def play(*events: StreamEvent, turn_options: TurnOptions | None = None) -> RecordingSink:
    """Send these events and close the turn."""
    sink = RecordingSink()
    async with stage(sink, turn_options) as turn:
        for event in events:
            await turn.send(event)
    return sink


async def test_catalogue_01_a_short_message_comes_as_one_complete(autojump_clock: MockClock) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=3, total_tokens=13)
    hello = "Hello there!"
    sink = await play(started(), begin("m"), delta("m", hello), said("m", hello), finished(usage=usage))
    assert sink.told == ["turn_started", "message complete 'Hello there!'", "turn_complete complete"]
    assert sink.outputs[-1] == TurnComplete(
        turn_id=TURN,
        thread_id=THREAD,
        status="complete",
        usage=TurnUsage(prompt_tokens=10, completion_tokens=3, total_tokens=13),
    )


async def test_catalogue_02_each_crossed_threshold_is_one_emission(autojump_clock: MockClock) -> None:
    parts = ["a" * 44, "b" * 42, "c" * 43]
    sink = await play(
        begin("m"), *(delta("m", part) for part in parts), said("m", "".join(parts)), turn_options=options(10, 10, 20)
    )
    assert sink.told == [
        f"message create {parts[0]!r}",
        f"message update {parts[0] + parts[1]!r}",
        f"message complete {''.join(parts)!r}",
    ]


async def test_catalogue_03_a_user_prompt_is_held_and_comes_whole(autojump_clock: MockClock) -> None:
    prompt = "x" * 400
    sink = await play(
        begin("run-user-prompt", initial_content=prompt),
        said("run-user-prompt", prompt, "user"),
        begin("m"),
        delta("m", "Hi."),
        said("m", "Hi."),
    )
    assert sink.kinds == ["message complete", "message complete"]
    assert [output.origin for output in sink.outputs if isinstance(output, Message)] == ["user", "agent"]


async def test_catalogue_04_reasoning_comes_as_thinking_under_its_provider(autojump_clock: MockClock) -> None:
    long = "t" * 44
    sink = await play(
        started(provider="acme"),
        begin("r", "reasoning"),
        delta("r", long),
        thought("r", long),
        begin("m"),
        said("m", "ok"),
    )
    assert sink.kinds == ["turn_started", "thinking create", "thinking complete", "message complete"]
    assert {output.provider_id for output in sink.outputs if isinstance(output, Thinking)} == {"acme"}


async def test_catalogue_05_a_tool_call_is_created_and_completed_under_one_item_id(autojump_clock: MockClock) -> None:
    text = "It is sunny in Paris today, really."
    assert len(text) == 35
    sink = await play(
        begin("f", "function_call", name="look", call_id="c"),
        delta("f", '{"a"'),
        called("f", "c", '{"a": 1}'),
        answered("o", "c", '{"b": 2}'),
        begin("m"),
        delta("m", text),
        said("m", text),
    )
    assert sink.kinds == ["tool_call create", "tool_call complete", "message complete"]
    create, complete = sink.outputs[:2]
    assert isinstance(create, ToolCall)
    assert isinstance(complete, ToolCall)
    assert (create.item_id, complete.item_id) == ("f", "f")
    assert complete.tool_arguments == {"a": 1}
    assert complete.tool_output == {"b": 2}


async def test_catalogue_06_two_tools_in_sequence_then_a_message(autojump_clock: MockClock) -> None:
    text = "y" * 41
    sink = await play(
        called("f1", "c1"),
        answered("o1", "c1", "1"),
        called("f2", "c2"),
        answered("o2", "c2", "2"),
        begin("m"),
        delta("m", text),
        said("m", text),
    )
    assert sink.kinds == [
        "tool_call create",
        "tool_call complete",
        "tool_call create",
        "tool_call complete",
        "message create",
        "message complete",
    ]


async def test_catalogue_07_a_failed_item_keeps_its_partial_text(autojump_clock: MockClock) -> None:
    partial = "This is where it was cut off."
    assert len(partial) == 29
    sink = await play(
        begin("m"), delta("m", partial), failed("m", "CONTENT_FILTER", "filtered"), finished(status="error")
    )
    assert sink.told == [f"message error {partial!r}", "turn_complete error"]
    error = sink.outputs[0]
    assert isinstance(error, Message)
    assert (error.error_code, error.error_message) == ("CONTENT_FILTER", "filtered")


async def test_catalogue_08_a_response_error_is_a_turn_error(autojump_clock: MockClock) -> None:
    sink = await play(started(), broken("PROVIDER_ERROR", "overloaded"))
    assert sink.told == ["turn_started", "turn_error PROVIDER_ERROR"]
    error = sink.outputs[-1]
    assert isinstance(error, TurnError)
    assert error.error.message == "overloaded"


async def test_catalogue_09_a_stall_is_ended_by_the_batch_timeout(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with stage(sink, options(100, batch_timeout=0.05)) as turn:
        await turn.send(begin("m"))
        await turn.send(delta("m", "Hello"))
        await trio.sleep(0.06)
        assert sink.told == ["message create 'Hello'"]
        assert sink.times == [0.05]
        await turn.send(said("m", "Hello!"))
    assert sink.told == ["message create 'Hello'", "message complete 'Hello!'"]
    assert sink.times == [0.05, 0.06]


async def test_catalogue_10_a_text_walks_through_its_gradient(autojump_clock: MockClock) -> None:
    counts = [11, 10, 20, 20, 10]
    sink = await play(
        begin("m"),
        *(delta("m", tokens(count)) for count in counts),
        said("m", tokens(sum(counts))),
        turn_options=options(10, 10, 20, 20, 50),
    )
    assert [kind.split()[1] for kind in sink.kinds] == ["create", "update", "update", "update", "complete"]


async def test_catalogue_11_an_empty_message_is_a_complete_with_no_text(autojump_clock: MockClock) -> None:
    sink = await play(begin("m"), said("m", ""))
    assert sink.told == ["message complete ''"]


async def test_catalogue_12_closing_after_everything_was_emitted_emits_nothing(autojump_clock: MockClock) -> None:
    text = "z" * 47
    sink = await play(begin("m"), delta("m", text))
    assert sink.told == [f"message create {text!r}"]


async def test_catalogue_13_a_sink_that_fails_twice_gets_everything_in_order(autojump_clock: MockClock) -> None:
    sink = RecordingSink(failures=2)
    async with stage(sink) as turn:
        for event in (started(), begin("m"), said("m", "one"), finished()):
            await turn.send(event)
    assert trio.current_time() == 1.0 + 2.0
    assert sink.kinds == ["turn_started", "message complete", "turn_complete complete"]
    assert sink.times == [3.0, 3.0, 3.0]
    assert [message.event_id for message in sink.messages] == [f"{TURN}:1-{seq}" for seq in (1, 2, 3)]


async def test_catalogue_14_a_sink_that_always_fails_exhausts_the_retries(autojump_clock: MockClock) -> None:
    sink = RecordingSink(failures=1000)
    with pytest.raises(RetryExhaustedError) as caught:
        async with stage(sink) as turn:
            await turn.send(started())
            with trio.fail_after(60):
                await turn.flush()
    assert trio.current_time() == 1.0 + 2.0 + 4.0
    assert caught.value.attempts == sink.calls == 4
    assert isinstance(caught.value.__cause__, OSError)
    assert sink.outputs == []


async def test_catalogue_15_exactly_at_the_threshold_emits_nothing(autojump_clock: MockClock) -> None:
    text = "x" * 40
    sink = await play(begin("m"), delta("m", text), said("m", text))
    assert sink.kinds == ["message complete"]


async def test_catalogue_16_one_token_past_the_threshold_emits(autojump_clock: MockClock) -> None:
    sink = await play(begin("m"), delta("m", "x" * 40), delta("m", "y" * 4), said("m", "x" * 40 + "y" * 4))
    assert sink.told[0] == f"message create {'x' * 40 + 'y' * 4!r}"
    assert sink.kinds == ["message create", "message complete"]


async def test_catalogue_17_one_delta_over_many_thresholds_emits_once(autojump_clock: MockClock) -> None:
    sink = await play(begin("m"), delta("m", "x" * 100), said("m", "x" * 100), turn_options=options(10, 10, 20))
    assert sink.kinds == ["message create", "message complete"]


async def test_catalogue_18_a_cancelled_item_was_never_there(autojump_clock: MockClock) -> None:
    sink = await play(started(), begin("m"), delta("m", "short"), cancelled("m"), finished())
    assert sink.kinds == ["turn_started", "turn_complete complete"]


async def test_catalogue_19_the_last_step_of_the_gradient_repeats(autojump_clock: MockClock) -> None:
    counts = [11, 20, 20, 20, 10]
    sink = await play(
        begin("m"),
        *(delta("m", tokens(count)) for count in counts),
        said("m", tokens(sum(counts))),
        turn_options=options(10, 20),
    )
    assert [kind.split()[1] for kind in sink.kinds] == ["create", "update", "update", "update", "complete"]


async def test_catalogue_20_initial_content_counts_toward_the_threshold(autojump_clock: MockClock) -> None:
    first = "i" * 56
    sink = RecordingSink()
    async with stage(sink) as turn:
        await turn.send(begin("m", initial_content=first))
        await trio.testing.wait_all_tasks_blocked()
        assert sink.told == []
        await turn.send(delta("m", "d"))
        await turn.send(said("m", first + "d"))
    assert sink.told == [f"message create {first + 'd'!r}", f"message complete {first + 'd'!r}"]


async def test_catalogue_21_the_default_gradient_token_by_token(autojump_clock: MockClock) -> None:
    sink = await play(begin("m"), *(delta("m", "abcd") for _ in range(500)), said("m", "abcd" * 500))
    emitted = [len(output.content) // 4 for output in sink.outputs if isinstance(output, Message)]
    assert emitted == [11, 21, 31, 41, 61, 81, 101, 121, 171, 221, 271, 321, 421, 500]


async def test_catalogue_22_a_jump_passes_every_threshold_below_it(autojump_clock: MockClock) -> None:
    sink = await play(
        begin("m"), delta("m", tokens(5)), delta("m", tokens(40)), *(delta("m", "abcd") for _ in range(20))
    )
    emitted = [len(output.content) // 4 for output in sink.outputs if isinstance(output, Message)]
    assert emitted == [45, 61, 65]  # the last one is the flush at closing


async def test_catalogue_23_astral_characters_count_as_two_code_units(autojump_clock: MockClock) -> None:
    sink = await play(begin("m"), delta("m", "😀" * 20), delta("m", "😀"), said("m", "😀" * 21))
    assert sink.told == [f"message create {'😀' * 21!r}", f"message complete {'😀' * 21!r}"]


async def test_catalogue_24_a_response_error_flushes_first(autojump_clock: MockClock) -> None:
    sink = await play(started(), begin("m"), delta("m", "half"), broken())
    assert sink.told == ["turn_started", "message create 'half'", "turn_error PROVIDER_ERROR"]


@pytest.mark.parametrize("rest", ["a", "ab", "abc"])
async def test_catalogue_25_a_flush_emits_the_last_few_characters(rest: str, autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with stage(sink) as turn:
        await turn.send(begin("m"))
        await turn.send(delta("m", "x" * 44))
        await turn.send(delta("m", rest))
        await turn.flush()
        assert sink.told[-1] == f"message update {'x' * 44 + rest!r}"


async def test_catalogue_26_the_first_terminal_wins_and_nothing_follows_it(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with stage(sink) as turn:
        for event in (started(), broken(), finished(), begin("m"), said("m", "late"), broken()):
            await turn.send(event)
        await turn.wait_end()
        await turn.send(said("n", "later"))
        assert turn.counts == {"late_events": 5}
    assert sink.kinds == ["turn_started", "turn_error PROVIDER_ERROR"]


async def test_catalogue_27_a_timeout_with_nothing_new_or_on_a_held_item_says_nothing(
    autojump_clock: MockClock,
) -> None:
    sink = RecordingSink()
    async with stage(sink, options(10, batch_timeout=0.05)) as turn:
        await turn.send(begin("m"))
        await turn.send(delta("m", "x" * 44))
        await turn.send(begin("user-prompt", initial_content="hello"))
        await turn.send(begin("f", "function_call", name="look", call_id="c"))
        await turn.send(delta("f", '{"a":'))
        await trio.sleep(10)
        assert sink.kinds == ["message create"]
        turn.cancel()


async def test_catalogue_28_arguments_and_outputs_that_are_no_objects(autojump_clock: MockClock) -> None:
    sink = await play(
        called("f1", "c1", '{"cut": '),
        called("f2", "c2", None),
        called("f3", "c3", "[1, 2]"),
        answered("o1", "c1", "42"),
        answered("o2", "c2", "[1, 2]"),
    )
    calls = [output for output in sink.outputs if isinstance(output, ToolCall)]
    assert [(call.tool_arguments, call.content) for call in calls[:3]] == [({}, '{"cut": '), ({}, ""), ({}, "[1, 2]")]
    assert [call.tool_output for call in calls[3:]] == ["42", [1, 2]]


async def test_catalogue_29_outputs_without_a_call_and_errors_of_open_calls(autojump_clock: MockClock) -> None:
    sink = RecordingSink()
    async with stage(sink) as turn:
        await turn.send(answered("o0", "c1", "too early"))
        await turn.send(called("f1", "c1"))
        await turn.send(answered("o1", "c1", "first"))
        await turn.send(answered("o2", "c1", "second"))
        await turn.send(called("f2", "c2"))
        await turn.send(failed("f2", "TOOL_DOWN"))
        await turn.flush()
        assert turn.counts == {"unknown_calls": 2}
    assert sink.kinds == ["tool_call create", "tool_call complete", "tool_call create", "tool_call error"]
    assert {output.item_id for output in sink.outputs[2:] if isinstance(output, ToolCall)} == {"f2"}


async def test_catalogue_30_a_slow_sink_while_timeouts_fire_keeps_the_order(autojump_clock: MockClock) -> None:
    sink = RecordingSink(delay=0.3)
    async with stage(sink, options(1000, batch_timeout=0.05)) as turn:
        await turn.send(started())
        for round_number in range(5):
            for item in ("a", "b"):
                if round_number == 0:
                    await turn.send(begin(item))
                await turn.send(delta(item, f"{round_number} "))
            await trio.sleep(0.1)
        await turn.send(finished())
    per_item = {
        item: [output.status for output in sink.outputs if isinstance(output, Message) and output.item_id == item]
        for item in ("a", "b")
    }
    assert per_item == {"a": ["create", *["update"] * 4], "b": ["create", *["update"] * 4]}
    items = [output.item_id for output in sink.outputs if isinstance(output, Message)]
    assert items == ["a", "b"] * 5
    assert sink.kinds[0] == "turn_started"
    assert sink.kinds[-1] == "turn_complete complete"
