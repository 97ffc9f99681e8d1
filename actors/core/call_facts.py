"""What is known of a tool call besides the text of its arguments, and how far it has come. No clock, no await.

awaiting-input → input-streaming → input-complete → (approval-requested → approval-responded) → complete or error
"""

from collections.abc import Mapping
from typing import Any

import attrs
from msgspec import UNSET, UnsetType

from turnwire.messages.particulars import Json
from turnwire.messages.ui import Approval, ToolCallPart, ToolCallState

_ORDER: dict[ToolCallState, int] = {
    "awaiting-input": 0,
    "input-streaming": 1,
    "input-complete": 2,
    "approval-requested": 3,
    "approval-responded": 4,
    "complete": 5,
    "error": 5,
}


@attrs.frozen(kw_only=True)
class CallFacts:
    """What is known of a tool call besides its id, its name and the text of its arguments."""

    state: ToolCallState
    input: Json | UnsetType = UNSET
    output: Json | UnsetType = UNSET
    approval: Approval | None = None
    provider_data: Mapping[str, Any] | None = None


def facts_of(part: ToolCallPart) -> CallFacts:
    """Say what a part tells of its call."""
    return CallFacts(
        state=part.state,
        input=part.input,
        output=part.output,
        approval=part.approval,
        provider_data=part.provider_data,
    )


def with_facts(part: ToolCallPart, facts: CallFacts) -> ToolCallPart:
    """Give a part that tells this of its call."""
    return attrs.evolve(
        part,
        state=facts.state,
        input=facts.input,
        output=facts.output,
        approval=facts.approval,
        provider_data=facts.provider_data,
    )


def carry_over(part: ToolCallPart, known: CallFacts) -> ToolCallPart:
    """Let a call from a snapshot keep what a snapshot cannot tell: its approval, its output, how far it has come."""
    return attrs.evolve(
        part,
        state=further(part.state, known.state),
        approval=part.approval or known.approval,
        output=known.output if part.output is UNSET else part.output,
        provider_data=part.provider_data or known.provider_data,
    )


def further(state: ToolCallState, wish: ToolCallState) -> ToolCallState:
    """Give the state wished for if it is further to the right; a state never moves back, and a terminal one never."""
    return wish if _ORDER[wish] > _ORDER[state] else state
