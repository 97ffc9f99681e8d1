"""The scripted model: what each step says and when, by the rules of adapters, the same in every run."""

import itertools
from typing import Any

import pytest
import trio

from tests.kit.model_calls import PROMPT, ask, ask_twice, make_call
from tests.kit.recordings import told
from tests.kit.streams import brief
from turnwire.actors.engine_ports import Model, ModelCall
from turnwire.messages.events import FinalReasoning, ItemDelta, ItemDone, ResponseError, StreamEvent, Usage
from turnwire.messages.providers.contract import check_contract
from turnwire.messages.ui import TextPart, ToolResultPart
from turnwire.runtime.models import (
    Call,
    Cut,
    Fail,
    Finish,
    Hang,
    Pause,
    Reply,
    Say,
    ScriptedModel,
    Step,
    Think,
)

Timed = list[tuple[float, str]]


async def timed_deltas(model: Model) -> Timed:
    stream = model.open(make_call())
    found: Timed = []
    async for batch in stream:
        found += [
            (round(trio.current_time(), 3), event.payload.delta_content)
            for event in batch
            if isinstance(event.payload, ItemDelta)
        ]
    await stream.aclose()
    return found


async def events_of(*reply: Reply) -> list[StreamEvent]:
    events, _ = await ask(ScriptedModel(list(reply)), make_call(prompt="Please."))
    check_contract(events)
    return events


async def test_a_reply_says_its_steps_in_order() -> None:
    """What is said in a row is one message; thinking and calls stand for themselves."""
    events = await events_of(
        [
            Think("Hm. "),
            "Let me ",
            Pause(0),
            Say("look."),
            Call("weather", {"city": "Oslo"}),
            Call("clock"),
            Usage(prompt_tokens=10, completion_tokens=5),
        ]
    )
    assert told(events).thinking == "Hm."
    assert told(events).texts == ("Let me look.",)
    assert told(events).calls == (("weather", '{"city":"Oslo"}', "done"), ("clock", "{}", "done"))
    assert told(events).finish_reason == "tool_calls"
    assert told(events).usage == Usage(prompt_tokens=10, completion_tokens=5)


async def test_times_are_trios(autojump_clock: trio.testing.MockClock) -> None:
    """`every` waits before each piece: words, pieces as they were cut, bits of arguments."""
    script: list[Reply] = [
        [Say("big blue sky", every=0.5), Pause(2), Say(["He", "llo"], every=0.25), Call("t", '{"a": "bcd"}', every=1)]
    ]
    assert await timed_deltas(ScriptedModel(script)) == [
        (0.5, "big "),
        (1.0, "blue "),
        (1.5, "sky"),
        (3.75, "He"),
        (4.0, "llo"),
        (5.0, '{"a": "b'),
        (6.0, 'cd"}'),
    ]


async def test_the_same_script_gives_the_same_events() -> None:
    """Ids, times and trace are made from the run's own."""

    async def play() -> list[StreamEvent]:
        model = ScriptedModel([[Think("Hm"), Call("a"), Call("a")]], now=lambda: 5)
        return (await ask(model, make_call()))[0]

    assert await play() == await play()


async def test_sealed_thinking_is_kept_for_its_own_format() -> None:
    """As a provider's signature is (C16), also where there was no text."""
    events = await events_of([Think("Hm", seal="sig"), Think("", seal="only"), "Yes."])
    finals = [event.payload.final_item for event in events if isinstance(event.payload, ItemDone)]
    assert [each.provider_data for each in finals if isinstance(each, FinalReasoning)] == [
        {"format": "scripted", "seal": "sig"},
        {"format": "scripted", "seal": "only"},
    ]


@pytest.mark.parametrize("before", [(), ("Well, ",)])
async def test_a_failure_ends_the_answer_with_the_providers_error(before: tuple[str, ...]) -> None:
    """Before anything was said, or after it; retryable as the code says."""
    events = await events_of([*before, Fail("overloaded_error", "too many"), "never said"])
    end = events[-1].payload
    assert isinstance(end, ResponseError)
    assert (end.error.code, end.error.message, end.error.details["retryable"]) == ("overloaded_error", "too many", True)
    assert "never said" not in str(brief(events))


