"""The approvals that tool calls wait for: asked once, answered once, kept for good. No clock, no await.

1. A pending approval is state: it stands on its call until it is answered, and the answer stays there.
2. The call keeps its question. Only one that nobody has answered gives way to a newer one.
3. Exactly one answer: the second is refused with the first.
"""

import attrs
from msgspec import UNSET

from turnwire.actors.core.call_facts import further
from turnwire.actors.core.counts import Counts, count
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.tool_desk import ToolDesk
from turnwire.messages.agui.custom import ApprovalRequested
from turnwire.messages.errors import ApprovalAnsweredError, UnknownCallError
from turnwire.messages.ui import ToolCallPart, UIMessage


class Approvals:
    """Knows which call each approval is about."""

    __slots__ = ("_call_ids", "_counts", "_desk", "_messages")

    def __init__(self, messages: MessageList, desk: ToolDesk, counts: Counts) -> None:
        self._messages = messages
        self._desk = desk
        self._counts = counts
        self._call_ids: dict[str, str] = {}  # by the approval's id
        self.learn()

    def learn(self) -> None:
        """Find the approvals in the messages as they are now."""
        self._call_ids.clear()
        for message in self._messages.view():
            self.learn_from(message)

    def learn_from(self, message: UIMessage) -> None:
        """Find the approvals in one message."""
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.approval is not None:
                self._call_ids[part.approval.id] = part.id

    def pending(self) -> tuple[str, ...]:
        """Name the approvals that nobody has answered."""
        holders = self._messages.holders
        asked = ((name, holders[call_id].facts(call_id).approval) for name, call_id in self._call_ids.items())
        # The id: where a call's id was used again, the older approval is not the one that its newer call has.
        return tuple(name for name, own in asked if own is not None and own.id == name and own.approved is None)

    def request(self, request: ApprovalRequested) -> bool:
        """Have a call wait for the user. False if there is no such call, or nothing to ask."""
        call_id = request.tool_call_id
        message = self._messages.holders.get(call_id)
        if message is None:
            self._desk.miss("approval_for_unknown_call", call_id)
            return False
        self._desk.complete_if_open(call_id, request.input)
        facts = message.facts(call_id)
        known = facts.approval
        if known is not None and (known.id == request.approval.id or known.approved is not None):
            count(self._counts, "repeated_approval_requests")  # the call keeps the question, and the answer it may have
            return known.approved is None
        if known is not None:
            self._call_ids.pop(known.id, None)  # nobody has answered it, and now something else is asked
        self._call_ids[request.approval.id] = call_id
        better = attrs.evolve(facts, approval=request.approval, state=further(facts.state, "approval-requested"))
        if facts.input is UNSET and request.input is not None:
            better = attrs.evolve(better, input=request.input)
        self._desk.set_facts(message, call_id, better)
        return True

    def answer(self, approval_id: str, *, approved: bool) -> None:
        """Take the user's answer. Raises UnknownCallError, or ApprovalAnsweredError the second time."""
        call_id = self._call_ids.get(approval_id)
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
        self._desk.set_facts(message, call_id, attrs.evolve(facts, approval=answered, state=state))

    def _refusal(self, approval_id: str) -> ApprovalAnsweredError | UnknownCallError:
        """Say why an approval takes no answer whose call is over, and whose call's id a newer call has by now."""
        parts = (part for message in self._messages.view() for part in message.parts if isinstance(part, ToolCallPart))
        for approval in (part.approval for part in parts):
            if approval is not None and approval.id == approval_id and approval.approved is not None:
                return ApprovalAnsweredError(approval_id, approved=approval.approved)
        return UnknownCallError(f"the call that approval {approval_id} was about is over")
