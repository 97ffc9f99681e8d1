"""The smallest whole program: events in, whole objects out.

Try:    python examples/plain_trio.py
Watch:  ten small deltas come out as three messages, each with the whole text so far. The second is there because the
        stream stalls for longer than the batch timeout; without the stall there would be two.
"""

from collections.abc import AsyncIterator

import trio

from turnwire.messages import (
    FinalMessage,
    ItemDelta,
    ItemDone,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseStart,
    StreamEvent,
    StreamMessage,
    TraceContext,
)
from turnwire.runtime import TurnOptions, open_runtime

TRACE = TraceContext(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
TEXT = "A turn is one answer of a model, told in many small pieces."


async def model() -> AsyncIterator[StreamEvent]:
    """Stand in for a model: ten pieces of text, and a stall after the sixth."""
    payloads: list[Payload] = [
        ResponseStart(
            response_id="r1", turn_id="t1", thread_id="th1", model_id="toy", provider_id="here", created_at=0
        ),
        ItemStart(item_id="m1", item_type="message"),
        *(ItemDelta(item_id="m1", delta_content=TEXT[start : start + 6]) for start in range(0, len(TEXT), 6)),
        ItemDone(item_id="m1", final_item=FinalMessage(id="m1", content=TEXT)),
        ResponseDone(response_id="r1", status="complete", finish_reason="stop"),
    ]
    for number, payload in enumerate(payloads):
        await trio.sleep(0.5 if number == 8 else 0.01)
        yield StreamEvent(event_id=f"e{number}", timestamp=number, run_id="t1", trace_context=TRACE, payload=payload)


async def show(message: StreamMessage) -> None:
    """Be the sink: whatever takes a message, or raises when it cannot."""
    print(message.payload)


async def main() -> None:
    """Run one turn from its stream."""
    options = TurnOptions(batch_timeout=0.25)
    async with open_runtime(sink=show, options=options) as runtime:
        snapshot = await runtime.run_turn(model(), turn_id="t1", thread_id="th1")
    print(f"the end, as a reader knows it: {snapshot.items[-1].content!r}")


if __name__ == "__main__":
    trio.run(main)
