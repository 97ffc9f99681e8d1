"""The tool calls of a conversation: their arguments, their states, their results. No clock, no await.

    awaiting-input → input-streaming → input-complete → (approval-requested → approval-responded) → complete or error

1. A state only moves to the right, and a terminal one never moves. With `classic` states nothing is terminal.
2. Nothing that is known of a call is ever forgotten: later news add to it.
3. Calls belong to the stream that started them; only that stream may add to their arguments. Results, approvals and
   answers find a call wherever it stands in the conversation.

The approvals that calls wait for have a room of their own: approvals.py.
"""

import logging
from typing import Any

import attrs
from msgspec import UNSET

from turnwire.actors.core.call_facts import CallFacts, further
from turnwire.actors.core.conversation_options import Notices
from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.open_message import OpenMessage
from turnwire.actors.core.open_parts import OpenCall
from turnwire.actors.core.settled_message import AnyMessage
from turnwire.actors.core.text_flow import TextFlow
from turnwire.messages.agui.events import ToolCallStart
from turnwire.messages.json_text import dump_json, mend_surrogates, parse_json
from turnwire.messages.ui import CalledTool, ProviderData, ToolCallState, ToolResultPart, ToolResultState

log = logging.getLogger("turnwire.conversation")


class ToolDesk:
    """Looks after the calls of a conversation, and knows which are of the stream that runs."""

    __slots__ = (
        "_calls",
        "_classic",
        "_counts",
        "_messages",
        "_notices",
        "_partial",
        "_text",
        "_unfinished",
        "_warned",
    )

    def __init__(
        self, messages: MessageList, notices: Notices, text: TextFlow, counts: Counts, *, classic: bool, partial: bool
    ) -> None:
        self._messages = messages
        self._notices = notices
        self._text = text
        self._counts = counts
        self._classic = classic
        self._partial = partial
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self._calls: dict[str, OpenCall] = {}
        self._unfinished: dict[str, OpenCall] = {}
        self._warned: set[str] = set()

    def forget(self) -> None:
        """Let go of the calls that were open: their message is gone."""
        self._unfinished.clear()

    # What the stream says

    def start(self, event: ToolCallStart, message: OpenMessage) -> None:
        """Add a call, unless it is there already."""
        self._text.flush()
        moment = self._messages.tick()
        call = OpenCall(event.tool_call_id, event.tool_name, moment, partial=self._partial)
        self._calls[call.id] = self._unfinished[call.id] = call
        self._messages.holders[call.id] = message
        message.append(call, moment)
        self._changed(message, call.id, "awaiting-input")

    def is_known(self, call_id: str) -> bool:
        """Is a call of this id there, so that another START is a repetition?

        Some hosts number their calls anew in each turn. So an id that an earlier stream used counts as known only as
        long as its call waits for a result.
        """
        if call_id in self._calls:
            return True
        holder = self._messages.holders.get(call_id)
        return holder is not None and holder.result(call_id) is None

    def extend(self, call_id: str, delta: str) -> None:
        """Let the arguments of a call grow."""
        call, message = self._calls.get(call_id), self._messages.holders.get(call_id)
        if call is None or not isinstance(message, OpenMessage):
            self.miss("args_for_unknown_call", call_id)
            return
        if not delta:
            return
        moment = self._messages.tick()
        message.touch(call, moment)
        call.append(delta, moment)
        facts = call.facts
        if facts.state == "awaiting-input":
            facts = attrs.evolve(facts, state="input-streaming")
            call.set_facts(facts, moment)
        self._changed(message, call_id, facts.state)

    def complete(self, call_id: str, value: Any = None) -> None:
        """Take a call's arguments as final; an input that is given wins over what their text says."""
        call, message = self._unfinished.pop(call_id, None), self._messages.holders.get(call_id)
        if message is None:
            self.miss("end_for_unknown_call", call_id)
            return
        moment = self._messages.tick()
        facts = message.facts(call_id)
        better = facts if call is None else _with_input(call, moment)
        if value is not None and (call is not None or facts.input is UNSET):
            if call is not None and better.input != value:
                call.replace_arguments(dump_json(value).decode(), moment)
            better = attrs.evolve(better, input=value)
        self.set_facts(message, call_id, attrs.evolve(better, state=further(facts.state, "input-complete")))

    def complete_if_open(self, call_id: str, value: Any = None) -> None:
        """Take a call's arguments as final, unless they are already."""
        if call_id in self._unfinished:
            self.complete(call_id, value)

    def complete_all(self) -> None:
        """Take the arguments of all calls as final: no more is coming."""
        for call_id in [*self._unfinished]:
            self.complete(call_id)

    # What becomes of a call

    def answer(
        self, call_id: str, content: str, *, output: Any, error: str | None, data: ProviderData | None = None
    ) -> bool:
        """Put what a tool said into its call and into a part of its own. False if there is no such call."""
        message = self._messages.holders.get(call_id)
        if message is None:
            return False
        self.complete_if_open(call_id)
        known = message.result(call_id)
        if message is self._messages.open and known is None:
            self._text.flush()
        facts = message.facts(call_id)
        state: ToolResultState = "complete" if error is None else "error"
        self.set_facts(
            message,
            call_id,
            attrs.evolve(facts, output=output, state=facts.state if self._classic else further(facts.state, state)),
        )
        if data is None and known is not None:
            data = known.provider_data  # whoever tells a result again need not know what the provider has sealed of it
        part = ToolResultPart(tool_call_id=call_id, content=content, state=state, error=error, provider_data=data)
        if part != known:
            message.set_result(part, self._messages.tick())
            self._changed(message)
        return True

    def keep(self, call_id: str, data: ProviderData) -> bool:
        """Keep opaque data with a call. False if there is no such call."""
        message = self._messages.holders.get(call_id)
        if message is None:
            return False
        facts = message.facts(call_id)
        self.set_facts(message, call_id, attrs.evolve(facts, provider_data={**(facts.provider_data or {}), **data}))
        return True

    def called(self) -> tuple[CalledTool, ...]:
        """List the calls of the stream, in the order of first sight."""
        calls = self._calls.values()
        return tuple(CalledTool(id=call.id, name=call.name, arguments=call.arguments) for call in calls)

    def miss(self, name: str, call_id: str) -> None:
        """Count what is about a call that is not there; warn about each such call once."""
        count(self._counts, name)
        if call_id not in self._warned and len(self._warned) < 100:
            self._warned.add(call_id)
            log.warning("%s: there is no call %s in this stream", name, call_id)

    def set_facts(self, message: AnyMessage, call_id: str, facts: CallFacts) -> None:
        """Know better about a call, and tell of it; its state is news of its own."""
        before = message.facts(call_id)
        if facts == before:
            return
        message.set_facts(call_id, facts, self._messages.tick())
        self._changed(message, call_id if facts.state != before.state else None, facts.state)

    def _changed(self, message: AnyMessage, call_id: str | None = None, state: ToolCallState | None = None) -> None:
        self._messages.touch(message)
        self._notices.changed = True
        told = self._notices.callbacks.on_tool_call_state_change
        if call_id is not None and told is not None:
            self._notices.add(told, message.id, call_id, state, lambda: message.arguments(call_id))


def _with_input(call: OpenCall, moment: int) -> CallFacts:
    """Read a call's arguments for good. Text that is no JSON has no input."""
    text = call.arguments
    if (mended := mend_surrogates(text)) != text:
        call.replace_arguments(mended, moment)
    try:
        return attrs.evolve(call.facts, input=parse_json(mended))
    except ValueError:
        return call.facts
