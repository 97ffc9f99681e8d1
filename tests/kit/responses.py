"""Responses made up by Hypothesis: StreamEvents that keep the contract of adapters, in all they may say."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.kit.turns import THREAD, TURN, event
from turnwire.messages import StreamEvent
from turnwire.messages.events import (
    ErrorInfo,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    FinalReasoning,
    FinalScriptExecution,
    Heartbeat,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ItemType,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    ScriptExecutionStart,
    TurnAbortedByUser,
    Usage,
    UsageUpdate,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
DATA = st.none() | st.dictionaries(st.sampled_from(["before", "block", "item"]), TEXTS, max_size=2).map(
    lambda data: {"format": "acme", **data}
)
ERRORS = st.builds(ErrorInfo, code=st.sampled_from(["OOPS", "CONTENT_FILTER"]), message=TEXTS)
COUNTS = st.none() | st.integers(0, 1000)
USAGES = st.builds(Usage, prompt_tokens=COUNTS, completion_tokens=COUNTS, total_tokens=COUNTS, reasoning_tokens=COUNTS)
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers() | TEXTS, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)


def _delta(item_id: str, text: str) -> Payload:
    return ItemDelta(item_id=item_id, delta_content=text)


def _pieces(draw: Draw, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _final_text(draw: Draw, sent: str) -> str:
    """Give what an item comes to: what was sent, more of it, or something else altogether."""
    return str(draw(st.sampled_from([sent, sent, sent + "!", "else " + sent])))


def _end(draw: Draw, item_id: str, done: Payload) -> Payload:
    match draw(st.integers(0, 9)):
        case 0:
            return ItemError(item_id=item_id, error=draw(ERRORS))
        case 1:
            return ItemCancelled(item_id=item_id, reason=draw(st.none() | st.just("why not")))
        case 2:
            return ItemDone(item_id=item_id, final_item=FinalError(id=item_id, code="OOPS", message="it broke"))
        case _:
            return done


def _spoken(draw: Draw, item_id: str, item_type: ItemType) -> list[Payload]:
    sent = draw(TEXTS)
    content, data = _final_text(draw, sent), draw(DATA)
    notes = draw(st.none() | st.just([{"type": "citation", "at": 1}]))
    final = (
        FinalMessage(id=item_id, content=content, annotations=notes, provider_data=data)
        if item_type == "message"
        else FinalReasoning(id=item_id, content=content, provider_data=data)
    )
    deltas = [_delta(item_id, piece) for piece in _pieces(draw, sent)]
    done = ItemDone(item_id=item_id, final_item=final)
    return [ItemStart(item_id=item_id, item_type=item_type), *deltas, _end(draw, item_id, done)]


def _called(draw: Draw, item_id: str) -> list[Payload]:
    arguments = draw(ARGUMENTS | st.sampled_from(["", "free text", "[1]"]))
    sent = draw(st.sampled_from([arguments, arguments[:3], "free", '{"b": 1']))
    call_id, origin = draw(st.sampled_from([item_id, f"call-{item_id}"])), draw(st.none() | st.just("provider"))
    names_it, knows_call = draw(st.booleans()), draw(st.booleans())
    start = ItemStart(
        item_id=item_id,
        item_type="function_call",
        name="look" if names_it else None,
        call_id=call_id if knows_call else None,
        origin=origin,
    )
    final = FinalFunctionCall(
        id=item_id, name="look", call_id=call_id, arguments=arguments, origin=origin, provider_data=draw(DATA)
    )
    deltas = [_delta(item_id, piece) for piece in _pieces(draw, sent)]
    done = ItemDone(item_id=item_id, final_item=final)
    end = _end(draw, item_id, done) if names_it else done  # nobody hears of a call that fails before it has a name
    payloads: list[Payload] = [start, *deltas, end]
    if end is done and draw(st.booleans()):
        output = FinalFunctionCallOutput(
            id=f"{item_id}-output",
            call_id=call_id,
            output=draw(TEXTS),
            success=draw(st.sampled_from([None, True, False])),
            origin=origin,
        )
        payloads.append(ItemStart(item_id=output.id, item_type="function_call_output", call_id=call_id))
        payloads.append(ItemDone(item_id=output.id, final_item=output))
    return payloads


def _other(draw: Draw, item_id: str) -> list[Payload]:
    script = FinalScriptExecution(id=item_id, code="1 + 1")
    return list(
        draw(
            st.sampled_from(
                [
                    [Heartbeat()],
                    [ScriptExecutionStart(item_id=item_id, code="1 + 1")],
                    [
                        ItemStart(item_id=item_id, item_type="script_execution"),
                        ItemDone(item_id=item_id, final_item=script),
                    ],
                    [UsageUpdate(response_id=TURN, usage=Usage(prompt_tokens=3))],
                ]
            )
        )
    )


def _terminal(draw: Draw) -> Payload:
    usage = draw(st.none() | USAGES)
    match draw(st.integers(0, 4)):
        case 0:
            details = {"retryable": draw(st.booleans())}
            return ResponseError(response_id=TURN, error=ErrorInfo(code="broken", message="it broke", details=details))
        case 1:
            return TurnAbortedByUser(turn_id=TURN, reason="enough")
        case 2:
            return ResponseDone(response_id=TURN, status="aborted", usage=usage)
        case _:
            words = ["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "other"]
            return ResponseDone(
                response_id=TURN,
                status=draw(st.sampled_from(["complete", "complete", "error"])),
                usage=usage,
                finish_reason=draw(st.sampled_from(words)),
                raw_finish_reason=draw(st.none() | st.just("raw")),
                provider_response_id=draw(st.none() | st.just("resp")),
            )


@st.composite
def responses(draw: Draw) -> list[StreamEvent]:
    """Give a whole response; its items interleave."""
    makers: list[Callable[[str], list[Payload]]] = [
        lambda item_id: _spoken(draw, item_id, "message"),
        lambda item_id: _spoken(draw, item_id, "reasoning"),
        lambda item_id: _called(draw, item_id),
        lambda item_id: _other(draw, item_id),
    ]
    chosen: list[int] = draw(st.lists(st.integers(0, len(makers) - 1), max_size=5))
    queues: list[list[Payload]] = [makers[kind](f"i{number}") for number, kind in enumerate(chosen)]
    start = ResponseStart(
        response_id=TURN, turn_id=TURN, thread_id=THREAD, model_id="m1", provider_id="acme", created_at=1
    )
    payloads: list[Payload] = [start]
    while queues:
        number: int = draw(st.integers(0, len(queues) - 1))
        payloads.append(queues[number].pop(0))
        if not queues[number]:
            del queues[number]
    return [event(payload) for payload in [*payloads, _terminal(draw)]]
