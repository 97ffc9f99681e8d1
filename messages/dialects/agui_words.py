"""The words that AG-UI and our events do not share: finish reasons, and what travels as metadata for want of a field.

AG-UI gives every event a `metadata` object, and its clients fold it into the message or the call that the event
builds, key by key. What a field of ours says and no field of AG-UI can say stands there, under the names below: flat,
because a key is replaced whole. A client that does not know them loses nothing that AG-UI could have told it.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from turnwire.messages.agui.events import AguiFinishReason
from turnwire.messages.json_shapes import JsonObject, is_object, text_at
from turnwire.messages.particulars import ErrorInfo, Json
from turnwire.messages.providers.endings import FINISH_REASONS, FinishReason

Notes: TypeAlias = dict[str, Any]
"""Metadata on its way into an event."""

ITEM_ID: Final = "turnwire.itemId"
"""The id of a call's item, where it is not the call's own."""
CALL_ID: Final = "turnwire.callId"
"""The call's own id, where it became known too late to be AG-UI's toolCallId."""
ORIGIN: Final = "turnwire.origin"
"""Who asked for a tool, where that is not our model: `provider` for the provider's own tools."""
SUCCESS: Final = "turnwire.success"
"""Whether a tool says that it succeeded."""
ANNOTATIONS: Final = "turnwire.annotations"
PROVIDER_DATA: Final = "turnwire.providerData"
"""What must be sent back to the provider, unread. Never for user interfaces."""
ERROR: Final = "turnwire.error"
"""Why an item failed: `{"code", "message", "details"?}`."""
CANCELLED: Final = "turnwire.cancelled"
"""An item was taken back: the reason, or true."""
SUPERSEDED_BY: Final = "turnwire.supersededBy"
"""The final text is not what was streamed: the id under which it stands."""
SUPERSEDES: Final = "turnwire.supersedes"
"""The id whose text this one replaces."""
ENDS: Final = "turnwire.ends"
"""On the start of a canonical step: its end will be told. On a STEP_FINISHED: this is it."""
STATUS: Final = "turnwire.status"
"""How a run ended, where that is not just well: `error` or `aborted`."""
OWN_FINISH_REASON: Final = "turnwire.finishReason"
"""Our word for why the model stopped, where AG-UI has none: refusal, pause, other."""
RETRYABLE: Final = "turnwire.retryable"
DETAILS: Final = "turnwire.details"
MODEL_ID: Final = "turnwire.modelId"
PROVIDER_ID: Final = "turnwire.providerId"
AGENT_ID: Final = "turnwire.agentId"
PROVIDER_RESPONSE_ID: Final = "turnwire.providerResponseId"
SERVED_MODEL: Final = "turnwire.servedModel"

CUSTOM_PREFIX: Final = "turnwire."
"""CUSTOM events with such names carry payloads that AG-UI has no event for: scripts, and items of type error."""

_SHARED: Mapping[str, AguiFinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


def to_agui_reason(reason: str | None) -> AguiFinishReason | None:
    """Give a finish reason as AG-UI has it; pause, other and words we do not know are None.

    >>> to_agui_reason("refusal"), to_agui_reason("pause")
    ('content_filter', None)
    """
    return None if reason is None else _SHARED.get(reason)


def to_our_reason(word: str | None) -> FinishReason | None:
    """Give a word as a finish reason of ours, None for a word that is none."""
    return word if word in FINISH_REASONS else None


def run_outcome(pending: list[str], *, cancelled: bool) -> Notes | None:
    """Give how a run ended as RUN_FINISHED says it: cancelled, or well with calls that wait; None if just well."""
    if cancelled:
        return {"type": "cancelled"}
    return {"type": "success", "pendingToolCallIds": pending} if pending else None


def is_cancelled(outcome: Json) -> bool:
    """Tell whether a run's outcome says that somebody stopped it."""
    return is_object(outcome) and outcome.get("type") == "cancelled"


def without_none(**notes: Any) -> Notes:
    """Give the notes that say something."""
    return {name: value for name, value in notes.items() if value is not None}


def note_error(error: ErrorInfo, *, details: bool) -> Notes:
    """Give an error as a note. Its details are the provider's words, and not for everybody."""
    told = {"code": error.code, "message": error.message}
    if details and error.details is not None:
        told["details"] = error.details
    return {ERROR: told}


def read_error_note(metadata: JsonObject) -> ErrorInfo | None:
    """Read such a note; None if there is none."""
    told = metadata.get(ERROR)
    if not is_object(told) or not text_at(told, "code"):
        return None
    return ErrorInfo(code=text_at(told, "code"), message=text_at(told, "message"), details=told.get("details"))
