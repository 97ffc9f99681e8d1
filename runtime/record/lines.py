"""The lines of a recorded conversation, put back to where they came from: events and the client's words alike."""

from typing import Protocol

from turnwire.actors.conversation import Conversation
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.messages.agui.client_lines import (
    ClientApproval,
    ClientMessage,
    ClientStreamEnd,
    ClientToolResult,
    ConversationLine,
)
from turnwire.messages.particulars import Json
from turnwire.messages.ui import UIMessage


class _Answerable(Protocol):
    """What the core's conversation and the actor's have in common."""

    def add_tool_result(self, tool_call_id: str, output: Json, error: str | None = None) -> None: ...
    def add_tool_approval_response(self, approval_id: str, approved: bool) -> None: ...  # as there
    def add_message(self, message: UIMessage) -> None: ...
    def finalize(self) -> object: ...


def apply_line(machine: ConversationMachine, line: ConversationLine) -> None:
    """Take a line in. Raises what the conversation raises: InvalidEventError, ApprovalAnsweredError, ..."""
    if isinstance(line, ClientToolResult | ClientApproval | ClientMessage | ClientStreamEnd):
        _speak(machine, line)
    else:
        machine.process_event(line)


async def send_line(conversation: Conversation, line: ConversationLine) -> None:
    """Send a line to a conversation's actor."""
    if isinstance(line, ClientToolResult | ClientApproval | ClientMessage | ClientStreamEnd):
        _speak(conversation, line)
    else:
        await conversation.send(line)


def _speak(
    conversation: _Answerable, line: ClientToolResult | ClientApproval | ClientMessage | ClientStreamEnd
) -> None:
    match line:
        case ClientToolResult():
            conversation.add_tool_result(line.tool_call_id, line.output, line.error)
        case ClientApproval():
            conversation.add_tool_approval_response(line.approval_id, line.approved)
        case ClientMessage():
            conversation.add_message(line.message)
        case ClientStreamEnd():
            conversation.finalize()
