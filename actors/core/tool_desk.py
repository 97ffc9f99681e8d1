"""The tool calls of a conversation: their states, their results, the approvals they wait for. No clock, no await.

    awaiting-input → input-streaming → input-complete → (approval-requested → approval-responded) → complete or error

1. A state only moves to the right, and a terminal one never moves. With `classic` states nothing is terminal.
2. Nothing that is known of a call is ever forgotten: later news add to it.
3. Calls belong to the stream that started them; only that stream may add to their arguments. Results, approvals and
   answers find a call wherever it stands in the conversation.
"""

import logging
from collections.abc import Mapping
from typing import Any

import attrs
from msgspec import UNSET

from turnwire.actors.core.call_states import further
from turnwire.actors.core.conversation_options import Notices
from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.open_message import AnyMessage, OpenMessage
from turnwire.actors.core.open_parts import CallFacts, OpenCall
from turnwire.actors.core.text_flow import TextFlow
from turnwire.messages.agui import ToolCallStart
from turnwire.messages.agui_custom import ApprovalRequested
from turnwire.messages.errors import ApprovalAnsweredError, UnknownCallError
from turnwire.messages.json_text import dump_json, mend_surrogates, parse_json
from turnwire.messages.ui import (
    CalledTool,
    Part,
    ProviderData,
    ToolCallPart,
    ToolCallState,
    ToolResultPart,
    ToolResultState,
    UIMessage,
)

log = logging.getLogger("turnwire.conversation")