async def test_a_connection_can_break() -> None:
    """Without its end the answer is truncated (C8)."""
    events = await events_of([Say("Well"), Cut(), "never said"])
    assert (told(events).texts, told(events).error_code) == (("Well",), "STREAM_TRUNCATED")


async def test_another_ending_can_be_asked_for() -> None:
    """Such as running out of tokens."""
    assert told(await events_of([Say("Well"), Finish("length")])).finish_reason == "length"
    assert told(await events_of("Well")).finish_reason == "stop"


@pytest.mark.parametrize(
    ("reply", "last"),
    [
        ([Say(["Hel", "lo"]), Hang()], "done message Hello"),
        ([Think("Hm", every=1), Think("more than that", every=7)], "done reasoning more "),
        ([Call("t", '{"city": "Oslo"}', every=7)], "error INCOMPLETE_ARGUMENTS"),
    ],
    ids=["text", "thinking", "arguments"],
)
async def test_a_model_can_be_stopped_in_the_middle(
    reply: list[Step], last: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Of text, of thinking, of arguments: what is open is closed truthfully (C9), and nothing comes after."""
    events: list[StreamEvent] = []
    stream = ScriptedModel([reply]).open(make_call(prompt="Please."))
    with trio.move_on_after(10) as patience:
        async for batch in stream:
            events += batch
    events += stream.abort()
    await stream.aclose()
    check_contract(events)
    assert patience.cancelled_caught
    assert (told(events).status, brief(events)[-2]) == ("aborted", last)
    assert stream.abort() == []


async def test_a_script_that_has_ended_says_so() -> None:
    """A test that asks more often than it meant to fails loudly."""
    model = ScriptedModel(["One."])
    await ask(model, make_call())
    events, _ = await ask(model, make_call(run_id="more"))
    assert told(events).error_code == "SCRIPT_ENDED"


@pytest.mark.parametrize("reply", ["Hello", Say("Hello"), Fail("odd")])
def test_a_script_that_is_one_reply_is_refused(reply: Any) -> None:
    """A text is iterable too, and would answer the first request with its first letter."""
    with pytest.raises(TypeError, match="expected a list of replies") as caught:
        ScriptedModel(reply)
    assert f"[{reply!r}]" in str(caught.value)


async def test_a_script_may_be_endless() -> None:
    """Such as a model that calls the same tool forever."""
    model = ScriptedModel(itertools.repeat(Call("again")))
    first, after = await ask(model, make_call())
    second, _ = await ask(model, make_call(after=after))
    calls = [event.payload.item_id for event in (*first, *second) if isinstance(event.payload, ItemDone)]
    assert calls == ["call-run-0-0", "call-run-1-0"]


async def test_a_function_answers_from_the_conversation() -> None:
    """It gets the request; each one is kept for the test to look at."""

    def reply(call: ModelCall) -> Reply:
        match call.messages[-1].parts[-1]:
            case ToolResultPart(content=content):
                return f"It says {content}."
            case TextPart(content=content):
                return [f"You said {content}", Call("look", {"n": 1})]
            case _:
                return Fail("odd")

    model = ScriptedModel(reply)
    first, second = await ask_twice(model, lambda _call: "sunny")
    assert told(first).texts == ("You said Please.",)
    assert [line for line in brief(second) if line.startswith("done message")] == ["done message It says sunny."]
    assert [call.after is None for call in model.calls] == [True, False]
    assert model.calls[0].messages == (PROMPT,)


async def test_iterations_of_one_run_go_on_with_one_another() -> None:
    """No second start, fresh ids, usage summed up: as with any provider."""
    model = ScriptedModel([[Call("a"), Usage(total_tokens=3)], ["Yes.", Usage(total_tokens=4)]])
    first, second = await ask_twice(model, lambda _call: None)
    check_contract([*first[:-1], *second])
    assert second[-1].payload.usage == Usage(total_tokens=7)  # type: ignore[union-attr]  # a response_done
    assert {event.trace_context for event in first} == {event.trace_context for event in second}
