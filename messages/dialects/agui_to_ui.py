"""AG-UI's messages → UIMessages: what MESSAGES_SNAPSHOT puts in the place of a conversation's messages.

AG-UI tells an answer of a model and its tools as many messages: reasoning, assistant, tool, assistant again. A
UIMessage holds all of them, as it does after a stream: it lasts until somebody else speaks. Activity messages are no
conversation and are left out.
"""

from collections.abc import Iterable

import attrs

from turnwire.messages.agui.messages import (
    ActivityMessage,
    AguiMessage,
    AguiToolCall,
    AssistantMessage,
    ContentText,
    ReasoningMessage,
    SpokenMessage,
    ToolMessage,
)
from turnwire.messages.agui.messages_codec import content_text
from turnwire.messages.dialects.agui_sealed import kept_value, step_seal
from turnwire.messages.json_text import parse_json, parse_json_or_text
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


@attrs.define
class _Made:
    """A message on its way."""

    message: UIMessage
    parts: list[Part] = attrs.field(factory=list[Part])
    calls: dict[str, int] = attrs.field(factory=dict[str, int])
    """The place of each call; where an id was used twice, of the newer."""

    def keep(self, message: SpokenMessage | AssistantMessage) -> None:
        """Keep what the provider wants back with a message."""
        if message.encrypted_value is not None:
            data = self.message.provider_data or {}
            values = {**data.get("encryptedValues", {}), message.id: message.encrypted_value}
            self.message = attrs.evolve(self.message, provider_data={**data, "encryptedValues": values})


def _spoken(message: SpokenMessage) -> _Made:
    content = message.content
    parts: list[Part] = []
    for part in (ContentText(text=content),) if isinstance(content, str) else content:
        if isinstance(part, ContentText):
            parts.append(TextPart(content=part.text))
        else:
            parts.append(MediaPart(kind=part.kind, source=part.source, metadata=part.metadata))
    made = _Made(UIMessage(id=message.id, role=message.role), parts)
    made.keep(message)
    return made


def _add(made: _Made, message: AssistantMessage | ToolMessage | ReasoningMessage, *, classic: bool) -> None:
    match message:
        case ReasoningMessage():
            sealed: ProviderData | None = None
            if message.encrypted_value is not None:
                name, value = step_seal(message.encrypted_value)
                sealed = {"steps": [{"stepId": message.id, "content": message.content, name: value}]}
            made.parts.append(ThinkingPart(content=message.content, provider_data=sealed))
        case AssistantMessage():
            if not any(isinstance(part, TextPart | ToolCallPart) for part in made.parts):
                made.message = attrs.evolve(made.message, id=message.id)  # not the id of the thinking before it
            if message.content:
                made.parts.append(TextPart(content=message.content, provider_data=_sealed(message.encrypted_value)))
            else:
                made.keep(message)
            for call in message.tool_calls:
                made.calls[call.id] = len(made.parts)
                made.parts.append(_call(call))
        case ToolMessage():
            text = content_text(message.content)
            state: ToolResultState = "error" if message.error is not None else "complete"
            place = made.calls.get(message.tool_call_id)
            asked = None if place is None else made.parts[place]
            if place is not None and isinstance(asked, ToolCallPart):
                known = asked.state if classic else state
                made.parts[place] = attrs.evolve(asked, output=parse_json_or_text(text), state=known)
            result = ToolResultPart(
                tool_call_id=message.tool_call_id,
                content=text,
                state=state,
                error=message.error,
                provider_data=_sealed(message.encrypted_value),
            )
            made.parts.append(result)


def _call(call: AguiToolCall) -> ToolCallPart:
    part = ToolCallPart(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        state="input-complete",
        provider_data=_sealed(call.encrypted_value),
    )
    try:
        return attrs.evolve(part, input=parse_json(call.arguments))
    except ValueError:
        return part


def _sealed(value: str | None) -> ProviderData | None:
    return None if value is None else kept_value(value)
