"""A stage for engines: models that play a script step by step, and a place that remembers what a run told."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

import attrs
import trio

from turnwire.actors.core.toolset import Tool
from turnwire.actors.engine import Engine
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.events import (
    FinalFunctionCall,
    FinalFunctionCallOutput,
    FinalMessage,
    FinalReasoning,
    ItemCancelled,
    ItemDelta,
    ItemDone,
    ItemError,
    ItemStart,
    ResponseDone,
    ResponseError,
    ResponseStart,
    StreamEvent,
    Usage,
    UsageUpdate,
)
from turnwire.messages.json_text import dump_json
from turnwire.messages.providers.adapter import Adapter
from turnwire.messages.providers.continuation import Continuation
from turnwire.messages.runs import Answer, RunInput, RunOutcome
from turnwire.messages.testing import check_contract
from turnwire.messages.ui import TextPart, ToolCallPart, ToolResultPart, UIMessage
from turnwire.runtime.threads import MemoryThreads

_runs = count(1)


class Scripted(Adapter):
    """An adapter whose provider says exactly what the script wants."""

    FORMAT = "scripted"

    def _prepare(self) -> None:
        self.item: Any = None

    def _read(self, event: Mapping[str, Any]) -> None:
        transcript = self._transcript
        if "say" not in event and self.item is not None and self.item.kind == "message":
            transcript.done(self.item)
        match event:
            case {"say": text}:
                if self.item is None or self.item.closed or self.item.kind != "message":
                    self.item = transcript.notice("message")
                transcript.delta(self.item, text)
            case {"think": text}:
                item = transcript.notice("reasoning")
                transcript.delta(item, text)
                transcript.done(item)
            case {"call": name, "arguments": text, "id": call_id, "whole": whole}:
                self.item = transcript.notice("function_call", name=name, call_id=call_id)
                transcript.start(self.item)
                transcript.delta(self.item, text)
                if whole:
                    transcript.done(self.item)
            case {"usage": usage}:
                self._usage = usage
            case {"end": reason}:
                self._complete(reason, reason)
            case _:
                raise AssertionError(event)

    def _read_end(self) -> None:
        self._truncate()


Step: TypeAlias = dict[str, Any] | float | Exception | None
"""Something that the provider says; seconds that it takes; an error that it raises; None: it never ends."""


def say(text: str) -> Step:
    """More text of a message."""
    return {"say": text}


def think(text: str) -> Step:
    """A thought."""
    return {"think": text}


def call(name: str, call_id: str = "c1", /, **arguments: Any) -> Step:
    """A whole call."""
    return {"call": name, "arguments": dump_json(arguments).decode(), "id": call_id, "whole": True}


def raw_call(name: str, text: str, call_id: str = "c1", *, whole: bool = True) -> Step:
    """A call with this text as its arguments; not whole: more would come."""
    return {"call": name, "arguments": text, "id": call_id, "whole": whole}


def used(prompt: int, completion: int) -> Step:
    """What this reply costs."""
    return {"usage": Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)}


def end(reason: str = "stop") -> Step:
    """The end of a reply."""
    return {"end": reason}


DONE = end("tool_calls")


@attrs.define
class ScriptStream:
    """One reply."""

    steps: Sequence[Step]
    adapter: Scripted
    closed: int = 0

    async def __aiter__(self) -> AsyncIterator[list[StreamEvent]]:
        yield self.adapter.start()
        for step in self.steps:
            if isinstance(step, Exception):
                raise step
            if step is None:
                await trio.sleep_forever()
            elif isinstance(step, dict):
                yield self.adapter.feed(step)
            else:
                await trio.sleep(step)
        yield self.adapter.finish()

    def abort(self) -> list[StreamEvent]:
        return self.adapter.abort()

    def continuation(self) -> Continuation:
        return self.adapter.continuation()

    async def aclose(self) -> None:
        self.closed += 1
        await trio.lowlevel.checkpoint()


@attrs.define
class ScriptModel:
    """Plays one list of steps per request; the last again and again when there are no more."""

    replies: Sequence[Sequence[Step]]
    calls: list[ModelCall] = attrs.field(factory=list)
    streams: list[ScriptStream] = attrs.field(factory=list)
    model_id: str = "script-1"
    provider_id: str = "script"
    data_format: str = "scripted"

    def open(self, call: ModelCall, /) -> ScriptStream:
        steps = self.replies[min(len(self.calls), len(self.replies) - 1)]
        self.calls.append(call)
        adapter = Scripted(
            run_id=call.run_id, turn_id=call.turn_id, thread_id=call.thread_id, prompt=call.prompt, after=call.after
        )
        stream = ScriptStream(steps, adapter)
        self.streams.append(stream)
        return stream


def user(text: str, message_id: str = "u1") -> UIMessage:
    """A message of the user's."""
    return UIMessage(id=message_id, role="user", parts=(TextPart(content=text),))


