"""What a run of an agent is asked for, and what it came to. Frozen nouns only.

A run is one turn of a thread: the engine tells the model the thread's conversation, runs the tools that it calls, and
goes on until there is nothing left to do, or until somebody else must act (a client's tool, a user's approval). Then
the run ends as paused; the answers begin another run of the same thread.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from turnwire.messages.particulars import Id, Json
from turnwire.messages.ui import UIMessage


@attrs.frozen(kw_only=True)
class ToolSpec:
    """A tool as a model is told of it: what it is called, what it is for, and what it takes (a JSON schema)."""

    name: Id
    description: str = ""
    parameters: Mapping[str, Json] = attrs.field(factory=lambda: {"type": "object", "properties": {}})


@attrs.frozen(kw_only=True)
class ToolAnswer:
    """What a tool of the client's came to. `error` says why it failed, if it did."""

    tool_call_id: Id
    output: Json = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class ApprovalAnswer:
    """What the user said when asked whether a tool may run."""

    approval_id: Id
    approved: bool


Answer: TypeAlias = ToolAnswer | ApprovalAnswer


@attrs.frozen(kw_only=True)
class RunInput:
    """All that a run begins with besides the stored conversation of its thread. Stored before the run is announced."""

    run_id: Id
    turn_id: Id
    thread_id: Id
    messages: tuple[UIMessage, ...] | None = None
    """The whole conversation, where the client keeps it; None: what is stored for the thread."""
    new_messages: tuple[UIMessage, ...] = ()
    """What is added to it, such as the user's prompt."""
    answers: tuple[Answer, ...] = ()
    """Answers to what an earlier run was waiting for."""
    client_tools: tuple[ToolSpec, ...] = ()
    """Tools that the client runs."""
    model: str | None = None
    """Which of the configured models; None: the first."""
    state: Json = None
    instructions: str | None = None


PendingKind: TypeAlias = Literal["client_tool", "approval"]


@attrs.frozen(kw_only=True)
class PendingCall:
    """A call that somebody else must act on before its thread can go on."""

    kind: PendingKind
    thread_id: Id
    run_id: Id
    tool_call_id: Id
    tool_name: str
    input: Json = None
    approval_id: str | None = None


RunStatus: TypeAlias = Literal["complete", "paused", "aborted", "error"]


@attrs.frozen(kw_only=True)
class RunOutcome:
    """How a run ended."""

    status: RunStatus
    iterations: int = 0
    pending: tuple[PendingCall, ...] = ()
    error_code: str | None = None
