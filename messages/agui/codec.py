"""AG-UI events ⇄ JSON: strict, and the only room that knows their wire names.

On input the canonical dialect and AG-UI 1.0 are taken, mixed at will: where they name a field differently the first
name that has a value counts. On output the caller chooses. AG-UI 1.0 allows fields of one's own, so what only the
canonical dialect has (a finish reason, a call's input) is written beside; nothing is lost in either.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from turnwire.messages.agui import events as agui
from turnwire.messages.agui import more_events
from turnwire.messages.agui.delta_codec import try_decode_agui_delta
from turnwire.messages.agui.events import RunError, RunErrorInfo, RunFinished, UnknownAguiEvent
from turnwire.messages.agui.messages_codec import AGUI_MESSAGE, CONTENT
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.agui.usage import structure_usage, unstructure_token_usages, unstructure_usage
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.event_codec import MAX_EVENT_BYTES
from turnwire.messages.shapes import Nested, Shape, each
from turnwire.messages.wire import dump_document, json_name, parse_document

Dialect: TypeAlias = Literal["1.0", "canonical"]

EVENT_TYPES: Mapping[str, type[agui.AguiEvent]] = {
    "RUN_STARTED": agui.RunStarted,
    "TEXT_MESSAGE_START": agui.TextMessageStart,
    "TEXT_MESSAGE_CONTENT": agui.TextMessageContent,
    "TEXT_MESSAGE_END": agui.TextMessageEnd,
    "TEXT_MESSAGE_CHUNK": more_events.TextMessageChunk,
    "TOOL_CALL_START": agui.ToolCallStart,
    "TOOL_CALL_ARGS": agui.ToolCallArgs,
    "TOOL_CALL_END": agui.ToolCallEnd,
    "TOOL_CALL_CHUNK": more_events.ToolCallChunk,
    "TOOL_CALL_RESULT": more_events.ToolCallResult,
    "STEP_STARTED": agui.StepStarted,
    "STEP_FINISHED": agui.StepFinished,
    "REASONING_START": more_events.ReasoningStart,
    "REASONING_MESSAGE_START": more_events.ReasoningMessageStart,
    "REASONING_MESSAGE_CONTENT": more_events.ReasoningMessageContent,
    "REASONING_MESSAGE_END": more_events.ReasoningMessageEnd,
    "REASONING_MESSAGE_CHUNK": more_events.ReasoningMessageChunk,
    "REASONING_END": more_events.ReasoningEnd,
    "REASONING_ENCRYPTED_VALUE": more_events.ReasoningEncryptedValue,
    "MESSAGES_SNAPSHOT": more_events.MessagesSnapshot,
    "STATE_SNAPSHOT": more_events.StateSnapshot,
    "STATE_DELTA": more_events.StateDelta,
    "ACTIVITY_SNAPSHOT": more_events.ActivitySnapshot,
    "ACTIVITY_DELTA": more_events.ActivityDelta,
    "RAW": more_events.RawAguiEvent,
    "CUSTOM": agui.Custom,
    "SUBAGENT_STARTED": more_events.SubagentStarted,
    "SUBAGENT_FINISHED": more_events.SubagentFinished,
    "SUBAGENT_ERROR": more_events.SubagentError,
    "RUN_FINISHED": RunFinished,
    "RUN_ERROR": RunError,
}
"""Wire name of each event. Written out, so that renaming a class never changes the wire."""

TAGS: Mapping[type, str] = {cls: tag for tag, cls in EVENT_TYPES.items()}

_CANONICAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "tool_name": ("toolName", "toolCallName"),
    "data": ("data", "value"),
    "step_id": ("stepId", "stepName"),
}


def decode_agui(data: bytes | str, *, max_bytes: int = MAX_EVENT_BYTES) -> AnyAguiEvent:
    """Decode one event from its JSON text. Raises InvalidEventError for anything that is none."""
    if len(data) > max_bytes:
        raise InvalidEventError(f"{len(data)} bytes; at most {max_bytes} are taken")
    if (delta := try_decode_agui_delta(data)) is not None:
        return delta
    return structure_agui(parse_document(data))


def structure_agui(document: object) -> AnyAguiEvent:
    """Make an event of what a JSON parser gave. Raises InvalidEventError, as `decode_agui` does."""
    if not isinstance(document, dict):
        raise InvalidEventError(f"expected an object, got {json_name(document)}")
    fields = cast("dict[str, Any]", document)
    tag = fields.get("type")
    if not isinstance(tag, str) or not tag:
        problem = "missing" if "type" not in fields else f"expected the name of an event, got {json_name(tag)}"
        raise InvalidEventError(problem, path="$.type")
    shape = _CANONICAL.get(tag)
    if shape is None:
        return UnknownAguiEvent(type=tag, fields={key: fields[key] for key in fields if key != "type"})
    if tag == "RUN_ERROR" and fields.get("error") is None:
        return _structure_flat_error(fields)
    return cast("AnyAguiEvent", shape.structure(fields, "$", tag))


def encode_agui(event: AnyAguiEvent, *, dialect: Dialect = "1.0") -> bytes:
    """Encode one event as compact JSON. Raises ValueError if a NaN is in it."""
    return dump_document(unstructure_agui(event, dialect=dialect))


def unstructure_agui(event: AnyAguiEvent, *, dialect: Dialect = "1.0") -> dict[str, Any]:
    """Give the event as builtins with wire names, `type` first; absent optionals are left out."""
    if isinstance(event, UnknownAguiEvent):
        return {"type": event.type, **event.fields}
    tag = TAGS[type(event)]
    if dialect == "canonical":
        said: dict[str, Any] = {"type": tag, **_CANONICAL[tag].unstructure(event)}
        if isinstance(event, RunFinished):
            said.setdefault("finishReason", None)  # null says something there: the model did not say why it ended
        return said
    wire: dict[str, Any] = {"type": tag, **_ONE_ZERO[tag].unstructure(event)}
    if isinstance(event, RunError):
        wire |= wire.pop("error")
    elif isinstance(event, agui.Custom):
        wire.setdefault("value", None)  # required there, be it null
    return wire


def _structure_flat_error(fields: dict[str, Any]) -> RunError:
    """Take message and code at the top of the event: so AG-UI 1.0 tells them."""
    error = _ERROR_INFO.structure(fields, "$", "RUN_ERROR")
    rest = {key: value for key, value in fields.items() if key not in ("error", "message", "code")}
    return cast(
        "RunError",
        _CANONICAL["RUN_ERROR"].structure({**rest, "error": _ERROR_INFO.unstructure(error)}, "$", "RUN_ERROR"),
    )


_ERROR_INFO = Shape(RunErrorInfo)


def _shapes(names: Mapping[str, tuple[str, ...]], usage: Nested) -> dict[str, Shape[Any]]:
    nested: dict[type, dict[str, Nested]] = {
        RunFinished: {"usage": usage},
        RunError: {"usage": usage, "error": _ERROR_INFO.nested},
        more_events.MessagesSnapshot: {"messages": each(AGUI_MESSAGE)},
        more_events.ToolCallResult: {"content": CONTENT},
    }
    return {tag: Shape(cls, names=_of(cls, names), nested=nested.get(cls)) for tag, cls in EVENT_TYPES.items()}


def _of(cls: type, names: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    return {name: words for name, words in names.items() if hasattr(cls, name)}


_CANONICAL = _shapes(_CANONICAL_NAMES, (structure_usage, unstructure_usage))
_ONE_ZERO = _shapes(
    {name: words[::-1] for name, words in _CANONICAL_NAMES.items()}, (structure_usage, unstructure_token_usages)
)
