"""Each rule about what a payload may say is broken once, and named where it is broken."""

from typing import Any

import pytest

from tests.kit.turns import event
from turnwire.messages.events import (
    ErrorInfo,
    FinalFunctionCall,
    FinalMessage,
    FinalReasoning,
    Heartbeat,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ItemType,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    UnknownPayload,
    Usage,
    UsageUpdate,
)
from turnwire.messages.providers.contract import ContractError, check_contract

RUN = "turn-1"
PROMPT = f"{RUN}-user-prompt"
START = ResponseStart(
    response_id=RUN, turn_id=RUN, thread_id="thread-1", model_id="m", provider_id="acme", created_at=0
)


def begin(item_id: str, item_type: ItemType = "message", **more: Any) -> ItemStart:
    return ItemStart(item_id=item_id, item_type=item_type, **more)


def prompt(item_id: str = PROMPT, text: str = "Hi") -> ItemStart:
    return begin(item_id, origin="user", initial_content=text)


def said(item_id: str, content: str, **more: Any) -> ItemDone:
    return ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=content, **more))


def called(item_id: str, arguments: str | None, **more: Any) -> ItemDone:
    final = FinalFunctionCall(id=item_id, name="look", call_id=f"call-{item_id}", arguments=arguments, **more)
    return ItemDone(item_id=item_id, final_item=final)


def failed(item_id: str, code: str) -> ItemError:
    return ItemError(item_id=item_id, error=ErrorInfo(code=code, message="it broke"))


def end(finish_reason: str | None = "stop", status: str = "complete", usage: Usage | None = None) -> ResponseDone:
    return ResponseDone(response_id=RUN, status=status, finish_reason=finish_reason, usage=usage)


def broke(code: str, details: Any = None) -> ResponseError:
    told = {"retryable": True} if details is None else details
    return ResponseError(response_id=RUN, error=ErrorInfo(code=code, message="it broke", details=told))


def used(**counts: int) -> UsageUpdate:
    return UsageUpdate(response_id=RUN, usage=Usage(**counts))


GOOD: dict[str, list[Payload]] = {
    "a prompt and an answer": [prompt(), said(PROMPT, "Hi", origin="user"), begin("m"), said("m", "")],
    "a call": [begin("c", "function_call"), ItemDelta(item_id="c", delta_content="{}"), called("c", "{}")],
    "usage that grows": [
        used(prompt_tokens=9, cached_tokens=9),
        Heartbeat(),
        used(prompt_tokens=9, completion_tokens=1),
    ],
    "a call that failed, and the answer goes on": [
        begin("c", "function_call"),
        failed("c", "X"),
        begin("m"),
        said("m", ""),
    ],
}


@pytest.mark.parametrize("payloads", GOOD.values(), ids=GOOD.keys())
def test_what_keeps_the_rules_passes(payloads: list[Payload]) -> None:
    """None of them is taken for a breach."""
    check_contract([event(payload) for payload in [START, *payloads, end()]])


@pytest.mark.parametrize(
    "payloads",
    [
        [
            begin("m"),
            begin("c", "function_call"),
            failed("m", "overloaded"),
            failed("c", "overloaded"),
            broke("overloaded"),
        ],
        [begin("c", "function_call"), failed("c", "INCOMPLETE_ARGUMENTS"), used(prompt_tokens=1), broke("overloaded")],
        [begin("m"), failed("m", "STREAM_TRUNCATED"), broke("STREAM_TRUNCATED")],
        [begin("c", "function_call"), failed("c", "INCOMPLETE_ARGUMENTS"), end(None, "aborted")],
        [begin("c", "function_call"), failed("c", "INCOMPLETE_ARGUMENTS"), end("length")],
        [
            begin("c", "function_call", origin="provider", arguments="["),
            called("c", "[", origin="provider"),
            end("stop"),
        ],
    ],
)
def test_every_way_to_end_passes(payloads: list[Payload]) -> None:
    """Broken, truncated, aborted, cut short: each in its own words."""
    check_contract([event(payload) for payload in [START, *payloads]])


