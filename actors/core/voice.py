"""Puts what an item or a turn has come to into outputs, always under the turn's own ids. No clock, no await."""

from collections.abc import Mapping
from typing import Any, cast

from turnwire.actors.core.item_buffer import ItemBuffer
from turnwire.actors.core.tool_calls import OpenCall
from turnwire.messages.json_text import mend_surrogates, parse_json
from turnwire.messages.outputs import (
    Content,
    ContentStatus,
    JsonContainer,
    JsonObject,
    Message,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnStatus,
    TurnUsage,
)
from turnwire.messages.particulars import ErrorInfo, Origin, Usage
from turnwire.messages.quick_outputs import make_message


class TurnVoice:
    """Words the outputs of one turn. `provider_id` is "" until the response has started."""

    __slots__ = ("provider_id", "thread_id", "turn_id")

    def __init__(self, turn_id: str, thread_id: str) -> None:
        self.turn_id = turn_id
        self.thread_id = thread_id
        self.provider_id = ""

    def started(self, model_id: str, provider_id: str) -> TurnStarted:
        """Word the beginning."""
        self.provider_id = provider_id
        return TurnStarted(turn_id=self.turn_id, thread_id=self.thread_id, model_id=model_id, provider_id=provider_id)

    def text(self, item: ItemBuffer, status: ContentStatus, text: str, *, origin: Origin | None = None) -> Content:
        """Word a message or a block of thinking."""
        if item.content_type == "message":
            speaker = origin or ("user" if item.held else "agent")
            return make_message(self.turn_id, self.thread_id, item.item_id, status, text, speaker)
        return Thinking(
            turn_id=self.turn_id,
            thread_id=self.thread_id,
            item_id=item.item_id,
            status=status,
            content=text,
            provider_id=self.provider_id,
        )

    def failed(self, item: ItemBuffer, text: str, error: ErrorInfo) -> Content:
        """Word the failure of an item, with the text it ends with."""
        if item.content_type == "tool_call":
            call = OpenCall(item_id=item.item_id, name=item.name, arguments={}, call_id=item.call_id, content=text)
            return self.call_failed(call, error)
        if item.content_type == "thinking":
            return Thinking(
                turn_id=self.turn_id,
                thread_id=self.thread_id,
                item_id=item.item_id,
                status="error",
                content=text,
                provider_id=self.provider_id,
                error_code=error.code,
                error_message=error.message,
            )
        return Message(
            turn_id=self.turn_id,
            thread_id=self.thread_id,
            item_id=item.item_id,
            status="error",
            content=text,
            origin="user" if item.held else "agent",
            error_code=error.code,
            error_message=error.message,
        )

    def called(self, call: OpenCall) -> ToolCall:
        """Word a call whose arguments are there."""
        return self._call(call, "create")

    def answered(self, call: OpenCall, output: str, success: bool | None) -> ToolCall:
        """Word a call whose output is there."""
        return self._call(call, "complete", tool_output=parse_output(output), success=success)

    def call_failed(self, call: OpenCall, error: ErrorInfo) -> ToolCall:
        """Word a call that failed, before or after its arguments were there."""
        return self._call(call, "error", error_code=error.code, error_message=error.message)

    def completed(self, status: TurnStatus, *usages: Usage | None) -> TurnComplete:
        """Word an end that the producer told us of, with the first of these usages that says enough."""
        usage = next(filter(None, map(_turn_usage, usages)), None)
        return TurnComplete(turn_id=self.turn_id, thread_id=self.thread_id, status=status, usage=usage)

    def broke(self, code: str, message: str) -> TurnError:
        """Word an end by failure."""
        failure = TurnFailure(code=code, message=message)
        return TurnError(turn_id=self.turn_id, thread_id=self.thread_id, error=failure)

    def _call(self, call: OpenCall, status: ContentStatus, **more: Any) -> ToolCall:
        return ToolCall(
            turn_id=self.turn_id,
            thread_id=self.thread_id,
            item_id=call.item_id,
            status=status,
            content=call.content,
            tool_name=call.name,
            tool_arguments=call.arguments,
            call_id=call.call_id,
            **more,
        )


def parse_arguments(text: str) -> tuple[JsonObject, str]:
    """Give a call's arguments as an object, and the raw text if it is none."""
    if not text:
        return {}, ""
    try:
        value = parse_json(text)
    except ValueError:
        return {}, mend_surrogates(text)
    return (cast("Mapping[str, Any]", value), "") if isinstance(value, dict) else ({}, mend_surrogates(text))


def parse_output(text: str) -> JsonContainer | str:
    """Give a tool's output: parsed when it is a JSON object or array, else the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return mend_surrogates(text)
    try:
        return cast("JsonContainer", parse_json(text))
    except ValueError:
        return mend_surrogates(text)


def _turn_usage(usage: Usage | None) -> TurnUsage | None:
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    total = usage.total_tokens
    if total is None:
        total = usage.prompt_tokens + usage.completion_tokens
    return TurnUsage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens, total_tokens=total)