@attrs.define
class Stage:
    """An engine, and all that its runs told, each with the time at which it was told."""

    model: Any
    tools: Sequence[Tool | Callable[..., Any]] = ()
    options: EngineOptions = attrs.field(factory=EngineOptions)
    store: MemoryThreads = attrs.field(factory=MemoryThreads)
    events: list[StreamEvent] = attrs.field(factory=list)
    times: list[float] = attrs.field(factory=list)
    engine: Engine = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.engine = Engine(self.model, self.tools, self.store, self.options)

    async def publish(self, events: Sequence[StreamEvent | bytes]) -> None:
        await trio.lowlevel.checkpoint()
        for event in events:
            assert isinstance(event, StreamEvent)
            self.events.append(event)
            self.times.append(trio.current_time())

    def make_input(
        self, prompt: str | None = "Hello", *answers: Answer, thread_id: str = "th", **more: Any
    ) -> RunInput:
        number = next(_runs)
        new = () if prompt is None else (user(prompt, f"u{number}"),)
        run_id = more.pop("run_id", f"run{number}")
        return RunInput(
            run_id=run_id, turn_id=f"turn-{run_id}", thread_id=thread_id, new_messages=new, answers=answers, **more
        )

    async def run(self, prompt: str | None = "Hello", *answers: Answer, **more: Any) -> RunOutcome:
        """Run one turn; what it told is in `events`, and keeps to the contract."""
        self.events.clear()
        self.times.clear()
        outcome = await self.engine.run(self.make_input(prompt, *answers, **more), self.publish)
        check_contract(self.events)
        return outcome

    @property
    def told(self) -> list[str]:
        """What was told, in a few words each; deltas are left out."""
        words = (brief(event) for event in self.events)
        return [word for word in words if word]

    def word(self, event: StreamEvent) -> str:
        """Say an event in a few words; nothing for a delta."""
        return brief(event)

    async def parts(self, thread_id: str = "th") -> list[str]:
        """The saved conversation, in a few words for each part."""
        saved = await self.store.load(thread_id)
        assert saved is not None
        return [f"{message.role}: {brief_part(part)}" for message in saved.messages for part in message.parts]


def brief(event: StreamEvent) -> str:
    """Say an event in a few words."""
    match event.payload:
        case ResponseStart():
            return "start"
        case ItemDone(final_item=FinalMessage() as final):
            return f"{final.origin}: {final.content}"
        case ItemDone(final_item=FinalReasoning() as final):
            return f"thought: {final.content}"
        case ItemDone(final_item=FinalFunctionCall() as final):
            return f"call {final.call_id}: {final.name} {final.arguments}"
        case ItemDone(final_item=FinalFunctionCallOutput() as final):
            return f"{'result' if final.success else 'error'} {final.call_id}: {final.output}"
        case ItemError() as failed:
            return f"item_error {failed.error.code}"
        case ItemCancelled():
            return "item_cancelled"
        case ResponseDone() as done:
            return f"done {done.status} {done.finish_reason}"
        case ResponseError() as broken:
            return f"response_error {broken.error.code}"
        case UsageUpdate() | ItemStart() | ItemDelta():
            return ""
        case _:
            return type(event.payload).__name__


def brief_part(part: Any) -> str:
    """Say a part of a message in a few words."""
    match part:
        case TextPart():
            return part.content
        case ToolCallPart():
            return f"call {part.id} {part.name} {part.state}"
        case ToolResultPart():
            return f"{part.state} {part.tool_call_id}: {part.content}"
        case _:
            return f"{type(part).__name__} {part.content}"


def tasks_left(*prefixes: str) -> list[str]:
    """Name the tasks of runs that exist right now."""
    root = trio.lowlevel.current_root_task()
    tasks = [root] if root is not None else []
    names: list[str] = []
    while tasks:
        task = tasks.pop()
        names.append(task.name)
        tasks.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return sorted(name for name in names if name.startswith(prefixes or ("tool", "model", "tools")))
