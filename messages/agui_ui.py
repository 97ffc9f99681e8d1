"""AG-UI's messages → UIMessages: what MESSAGES_SNAPSHOT puts in the place of a conversation's messages.

AG-UI tells an answer of a model and its tools as many messages: reasoning, assistant, tool, assistant again. A
UIMessage holds all of them, as it does after a stream: it lasts until somebody else speaks. Activity messages are no
conversation and are left out.
"""

from collections.abc import Iterable

import attrs

from turnwire.messages.agui_messages import (
    ActivityMessage,
    AguiMessage,
    AguiToolCall,
    AssistantMessage,
    ContentPart,
    ContentText,
    ReasoningMessage,
    SpokenMessage,
    ToolMessage,
)
from turnwire.messages.agui_messages_codec import CONTENT
from turnwire.messages.json_text import dump_json, parse_json, parse_json_or_text
from turnwire.messages.ui import (
    MediaPart,
    Part,
    ProviderData,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    ToolResultState,
    UIMessage,
)


def ui_messages_of(messages: Iterable[AguiMessage], *, classic: bool = False) -> list[UIMessage]:
    """Make a conversation of AG-UI's messages. With `classic` an answered call stays input-complete."""
    found: list[_Made] = []
    holders: dict[str, _Made] = {}
    answer: _Made | None = None
    for message in messages:
        if isinstance(message, ActivityMessage):
            continue
        if isinstance(message, SpokenMessage):
            found.append(_spoken(message))
            answer = None
            continue
        holder = (isinstance(message, ToolMessage) and holders.get(message.tool_call_id)) or answer
        if holder is None:
            answer = holder = _Made(UIMessage(id=message.id, role="assistant"))
            found.append(holder)
        _add(holder, message, classic=classic)
        if isinstance(message, AssistantMessage):
            holders.update((call.id, holder) for call in message.tool_calls)
    return [attrs.evolve(made.message, parts=tuple(made.parts)) for made in found]


def content_text(content: str | tuple[ContentPart, ...]) -> str:
    """Give what a tool said as text: its texts joined, or JSON when there is more than text."""
    if isinstance(content, str):
        return content
    if all(isinstance(part, ContentText) for part in content):
        return "".join(part.text for part in content if isinstance(part, ContentText))
    return dump_json(CONTENT[1](content)).decode()


@attrs.define
class _Made:
    message: UIMessage
    parts: list[Part] = attrs.field(factory=list[Part])


def _spoken(message: SpokenMessage) -> _Made:
    content = message.content
    parts: list[Part] = []
    for part in (ContentText(text=content),) if isinstance(content, str) else content:
        if isinstance(part, ContentText):
            parts.append(TextPart(content=part.text))
        else:
            parts.append(MediaPart(kind=part.kind, source=part.source, metadata=part.metadata))
    return _Made(UIMessage(id=message.id, role=message.role), parts)


def _add(made: _Made, message: AssistantMessage | ToolMessage | ReasoningMessage, *, classic: bool) -> None:
    match message:
        case ReasoningMessage():
            step = {"stepId": message.id, "content": message.content, "encryptedValue": message.encrypted_value}
            sealed: ProviderData | None = {"steps": [step]} if message.encrypted_value is not None else None
            made.parts.append(ThinkingPart(content=message.content, provider_data=sealed))
        case AssistantMessage():
            if not any(isinstance(part, TextPart | ToolCallPart) for part in made.parts):
                made.message = attrs.evolve(made.message, id=message.id)  # not the id of the thinking before it
            if message.content:
                made.parts.append(TextPart(content=message.content))
            made.parts.extend(map(_call, message.tool_calls))
        case ToolMessage():
            text = content_text(message.content)
            state: ToolResultState = "error" if message.error is not None else "complete"
            for place, part in enumerate(made.parts):
                if isinstance(part, ToolCallPart) and part.id == message.tool_call_id:
                    known = part.state if classic else state
                    made.parts[place] = attrs.evolve(part, output=parse_json_or_text(text), state=known)
            made.parts.append(
                ToolResultPart(tool_call_id=message.tool_call_id, content=text, state=state, error=message.error)
            )


def _call(call: AguiToolCall) -> ToolCallPart:
    sealed = {"encryptedValue": call.encrypted_value} if call.encrypted_value is not None else None
    part = ToolCallPart(
        id=call.id, name=call.name, arguments=call.arguments, state="input-complete", provider_data=sealed
    )
    try:
        return attrs.evolve(part, input=parse_json(call.arguments))
    except ValueError:
        return part
