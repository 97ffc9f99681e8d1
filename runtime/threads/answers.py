"""Which answers and which saves a store of threads takes, and how it refuses the others: the same for every store."""

from turnwire.messages.errors import ApprovalAnsweredError, CallAnsweredError, ThreadConflictError, UnknownCallError
from turnwire.messages.runs import Answer, ApprovalAnswer, PendingCall, ToolAnswer


def name_of(asked_or_said: PendingCall | Answer) -> str:
    """Give the name that a question and its answer share: two kinds of ids, which may look alike.

    >>> name_of(ApprovalAnswer(approval_id="a1", approved=True)), name_of(ToolAnswer(tool_call_id="a1"))
    ('approval:a1', 'client_tool:a1')
    """
    match asked_or_said:
        case ApprovalAnswer(approval_id=approval_id):
            return f"approval:{approval_id}"
        case ToolAnswer(tool_call_id=call_id):
            return f"client_tool:{call_id}"
        case PendingCall(kind="approval", approval_id=approval_id):
            return f"approval:{approval_id}"
        case PendingCall(tool_call_id=call_id):
            return f"client_tool:{call_id}"


def answered_before(first: Answer) -> ApprovalAnsweredError | CallAnsweredError:
    """Make the error for a second answer, with the first in it."""
    if isinstance(first, ApprovalAnswer):
        return ApprovalAnsweredError(first.approval_id, approved=first.approved)
    return CallAnsweredError(first.tool_call_id, output=first.output, error=first.error)


def nobody_asked(thread_id: str, answer: Answer) -> UnknownCallError:
    """Make the error for an answer that nobody waits for."""
    if isinstance(answer, ApprovalAnswer):
        return UnknownCallError(f"thread {thread_id} waits for no approval {answer.approval_id}")
    return UnknownCallError(f"thread {thread_id} waits for no result of tool call {answer.tool_call_id}")


def check_saver(thread_id: str, saved_by: str, *, run_id: str, after: str | None) -> None:
    """Raise ThreadConflictError if another run than `after` has saved a thread last; None: whoever it was.

    Once more by the same run is fine: whoever did not hear that it went well tries again.
    """
    if after is not None and saved_by not in (after, run_id):
        raise ThreadConflictError(thread_id, expected=after, found=saved_by)
