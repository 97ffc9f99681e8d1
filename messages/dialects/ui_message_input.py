"""The AI SDK's messages → UIMessages: what its client (npm `ai`, version 6) sends with a chat request.

A part that we have no place for (sources, data, the starts of steps) is left out: it is for the client's own view. What
the client has added since, results of its tools and the user's word on approvals, is read from the parts of tools.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, cast

import attrs
from msgspec import UNSET

from turnwire.messages.agui.messages import MediaKind, MediaSource
from turnwire.messages.errors import InvalidEventError
from turnwire.messages.json_text import dump_json
from turnwire.messages.particulars import Id
from turnwire.messages.runs import ApprovalAnswer
from turnwire.messages.shapes import Shape
from turnwire.messages.ui import (
    Approval,
    MediaPart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolCallState,
    ToolResultPart,
    UIMessage,
)
from turnwire.messages.wire import json_name

DENIED: Final = "the user did not allow this"
_TOOL: Final = "tool-"
_STATES: Final[dict[str, ToolCallState]] = {
    "input-streaming": "input-streaming",
    "input-available": "input-complete",
    "approval-requested": "approval-requested",
    "approval-responded": "approval-requested",  # what the user said is an answer of its own: whoever is first counts
    "output-available": "complete",
    "output-error": "error",
    "output-denied": "error",
}


@attrs.frozen(kw_only=True)
class ChatInput:
    """What a chat request says: the conversation, and what the user has said to approvals."""

    messages: tuple[UIMessage, ...]
    answers: tuple[ApprovalAnswer, ...]


@attrs.frozen(kw_only=True)
class _Message:
    id: Id
    role: Literal["system", "user", "assistant"]
    parts: list[dict[str, Any]]


@attrs.frozen(kw_only=True)
class _Text:
    text: str


@attrs.frozen(kw_only=True)
class _File:
    media_type: str
    url: str


@attrs.frozen(kw_only=True)
class _ApprovalPart:
    id: Id
    approved: bool | None = None


@attrs.frozen(kw_only=True)
class _ToolPart:
    tool_call_id: Id
    state: str
    input: Any = None
    output: Any = None
    error_text: str | None = None
    tool_name: str | None = None
    approval: _ApprovalPart | None = None


_MESSAGE = Shape(_Message)
_TEXT, _FILE = Shape(_Text), Shape(_File)
_TOOL_PART = Shape(_ToolPart, nested={"approval": Shape(_ApprovalPart).nested})


def read_chat_messages(document: object, path: str = "$.messages") -> ChatInput:
    """Read the messages of a chat request. Raises InvalidEventError that says where they are none."""
    if not isinstance(document, list):
        raise InvalidEventError(f"expected an array, got {json_name(document)}", path=path)
    answers: list[ApprovalAnswer] = []
    messages = [
        _read_message(each, f"{path}[{number}]", answers)
        for number, each in enumerate(cast("Iterable[object]", document))
    ]
    return ChatInput(messages=tuple(messages), answers=tuple(answers))


def _read_message(document: object, path: str, answers: list[ApprovalAnswer]) -> UIMessage:
    message = _MESSAGE.structure(document, path, None)
    parts = [
        part
        for number, each in enumerate(message.parts)
        for part in _read_part(each, f"{path}.parts[{number}]", answers)
    ]
    return UIMessage(id=message.id, role=message.role, parts=tuple(parts))


def _read_part(fields: dict[str, Any], path: str, answers: list[ApprovalAnswer]) -> Iterable[Part]:
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise InvalidEventError(f"expected the name of a part, got {json_name(kind)}", path=f"{path}.type")
    match kind:
        case "text":
            return [TextPart(content=_TEXT.structure(fields, path, None).text)]
        case "reasoning":
            return [ThinkingPart(content=_TEXT.structure(fields, path, None).text)]
        case "file":
            return [_media(_FILE.structure(fields, path, None))]
        case _ if kind == "dynamic-tool" or kind.startswith(_TOOL):
            return _read_tool(fields, kind, path, answers)
        case _:
            return []


def _read_tool(fields: dict[str, Any], kind: str, path: str, answers: list[ApprovalAnswer]) -> list[Part]:
    part = _TOOL_PART.structure(fields, path, None)
    state = _STATES.get(part.state)
    if state is None:
        problem = f"{part.state!r} is none of {', '.join(_STATES)}"
        raise InvalidEventError(problem, path=f"{path}.state")
    name = part.tool_name if kind == "dynamic-tool" else kind.removeprefix(_TOOL)
    if not name:
        raise InvalidEventError("missing", path=f"{path}.toolName")
    if part.approval is not None and part.approval.approved is not None and part.state == "approval-responded":
        answers.append(ApprovalAnswer(approval_id=part.approval.id, approved=part.approval.approved))
    call = ToolCallPart(
        id=part.tool_call_id,
        name=name,
        arguments=part.input
        if isinstance(part.input, str)
        else dump_json({} if part.input is None else part.input).decode(),
        state=state,
        input=UNSET if part.input is None else part.input,
        output=part.output if part.state == "output-available" else UNSET,
        approval=None if part.approval is None else Approval(id=part.approval.id),
    )
    return [call, *_result(part)]


def _result(part: _ToolPart) -> list[Part]:
    match part.state:
        case "output-available":
            text = part.output if isinstance(part.output, str) else dump_json(part.output).decode()
            return [ToolResultPart(tool_call_id=part.tool_call_id, content=text, state="complete")]
        case "output-error" | "output-denied":
            error = part.error_text or (DENIED if part.state == "output-denied" else "the tool failed")
            return [ToolResultPart(tool_call_id=part.tool_call_id, content=error, state="error", error=error)]
        case _:
            return []


def _media(file: _File) -> MediaPart:
    word = file.media_type.partition("/")[0]
    kind = cast("MediaKind", word) if word in ("image", "audio", "video") else "document"
    head, comma, data = file.url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return MediaPart(kind=kind, source=MediaSource(type="data", value=data, mime_type=file.media_type))
    return MediaPart(kind=kind, source=MediaSource(type="url", value=file.url, mime_type=file.media_type))
