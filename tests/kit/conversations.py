"""AG-UI events in short words, chunk strategies, and a listener that writes down all that a conversation tells."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import pytest

from turnwire.actors.core.chunking import AnyOf, ChunkStrategy, EveryN, Immediate, Punctuation, WordBoundary
from turnwire.actors.core.conversation_machine import ConversationMachine
from turnwire.actors.core.conversation_options import ConversationCallbacks, ConversationOptions
from turnwire.messages.agui.events import (
    Custom,
    RunError,
    RunErrorInfo,
    RunFinished,
    RunStarted,
    StepFinished,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from turnwire.messages.agui.more_events import AnyAguiEvent
from turnwire.messages.ui import MediaPart, Part, TextPart, ThinkingPart, ToolCallPart, UIMessage

RUN = RunStarted(run_id="r1")
STRATEGIES: dict[str, ChunkStrategy] = {
    "immediate": Immediate(),
    "punctuation": Punctuation(),
    "word": WordBoundary(),
    "every-2": EveryN(2),
    "any-of": AnyOf((Punctuation(), EveryN(3))),
}
under_every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)

SNAPSHOT: dict[str, Any] = {
    "type": "MESSAGES_SNAPSHOT",
    "messages": [
        {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": {"type": "url", "value": "http://x/y.png"}}]},
        {"id": "r1", "role": "reasoning", "content": "Hm", "encryptedValue": "e"},
        {"id": "a1", "role": "assistant", "content": "Let me see", "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "[1]"},
        {"id": "x1", "role": "activity", "activityType": "plan", "content": {}},
        {"id": "a2", "role": "assistant", "content": "One."},
        {"id": "s1", "role": "system", "content": "Be brief"},
        {"id": "a3", "role": "assistant", "toolCalls": [{"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{"}}]},
        {"id": "t2", "role": "tool", "toolCallId": "c2", "content": "", "error": "bad arguments"},
    ],
}  # fmt: skip


def begin(message_id: str = "m1", **more: Any) -> TextMessageStart:
    """A block of text begins."""
    return TextMessageStart(message_id=message_id, **more)


def say(*deltas: str, message_id: str = "m1") -> list[AnyAguiEvent]:
    """A block of text grows."""
    return [TextMessageContent(message_id=message_id, delta=delta) for delta in deltas]


def end(message_id: str = "m1") -> TextMessageEnd:
    """A block of text is whole."""
    return TextMessageEnd(message_id=message_id)


def text(*deltas: str, message_id: str = "m1") -> list[AnyAguiEvent]:
    """A whole block of text."""
    return [begin(message_id), *say(*deltas, message_id=message_id), end(message_id)]


def call(call_id: str = "c1", name: str = "look") -> ToolCallStart:
    """A tool call begins."""
    return ToolCallStart(tool_call_id=call_id, tool_name=name)


def args(*deltas: str, call_id: str = "c1") -> list[AnyAguiEvent]:
    """Its arguments grow."""
    return [ToolCallArgs(tool_call_id=call_id, delta=delta) for delta in deltas]


def called(call_id: str = "c1", **more: Any) -> ToolCallEnd:
    """Its arguments are final, or it has a result."""
    return ToolCallEnd(tool_call_id=call_id, tool_name="look", **more)


def think(delta: str, step_id: str = "s1", **more: Any) -> StepFinished:
    """The model thinks."""
    return StepFinished(step_id=step_id, delta=delta, **more)


def finished(reason: Any = "stop", **more: Any) -> RunFinished:
    """A run ends well."""
    return RunFinished(run_id="r1", finish_reason=reason, **more)


def failed(message: str = "it broke", code: str | None = "OOPS") -> RunError:
    """A run ends badly."""
    return RunError(error=RunErrorInfo(message=message, code=code))


def asks(call_id: str = "c1", approval_id: str = "a1", value: Any = None) -> Custom:
    """The user is asked for approval."""
    approval = {"id": approval_id, "needsApproval": True}
    return Custom(
        name="approval-requested",
        data={"toolCallId": call_id, "toolName": "look", "input": value, "approval": approval},
    )


def flat(*events: AnyAguiEvent | Iterable[AnyAguiEvent]) -> list[AnyAguiEvent]:
    """Events and lists of events as one list."""
    stream: list[AnyAguiEvent] = []
    for event in events:
        stream.extend(event if isinstance(event, list) else [event])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]  # told apart here
    return stream


def shown(strategy: str, *deltas: str) -> list[str]:
    """Say what a segment shows, step by step, until it is whole: the strategies once more, in the plainest words."""
    whole, seen, waiting, steps = "", 0, 0, list[str]()
    for delta in deltas:
        whole += delta
        waiting += 1
        has_mark = any(char in delta for char in ".,!?;:\n")
        upto = {
            "immediate": len(whole),
            "punctuation": len(whole) if has_mark else 0,
            "word": whole.rfind(" ") + 1,
            "every-2": len(whole) if waiting == 2 else 0,
            "any-of": len(whole) if has_mark or waiting == 3 else 0,
        }[strategy]
        if upto > seen:
            seen, waiting = upto, 0
            steps.append(whole[:seen])
    return steps if seen == len(whole) else [*steps, whole]


def brief(part: Part) -> str:
    """Say a part in a few words."""
    match part:
        case TextPart():
            return f"text {part.content!r}"
        case ThinkingPart():
            return f"thinking {part.content!r}"
        case ToolCallPart():
            approval = "" if part.approval is None else f" {part.approval.id}={part.approval.approved}"
            return f"call {part.id} {part.state} {part.arguments!r} {part.input!r} -> {part.output!r}{approval}"
        case MediaPart():
            return f"{part.kind} {part.source.value}"
        case _:
            return f"result {part.tool_call_id} {part.state} {part.content!r} {part.error!r}"


def briefs(message: UIMessage) -> list[str]:
    """Say all parts of a message in a few words each."""
    return [brief(part) for part in message.parts]


@attrs.define
class Listener:
    """Writes down what a conversation tells, and holds on to every view it is given."""

    told: list[str] = attrs.field(factory=list[str])
    views: list[Sequence[UIMessage]] = attrs.field(factory=list[Sequence[UIMessage]])

    @property
    def callbacks(self) -> ConversationCallbacks:
        """One for each thing there is to tell."""
        return ConversationCallbacks(
            on_messages_change=self.views.append,
            on_stream_start=self._writes("start"),
            on_stream_end=lambda message: self.told.append(f"end {message and message.id}"),
            on_error=self._writes("error"),
            on_tool_call=self._writes("tool"),
            on_approval_request=self._writes("approval"),
            on_text_update=self._writes("text"),
            on_tool_call_state_change=self._writes("call"),
            on_thinking_update=self._writes("thinking"),
            on_custom_event=self._writes("custom"),
            on_state_change=self._writes("state"),
        )

    def _writes(self, word: str) -> Callable[..., None]:
        return lambda *args: self.told.append(" ".join([word, *map(str, args)]))


@attrs.define
class Stage:
    """A conversation, its listener, and a check at each step that a change is told once and nothing else is."""

    strategy: str = "immediate"
    options: dict[str, Any] = attrs.field(factory=dict[str, Any])
    messages: Sequence[UIMessage] = ()
    listener: Listener = attrs.field(factory=Listener)
    machine: ConversationMachine = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        options = ConversationOptions(strategy=STRATEGIES[self.strategy], **self.options)
        self.machine = ConversationMachine(options, self.listener.callbacks, messages=self.messages)

    def play(self, *events: AnyAguiEvent | Iterable[AnyAguiEvent]) -> "Stage":
        """Play one whole stream."""
        self.machine.prepare_assistant_message()
        self.send(*events)
        self.step(self.machine.finalize)
        return self

    def send(self, *events: AnyAguiEvent | Iterable[AnyAguiEvent]) -> None:
        """Play events of a stream that goes on."""
        for event in flat(*events):
            self.step(self.machine.process_event, event)

    def step(self, act: Callable[..., object], *args: Any) -> None:
        """Do one thing. The messages are told of exactly once if they have changed, and not at all if not."""
        before, views = tuple(self.machine.messages), len(self.listener.views)
        act(*args)
        after = tuple(self.machine.messages)
        assert len(self.listener.views) - views == (after != before), (act, args)
        if after != before:
            assert tuple(self.listener.views[-1]) == after

    def texts(self, *deltas: str, message: str = "msg-1") -> list[str]:
        """What is told of a segment with these pieces."""
        return [f"text {message} {content}" for content in shown(self.strategy, *deltas)]

    @property
    def parts(self) -> list[str]:
        """The parts of the last message, in a few words each."""
        return briefs(self.machine.messages[-1])

    @property
    def told(self) -> list[str]:
        """All that was told but the messages."""
        return self.listener.told
