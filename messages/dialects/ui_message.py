"""The outputs of a turn → the UI message stream of the AI SDK (npm `ai`, version 6), for its `useChat` and the like.

A turn is one assistant's message under the turn's id. Outputs are full states, the SDK wants deltas: what is new in a
state is the end of its text. What the stream comes to depends on the items alone, in their order of first sight, and
not on which of their states were seen: so a reader who joins with a snapshot ends up with the same message. That is
why a step begins where a text or a thought stands behind a tool call, and not where an output happened to come.

The SDK has no chunk that takes text back. A state that does not go on where the last one stopped closes its block,
marked as superseded, and follows as a block of its own (ui_blocks.py). Nor has it one for an item that failed: its
`error` chunk ends the whole message. The failure of an item stands in its part's `providerMetadata`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from turnwire.messages.dialects.ui_blocks import CallBlock, Chunk, SpokenBlock, UiVoice
from turnwire.messages.outputs import (
    Message,
    Output,
    Thinking,
    ToolCall,
    TurnComplete,
    TurnError,
    TurnFailure,
    TurnStarted,
    TurnUsage,
)
from turnwire.messages.providers.endings import truncated
from turnwire.messages.runs import PendingCall


def outputs_to_ui_message(outputs: Iterable[Output], **options: bool) -> list[Chunk]:
    """Convert the outputs of a turn, as far as they go."""
    converter = OutputsToUiMessage(**options)
    return [chunk for output in outputs for chunk in converter.push(output)]


class OutputsToUiMessage:
    """Converts one turn for one reader, who may join in the middle: push a snapshot's `outputs` first, then the rest.

    `user_messages` tells the user's own messages too, as data parts; the client that sent them has them already.
    `dynamic_tools` makes parts of type `dynamic-tool`; without, their type is `tool-` and the tool's name.
    """

    def __init__(self, *, user_messages: bool = False, dynamic_tools: bool = True) -> None:
        self.counts: Counter[str] = Counter()
        """What did not fit, by kind."""
        self._voice = UiVoice()
        self._user_messages = user_messages
        self._dynamic = dynamic_tools
        self._started = False
        self._ended = False
        self._behind_calls = False
        """Whether the step has a call in it: then the next text or thought belongs to the next step."""
        self._spoken: dict[str, SpokenBlock] = {}
        """Open messages and thoughts, by item_id."""
        self._calls: dict[str, CallBlock] = {}
        """Calls that wait for their result, by item_id."""
        self._closed: set[str] = set()

    def push(self, output: Output) -> list[Chunk]:
        """Take the next output; gives what follows from it. A state that was told before gives nothing."""
        if self._ended:
            self.counts["after_end"] += 1
            return []
        if not self._started:
            self._start(output)
        match output:
            case Message(origin="user"):
                self._tell_user(output)
            case Message() | Thinking() | ToolCall() if output.item_id in self._closed:
                self.counts["ended_item"] += 1
            case Message() | Thinking():
                self._tell_spoken(output)
            case ToolCall():
                self._tell_call(output)
            case TurnComplete():
                self._finish(output)
            case TurnError():
                self._break(output.error)
            case TurnStarted():
                pass  # told already, by whatever came first
        return self._voice.take()

    def ask_approval(self, pending: PendingCall) -> list[Chunk]:
        """Tell that a call waits for the user's word. To be told behind the call and before the turn's end."""
        call = next((call for call in self._calls.values() if call.call_id == pending.tool_call_id), None)
        if self._ended or pending.kind != "approval" or pending.approval_id is None or call is None:
            self.counts["unknown_approval"] += 1
            return []
        self._voice.tell("tool-approval-request", approvalId=pending.approval_id, toolCallId=call.id)
        return self._voice.take()

    def finish(self) -> list[Chunk]:
        """Take the end of a log that has no terminal: the turn was given up, and is told so."""
        if self._started and not self._ended:
            error = truncated()
            self._break(TurnFailure(code=error.code, message=error.message))
        return self._voice.take()

    def _start(self, output: Output) -> None:
        self._started = True
        metadata = {"turnId": output.turn_id, "threadId": output.thread_id}
        if isinstance(output, TurnStarted):
            more = {"modelId": output.model_id, "providerId": output.provider_id}
            metadata |= {key: value for key, value in more.items() if value is not None}
        self._voice.tell("start", messageId=output.turn_id, messageMetadata=metadata)
        self._voice.tell("start-step")

    def _tell_user(self, output: Message) -> None:
        block = self._spoken.pop(output.item_id, None)
        if block is not None:  # only at its end did it turn out to be the user's
            block.supersede()
        if self._user_messages:
            self._voice.tell("data-user-message", id=output.item_id, data={"content": output.content})

    def _tell_spoken(self, output: Message | Thinking) -> None:
        block = self._spoken.get(output.item_id)
        if block is None:
            self._step_on()
            block = SpokenBlock(self._voice, output.item_id, thinking=isinstance(output, Thinking))
            self._spoken[output.item_id] = block
        block.reach(output.content)
        if output.status in ("complete", "error"):
            block.end(_notes(output))
            del self._spoken[output.item_id]
            self._closed.add(output.item_id)

    def _step_on(self) -> None:
        if not self._behind_calls:
            return
        self._behind_calls = False
        if not self._spoken:  # the client forgets open blocks with their step; the parts are the same without this
            self._voice.tell("finish-step")
        self._voice.tell("start-step")

    def _tell_call(self, output: ToolCall) -> None:
        call = self._calls.get(output.item_id)
        if call is None:
            self._behind_calls = True
            call = CallBlock(self._voice, output, dynamic=self._dynamic)
            self._calls[output.item_id] = call
        if output.status in ("complete", "error"):
            call.end(output)
            del self._calls[output.item_id]
            self._closed.add(output.item_id)

    def _close(self) -> None:
        """End what is still open, as a terminal does."""
        self._ended = True
        for block in self._spoken.values():
            block.end({})
        self._spoken.clear()
        self._voice.tell("finish-step")

    def _finish(self, end: TurnComplete) -> None:
        self._close()
        metadata: dict[str, Any] = {"status": end.status, **_usage(end.usage)}
        if end.status == "aborted":
            self._voice.tell("message-metadata", messageMetadata=metadata)
            self._voice.tell("abort", reason="aborted by the user")
            return
        reason = "error" if end.status == "error" else "tool-calls" if self._calls else None
        known = {} if reason is None else {"finishReason": reason}
        self._voice.tell("finish", **known, messageMetadata=metadata)

    def _break(self, error: TurnFailure) -> None:
        self._close()
        failure = {"code": error.code, "message": error.message}
        self._voice.tell("message-metadata", messageMetadata={"status": "error", "error": failure})
        self._voice.tell("error", errorText=error.message or error.code)


def _notes(output: Message | Thinking) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    if isinstance(output, Message) and output.origin != "agent":
        notes["origin"] = output.origin
    if output.status == "error":
        notes["error"] = {"code": output.error_code or "", "message": output.error_message or ""}
    return notes


def _usage(usage: TurnUsage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    tokens = {
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.completion_tokens,
        "totalTokens": usage.total_tokens,
    }
    return {"usage": tokens}
