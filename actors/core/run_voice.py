"""What a run says itself, beside what its model says: its start, its prompt, results of tools, its end. No await.

Everything goes into `outbox`, in order, the model's events too; the shell tells the head and then takes it out.
"""

from collections.abc import Callable

from turnwire.actors.core.run_ids import RunIds
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    ItemDone,
    ItemStart,
    Payload,
    ResponseStart,
    StreamEvent,
    TraceContext,
)
from turnwire.messages.providers.adapter import epoch_milliseconds
from turnwire.messages.providers.continuation import new_trace_context
from turnwire.messages.runs import RunInput


class RunVoice:
    """Puts what a run says into envelopes."""

    def __init__(self, run: RunInput, ids: RunIds, *, now: Callable[[], float] = epoch_milliseconds) -> None:
        self.outbox: list[StreamEvent] = []
        """What has not been told yet, oldest first."""
        self.trace_context: TraceContext = new_trace_context()
        self.now = now
        self.run_id = run.run_id
        self._run = run
        self._ids = ids
        self._events = 0

    def tell(self, payload: Payload) -> StreamEvent:
        """Say something."""
        event = self.envelope(payload)
        self.outbox.append(event)
        return event

    def envelope(self, payload: Payload) -> StreamEvent:
        """Put something into its envelope, under an event id that no adapter makes."""
        self._events += 1
        return StreamEvent(
            event_id=f"{self.run_id}-x{self._events}",
            timestamp=self.now(),
            run_id=self.run_id,
            trace_context=self.trace_context,
            payload=payload,
        )

    def start(self, model_id: str, provider_id: str) -> None:
        """The run begins (C1)."""
        run = self._run
        self.tell(
            ResponseStart(
                response_id=self.run_id,
                turn_id=run.turn_id,
                thread_id=run.thread_id,
                model_id=model_id,
                provider_id=provider_id,
                created_at=self.now(),
            )
        )

    def prompt(self, text: str) -> None:
        """What the user said, as an item (C2)."""
        item_id = self._ids.fresh_item(f"{self.run_id}-user-prompt")
        self.tell(ItemStart(item_id=item_id, item_type="message", origin="user", initial_content=text))
        self.tell(ItemDone(item_id=item_id, final_item=FinalMessage(id=item_id, content=text, origin="user")))

    def call(self, call_id: str, name: str, arguments: str) -> None:
        """A call of an earlier run, told again: the log of each turn stands alone."""
        item_id = self._ids.fresh_item(f"{self.run_id}-{call_id}")
        whole = arguments if arguments.strip() else "{}"  # C11
        final = FinalFunctionCall(id=item_id, name=name, call_id=call_id, arguments=whole)
        self.tell(ItemStart(item_id=item_id, item_type="function_call", name=name, call_id=call_id, arguments=whole))
        self.tell(ItemDone(item_id=item_id, final_item=final))

    def output(self, call_id: str, text: str, *, success: bool) -> None:
        """What a tool gave back."""
        item_id = self._ids.fresh_item(f"{self.run_id}-{call_id}-output")
        final = FinalFunctionCallOutput(id=item_id, call_id=call_id, output=text, success=success)
        self.tell(ItemStart(item_id=item_id, item_type="function_call_output", call_id=call_id))
        self.tell(ItemDone(item_id=item_id, final_item=final))