class ToolDesk:
    """Looks after the calls of a conversation, and knows which are of the stream that runs."""

    __slots__ = (
        "_calls",
        "_classic",
        "_counts",
        "_messages",
        "_notices",
        "_text",
        "_unfinished",
        "_warned",
        "approvals",
    )

    def __init__(
        self, messages: MessageList, notices: Notices, text: TextFlow, counts: Counts, *, classic: bool
    ) -> None:
        self._messages = messages
        self._notices = notices
        self._text = text
        self._counts = counts
        self._classic = classic
        self.approvals: dict[str, str] = {}
        """The call that an approval is about, by the approval's id."""
        self.reset()
        self.learn()

    def reset(self) -> None:
        """Begin a new stream."""
        self._calls: dict[str, OpenCall] = {}
        self._unfinished: dict[str, OpenCall] = {}
        self._warned: set[str] = set()

    def learn(self) -> None:
        """Find the approvals in the messages as they are now."""
        self.approvals.clear()
        for message in self._messages.view():
            self.learn_from(message)

    def learn_from(self, message: UIMessage) -> None:
        """Find the approvals in one message."""
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.approval is not None:
                self.approvals[part.approval.id] = part.id

    def pending_approvals(self) -> tuple[str, ...]:
        """Name the approvals that nobody has answered."""
        asked = {approval_id: self._messages.holders[call_id] for approval_id, call_id in self.approvals.items()}
        facts = ((approval_id, holder.facts(self.approvals[approval_id])) for approval_id, holder in asked.items())
        found = ((name, fact.approval) for name, fact in facts)
        # The id: where a call's id was used again, the older approval is not the one that its newer call has.
        return tuple(name for name, own in found if own is not None and own.id == name and own.approved is None)

    def forget(self) -> None:
        """Let go of the calls that were open: their message is gone."""
        self._unfinished.clear()
        self.learn()

    # What the stream says

    def start(self, event: ToolCallStart, message: OpenMessage) -> None:
        """Add a call, unless it is there already."""
        self._text.flush()
        moment = self._messages.tick()
        index = len(self._calls) if event.index is None else event.index
        call = OpenCall(event.tool_call_id, event.tool_name, index, moment)
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
        call.append(delta, moment)
        facts = call.facts.newest
        if facts.state == "awaiting-input":
            facts = attrs.evolve(facts, state="input-streaming")
            call.set_facts(facts, moment)
        message.touch(moment)
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
        self._set(message, call_id, attrs.evolve(better, state=further(facts.state, "input-complete")))

    def complete_all(self) -> None:
        """Take the arguments of all calls as final: no more is coming."""
        for call_id in [*self._unfinished]:
            self.complete(call_id)

    # Results and approvals

    def answer(
        self, call_id: str, content: str, *, output: Any, error: str | None, data: ProviderData | None = None
    ) -> bool:
        """Put what a tool said into its call and into a part of its own. False if there is no such call."""
        message = self._messages.holders.get(call_id)
        if message is None:
            return False
        if call_id in self._unfinished:
            self.complete(call_id)
        known = message.result(call_id)
        if message is self._messages.open and known is None:
            self._text.flush()
        facts = message.facts(call_id)
        state: ToolResultState = "complete" if error is None else "error"
        self._set(
            message,
            call_id,
            attrs.evolve(facts, output=output, state=facts.state if self._classic else further(facts.state, state)),
        )
        part = ToolResultPart(tool_call_id=call_id, content=content, state=state, error=error, provider_data=data)
        if part != known:
            message.set_result(part, self._messages.tick())
            self._changed(message)
        return True

    def request_approval(self, request: ApprovalRequested) -> bool:
        """Have a call wait for the user. False if there is no such call."""
        message = self._messages.holders.get(request.tool_call_id)
        if message is None:
            self.miss("approval_for_unknown_call", request.tool_call_id)
            return False
        if request.tool_call_id in self._unfinished:
            self.complete(request.tool_call_id, request.input)
        facts = message.facts(request.tool_call_id)
        known = facts.approval
        if known is not None and (known.id == request.approval.id or known.approved is not None):
            count(self._counts, "repeated_approval_requests")  # the call keeps the question, and the answer it may have
            return known.approved is None
        if known is not None:
            self.approvals.pop(known.id, None)  # nobody has answered it, and now something else is asked
        self.approvals[request.approval.id] = request.tool_call_id
        better = attrs.evolve(facts, approval=request.approval, state=further(facts.state, "approval-requested"))
        if facts.input is UNSET and request.input is not None:
            better = attrs.evolve(better, input=request.input)
        self._set(message, request.tool_call_id, better)
        return True

    def answer_approval(self, approval_id: str, *, approved: bool) -> None:
        """Take the user's answer. Raises UnknownCallError, or ApprovalAnsweredError the second time."""
        call_id = self.approvals.get(approval_id)
        message = None if call_id is None else self._messages.holders.get(call_id)
        facts = None if call_id is None or message is None else message.facts(call_id)
        if call_id is None or message is None or facts is None or facts.approval is None:
            raise UnknownCallError(f"there is no approval {approval_id} in this conversation")
        if facts.approval.id != approval_id:
            raise self._refusal(approval_id)
        if facts.approval.approved is not None:
            raise ApprovalAnsweredError(approval_id, approved=facts.approval.approved)
        answered = attrs.evolve(facts.approval, approved=approved)
        state = further(facts.state, "approval-responded")
        self._set(message, call_id, attrs.evolve(facts, approval=answered, state=state))

    def _refusal(self, approval_id: str) -> ApprovalAnsweredError | UnknownCallError:
        """Say why an approval takes no answer whose call is over, and whose call's id a newer call has by now."""
        parts = (part for message in self._messages.view() for part in message.parts if isinstance(part, ToolCallPart))
        for approval in (part.approval for part in parts):
            if approval is not None and approval.id == approval_id and approval.approved is not None:
                return ApprovalAnsweredError(approval_id, approved=approval.approved)
        return UnknownCallError(f"the call that approval {approval_id} was about is over")

    def keep(self, call_id: str, data: ProviderData) -> bool:
        """Keep opaque data with a call. False if there is no such call."""
        message = self._messages.holders.get(call_id)
        if message is None:
            return False
        facts = message.facts(call_id)
        self._set(message, call_id, attrs.evolve(facts, provider_data={**(facts.provider_data or {}), **data}))
        return True

    def called(self) -> tuple[CalledTool, ...]:
        """List the calls of the stream, in the order of first sight."""
        calls = self._calls.values()
        return tuple(CalledTool(id=call.id, name=call.name, arguments=call.arguments.text()) for call in calls)

    def miss(self, name: str, call_id: str) -> None:
        """Count what is about a call that is not there; warn about each such call once."""
        count(self._counts, name)
        if call_id not in self._warned and len(self._warned) < 100:
            self._warned.add(call_id)
            log.warning("%s: there is no call %s in this stream", name, call_id)

    def _set(self, message: AnyMessage, call_id: str, facts: CallFacts) -> None:
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
    text = call.arguments.text()
    if (mended := mend_surrogates(text)) != text:
        call.replace_arguments(mended, moment)
    try:
        return attrs.evolve(call.facts.newest, input=parse_json(mended))
    except ValueError:
        return call.facts.newest


def carry_over(message: UIMessage, known: Mapping[str, AnyMessage]) -> UIMessage:
    """Let the calls of a message from a snapshot keep what a snapshot cannot tell: approvals, outputs, states."""

    def carried(part: Part) -> Part:
        holder = known.get(part.id) if isinstance(part, ToolCallPart) else None
        if holder is None or not isinstance(part, ToolCallPart):
            return part
        facts = holder.facts(part.id)
        return attrs.evolve(
            part,
            state=further(part.state, facts.state),
            approval=part.approval or facts.approval,
            output=facts.output if part.output is UNSET else part.output,
            provider_data=part.provider_data or facts.provider_data,
        )

    return attrs.evolve(message, parts=tuple(map(carried, message.parts)))
