"""A turn played without a clock: events pushed at given moments, and what came out of it."""

from itertools import count
from typing import Any

from turnwire.actors.core.options import TurnOptions
from turnwire.actors.core.turn_machine import TurnMachine
from turnwire.messages.events import (
    ErrorInfo,
    FinalCancelled,
    FinalError,
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalItem,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    Payload,
    ResponseDone,
    ResponseError,
    ResponseStart,
    TurnAbortedByUser,
    Usage,
)
from turnwire.messages.outputs import Content, Message, Output, Thinking, ToolCall, TurnComplete, TurnError, TurnStarted


class Play:
    """One turn. `now` is the time of whatever comes next; each event gets an id of its own unless it is given one."""

    def __init__(self, **options: Any) -> None:
        self.options = TurnOptions(**options)
        self.machine = TurnMachine("turn-1", "thread-1", self.options)
        self.now = 0.0
        self.record: list[tuple[float, Output]] = []
        self._ids = count()

    def push(self, payload: Payload, event_id: str | None = None) -> list[Output]:
        """Push one event and give what it made the machine emit."""
        self.machine.push(event_id or f"event-{next(self._ids)}", payload, now=self.now)
        return self.news()

    def news(self) -> list[Output]:
        """Take everything that waits in the outbox."""
        outbox, fresh = self.machine.outbox, list[Output]()
        while (emission := outbox.take()) is not None:
            fresh.append(emission.output)
            self.record.append((emission.at, emission.output))
            outbox.delivered(now=self.now)
        return fresh

    @property
    def outputs(self) -> list[Output]:
        """All outputs so far."""
        return [output for _, output in self.record]

    def wait(self, seconds: float) -> list[Output]:
        """Let time pass, and give what was due in it."""
        self.now += seconds
        self.machine.tick(now=self.now)
        return self.news()

    def flush(self) -> list[Output]:
        """Flush."""
        self.machine.flush(now=self.now)
        return self.news()

    def close(self) -> list[Output]:
        """Close."""
        self.machine.close(now=self.now)
        return self.news()

    def begin(self, provider_id: str = "provider-1", **changes: Any) -> list[Output]:
        """Start the response."""
        fields: dict[str, Any] = {
            "response_id": "resp-1",
            "turn_id": "turn-1",
            "thread_id": "thread-1",
            "model_id": "model-1",
            "created_at": 0,
            **changes,
        }
        return self.push(ResponseStart(provider_id=provider_id, **fields))

    def start(self, item_id: str = "a", item_type: Any = "message", **more: Any) -> list[Output]:
        """Start an item."""
        return self.push(ItemStart(item_id=item_id, item_type=item_type, **more))

    def delta(self, text: str, item_id: str = "a") -> list[Output]:
        """Send text for an item."""
        return self.push(ItemDelta(item_id=item_id, delta_content=text))

    def done(self, final: FinalItem, item_id: str = "a") -> list[Output]:
        """Finish an item."""
        return self.push(ItemDone(item_id=item_id, final_item=final))

    def error(self, item_id: str = "a", code: str = "E1", message: str = "no") -> list[Output]:
        """Fail an item."""
        return self.push(ItemError(item_id=item_id, error=ErrorInfo(code=code, message=message)))

    def cancel(self, item_id: str = "a") -> list[Output]:
        """Cancel an item."""
        return self.push(ItemCancelled(item_id=item_id))

    def finish(self, status: str = "complete", usage: Usage | None = None) -> list[Output]:
        """End the response."""
        return self.push(ResponseDone(response_id="resp-1", status=status, usage=usage))

    def breaks(self, code: str = "PROVIDER_ERROR", message: str = "gone") -> list[Output]:
        """End the response with an error."""
        return self.push(ResponseError(response_id="resp-1", error=ErrorInfo(code=code, message=message)))

    def abort(self) -> list[Output]:
        """Press stop."""
        return self.push(TurnAbortedByUser(turn_id="turn-1", reason="stop"))


def said(content: str, **more: Any) -> FinalMessage:
    """A final message."""
    return FinalMessage(id="final", content=content, **more)


def thought(content: str) -> FinalReasoning:
    """A final block of reasoning."""
    return FinalReasoning(id="final", content=content)


def called(arguments: str | None = "{}", *, name: str = "add", call_id: str = "call-1") -> FinalFunctionCall:
    """A final function call."""
    return FinalFunctionCall(id="final", name=name, arguments=arguments, call_id=call_id)


def answered(output: str = "ok", *, call_id: str = "call-1", success: bool | None = None) -> FinalFunctionCallOutput:
    """A final function call output."""
    return FinalFunctionCallOutput(id="final", call_id=call_id, output=output, success=success)


def broken(code: str = "E1", message: str = "no") -> FinalError:
    """A final error."""
    return FinalError(id="final", code=code, message=message)


def taken_back() -> FinalCancelled:
    """A final item that was cancelled."""
    return FinalCancelled(id="final")


IDS: dict[str, Any] = {"turn_id": "turn-1", "thread_id": "thread-1"}


def message(status: Any, content: str, item_id: str = "a", *, origin: Any = "agent", **more: Any) -> Message:
    """The message that is expected."""
    return Message(**IDS, item_id=item_id, status=status, content=content, origin=origin, **more)


def thinking(
    status: Any, content: str, item_id: str = "a", *, provider_id: str = "provider-1", **more: Any
) -> Thinking:
    """The block of thinking that is expected."""
    return Thinking(**IDS, item_id=item_id, status=status, content=content, provider_id=provider_id, **more)


def tool(status: Any, item_id: str = "a", **more: Any) -> ToolCall:
    """The tool call that is expected."""
    fields: dict[str, Any] = {"content": "", "tool_name": "add", "tool_arguments": {}, "call_id": "call-1", **more}
    return ToolCall(**IDS, item_id=item_id, status=status, **fields)


def check_story(outputs: list[Output]) -> None:
    """Assert what holds for the outputs of every turn: each item's statuses in order, at most one terminal, last."""
    last: dict[str, Content] = {}
    for place, output in enumerate(outputs):
        match output:
            case TurnStarted():
                pass
            case TurnComplete() | TurnError():
                assert place == len(outputs) - 1, "something came after the terminal"
            case Message() | Thinking() | ToolCall():
                before = last.get(output.item_id)
                if before is None:
                    assert output.status != "update", f"{output.item_id} begins with an update"
                else:
                    assert before.status in ("create", "update"), f"{output.item_id} goes on after its end"
                    assert output.status != "create", f"{output.item_id} is created twice"
                    assert type(before) is type(output), f"{output.item_id} changes its type"
                last[output.item_id] = output
    assert sum(isinstance(output, TurnStarted) for output in outputs) <= 1
