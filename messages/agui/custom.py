"""The two CUSTOM events that mean something to a conversation, as nouns."""

from typing import TypeAlias

import attrs

from turnwire.messages.agui.events import Custom
from turnwire.messages.particulars import Id, Json
from turnwire.messages.shapes import Shape
from turnwire.messages.ui import Approval

TOOL_INPUT_AVAILABLE = "tool-input-available"
APPROVAL_REQUESTED = "approval-requested"


@attrs.frozen(kw_only=True)
class ToolInputAvailable:
    """A tool of the client's is to be run with this input."""

    tool_call_id: Id
    tool_name: str
    input: Json = None


@attrs.frozen(kw_only=True)
class ApprovalRequested:
    """The user is asked whether a tool may run with this input."""

    tool_call_id: Id
    tool_name: str
    approval: Approval
    input: Json = None


ClientRequest: TypeAlias = ToolInputAvailable | ApprovalRequested

_INPUT = Shape(ToolInputAvailable)
_APPROVAL = Shape(ApprovalRequested, nested={"approval": Shape(Approval).nested})


def read_custom(event: Custom) -> ClientRequest | None:
    """Give what a CUSTOM event asks of the client; None if it is none of these two.

    Raises InvalidEventError, with a path such as `$.data.toolCallId`, if it is one of them and malformed.
    """
    if event.name == TOOL_INPUT_AVAILABLE:
        return _INPUT.structure(event.data, "$.data", event.name)
    if event.name == APPROVAL_REQUESTED:
        return _APPROVAL.structure(event.data, "$.data", event.name)
    return None


def tell_custom(request: ClientRequest) -> Custom:
    """Make the CUSTOM event that asks for this."""
    if isinstance(request, ToolInputAvailable):
        return Custom(name=TOOL_INPUT_AVAILABLE, data=_INPUT.unstructure(request))
    return Custom(name=APPROVAL_REQUESTED, data=_APPROVAL.unstructure(request))