SPOILT: list[tuple[str, int, list[Payload]]] = [
    ("C2", 3, [begin("m"), said("m", ""), prompt()]),
    ("C2", 1, [prompt("somebody-s-words")]),
    ("C2", 1, [prompt(text="")]),
    ("C2", 1, [begin(PROMPT, "reasoning", initial_content="Hi")]),
    ("C2", 2, [prompt(), said(PROMPT, "Hi")]),
    ("C2", 2, [begin("m"), said("m", "", origin="user")]),
    ("C7", 1, [UnknownPayload(type="surprise", fields={})]),
    ("C8", 3, [begin("m"), failed("m", "STREAM_TRUNCATED"), end("stop")]),
    ("C8", 3, [begin("m"), failed("m", "STREAM_TRUNCATED"), broke("overloaded")]),
    ("C8", 3, [begin("m"), failed("m", "STREAM_TRUNCATED"), begin("n")]),
    ("C8", 4, [begin("m"), begin("n"), failed("m", "STREAM_TRUNCATED"), ItemDelta(item_id="n", delta_content="x")]),
    ("C9", 3, [begin("m"), failed("m", "overloaded"), end(None, "aborted")]),
    ("C10", 1, [broke("overloaded", {"provider_error": {}})]),
    ("C10", 1, [broke("overloaded", {"retryable": "perhaps"})]),
    ("C10", 3, [begin("m"), failed("m", "other"), broke("overloaded")]),
    ("C11", 2, [begin("c", "function_call"), called("c", "")]),
    ("C11", 2, [begin("c", "function_call"), called("c", None)]),
    ("C11", 3, [begin("c", "function_call", arguments='{"a'), called("c", '{"a'), end("length")]),
    ("C12", 1, [used(prompt_tokens=5, cached_tokens=4, cache_write_tokens=2)]),
    ("C12", 2, [used(prompt_tokens=5), used(prompt_tokens=4)]),
    ("C12", 2, [used(total_tokens=5), end(usage=Usage(total_tokens=4))]),
    ("C13", 1, [end("end_turn")]),
    ("C13", 1, [end(None)]),
    ("C13", 1, [end("stop", "in_progress")]),
    (
        "C17",
        3,
        [
            begin("c", "function_call", origin="provider", arguments="{}"),
            called("c", "{}", origin="provider"),
            end("tool_calls"),
        ],
    ),
]


@pytest.mark.parametrize(("rule", "position", "payloads"), SPOILT)
def test_each_breach_is_named_where_it_is(rule: str, position: int, payloads: list[Payload]) -> None:
    """Rule, place and event are told; what comes later does not matter."""
    events = [event(payload) for payload in [START, *payloads]]
    with pytest.raises(ContractError) as caught:
        check_contract(events)
    assert (caught.value.rule, caught.value.position) == (rule, position)
    assert caught.value.event_id == events[position].event_id


def test_c02_a_later_iteration_has_no_prompt() -> None:
    """The prompt was told at the start of the run."""
    payloads: list[Payload] = [prompt(), said(PROMPT, "Hi", origin="user"), end()]
    events = [event(payload) for payload in payloads]
    with pytest.raises(ContractError, match="C2"):
        check_contract(events, continued=True)


def test_c11_an_item_after_the_call_shows_that_it_was_not_cut() -> None:
    """Only what the stream stopped in can be half; a call whose JSON the model got wrong is passed on as it is."""
    thought = ItemDone(item_id="r", final_item=FinalReasoning(id="r", content=""))
    payloads: list[Payload] = [
        begin("c", "function_call", arguments="{"),
        called("c", "{"),
        begin("r", "reasoning"),
        thought,
    ]
    check_contract([event(payload) for payload in [START, *payloads, end("length")]])
