"""Events in short words, and a stage on which one turn plays before a sink that remembers when it was told what."""

from collections.abc import Callable
from itertools import count
from typing import Any

import attrs
import trio

from turnwire.actors.core.options import TurnOptions
from turnwire.messages import Output, StreamEvent, StreamMessage, decode_output
from turnwire.messages.events import (
    ErrorInfo,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ItemType,
    Origin,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    TraceContext,
    TurnAbortedByUser,
    Usage,
)
from turnwire.messages.outputs import Message, Thinking, ToolCall, TurnComplete, TurnError, TurnStarted

TRACE = TraceContext(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
TURN, THREAD = "turn-1", "thread-1"
_numbers = count(1)


def event(payload: Payload, *, event_id: str | None = None, run_id: str = TURN) -> StreamEvent:
    """Wrap a payload, under a fresh event id unless one is given."""
    name = event_id or f"ev-{next(_numbers)}"
    return StreamEvent(event_id=name, timestamp=1_700_000_000_000, run_id=run_id, trace_context=TRACE, payload=payload)


def started(turn_id: str = TURN, thread_id: str = THREAD, provider: str = "acme") -> StreamEvent:
    """The response starts."""
    return event(
        ResponseStart(
            response_id="r1", turn_id=turn_id, thread_id=thread_id, model_id="m1", provider_id=provider, created_at=1
        )
    )


def begin(item_id: str, item_type: ItemType = "message", **more: Any) -> StreamEvent:
    """An item starts."""
    return event(ItemStart(item_id=item_id, item_type=item_type, **more))


def delta(item_id: str, text: str) -> StreamEvent:
    """An item grows."""
    return event(ItemDelta(item_id=item_id, delta_content=text))


def said(item_id: str, text: str, origin: Origin = "agent") -> StreamEvent:
    """A message is done."""
    return event(ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=text, origin=origin)))


def thought(item_id: str, text: str) -> StreamEvent:
    """A block of reasoning is done."""
    return event(ItemDone(item_id=item_id, final_item=FinalReasoning(id=item_id, content=text)))


def called(item_id: str, call_id: str, arguments: str | None = "{}", name: str = "look") -> StreamEvent:
    """A function call is done."""
    final = FinalFunctionCall(id=item_id, name=name, call_id=call_id, arguments=arguments)
    return event(ItemDone(item_id=item_id, final_item=final))


def answered(item_id: str, call_id: str, output: str, *, success: bool | None = True) -> StreamEvent:
    """A function call's output is there."""
    final = FinalFunctionCallOutput(id=item_id, call_id=call_id, output=output, success=success)
    return event(ItemDone(item_id=item_id, final_item=final))


def failed(item_id: str, code: str = "OOPS", message: str = "it broke") -> StreamEvent:
    """An item failed."""
    return event(ItemError(item_id=item_id, error=ErrorInfo(code=code, message=message)))


def cancelled(item_id: str) -> StreamEvent:
    """An item is taken back."""
    return event(ItemCancelled(item_id=item_id))


def finished(status: str = "complete", usage: Usage | None = None) -> StreamEvent:
    """The response is done."""
    return event(ResponseDone(response_id="r1", status=status, usage=usage, finish_reason="stop"))


def broken(code: str = "PROVIDER_ERROR", message: str = "it broke") -> StreamEvent:
    """The response failed."""
    return event(ResponseError(response_id="r1", error=ErrorInfo(code=code, message=message)))


def aborted() -> StreamEvent:
    """The user pressed stop."""
    return event(TurnAbortedByUser(turn_id=TURN, reason="stop"))


def tokens(number: int, letter: str = "x") -> str:
    """A text of so many tokens."""
    return letter * (4 * number)


def brief(output: Output) -> str:
    """Say an output in a few words: what it is, its status, and how much text it has."""
    match output:
        case Message():
            return f"message {output.status} {output.content!r}"
        case Thinking():
            return f"thinking {output.status} {output.content!r}"
        case ToolCall():
            return f"tool_call {output.status} {output.tool_name}"
        case TurnStarted():
            return "turn_started"
        case TurnComplete():
            return f"turn_complete {output.status}"
        case TurnError():
            return f"turn_error {output.error.code}"


@attrs.define
class RecordingSink:
    """Remembers each message, what it said and when it came. May be slow, or fail as often as it is told."""

    delay: float = 0.0
    failures: int = 0
    on_call: Callable[[StreamMessage], object] | None = None
    calls: int = 0
    messages: list[StreamMessage] = attrs.field(factory=list)
    outputs: list[Output] = attrs.field(factory=list)
    times: list[float] = attrs.field(factory=list)

    async def __call__(self, message: StreamMessage) -> None:
        self.calls += 1
        if self.on_call is not None:
            self.on_call(message)
        if self.failures > 0:
            self.failures -= 1
            raise OSError("the sink is not there")
        if self.delay:
            await trio.sleep(self.delay)
        self.messages.append(message)
        self.outputs.append(decode_output(message.payload))
        self.times.append(trio.current_time())

    @property
    def told(self) -> list[str]:
        """All outputs, in a few words each."""
        return [brief(output) for output in self.outputs]

    @property
    def kinds(self) -> list[str]:
        """All outputs, without their text."""
        return [" ".join(brief(output).split(" ")[:2]) for output in self.outputs]


def options(*gradient: float, **more: Any) -> TurnOptions:
    """Options with this gradient."""
    return TurnOptions(batch_gradient=gradient, **more) if gradient else TurnOptions(**more)


def running() -> list[str]:
    """Name the tasks of turns, items and writers that exist right now."""
    root = trio.lowlevel.current_root_task()
    tasks = [root] if root is not None else []
    names: list[str] = []
    while tasks:
        task = tasks.pop()
        names.append(task.name)
        tasks.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return sorted(name for name in names if name.startswith(("turn ", "item ", "writer ")) and name != "turn deadlines")
