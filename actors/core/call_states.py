"""How far a tool call has come. No clock, no await.

awaiting-input → input-streaming → input-complete → (approval-requested → approval-responded) → complete or error
"""

from turnwire.messages.ui import ToolCallState

_ORDER: dict[ToolCallState, int] = {
    "awaiting-input": 0,
    "input-streaming": 1,
    "input-complete": 2,
    "approval-requested": 3,
    "approval-responded": 4,
    "complete": 5,
    "error": 5,
}


def further(state: ToolCallState, wish: ToolCallState) -> ToolCallState:
    """Give the state wished for if it is further to the right; a state never moves back, and a terminal one never."""
    return wish if _ORDER[wish] > _ORDER[state] else state
