"""A model that says what it is told to: for tests, demos, and for trying an agent without a key.

It waits on Trio's clock only and makes all its ids from the run's, so the same script gives the same events.
"""

import hashlib
import math
from collections.abc import AsyncGenerator, Callable, Iterator
from functools import partial
from typing import Any, Final, assert_never

import trio

from turnwire.actors.engine_ports import ModelCall
from turnwire.messages.events import TraceContext, Usage
from turnwire.runtime.models.script import (
    Call,
    Cut,
    Fail,
    Finish,
    Hang,
    Pause,
    Reply,
    Say,
    Script,
    Step,
    Think,
    steps_of,
)
from turnwire.runtime.models.scripted_adapter import ScriptedAdapter, usage_event
from turnwire.runtime.models.stream import AdaptedStream

SCRIPT_ENDED: Final = "SCRIPT_ENDED"
"""The code of a request for which the script has no reply left: loud, because a test has forgotten something."""

_Event = dict[str, Any]


class ScriptedModel:
    """Answers requests by a script: a reply for each, in order, or a function that makes one of the request."""

    data_format = ScriptedAdapter.FORMAT

    def __init__(
        self,
        script: Script,
        *,
        model_id: str = "scripted",
        provider_id: str = "scripted",
        now: Callable[[], float] | None = None,
    ) -> None:
        """`now` gives the milliseconds that events are stamped with; None: the time of day.

        Raises TypeError for a script that is one reply: a text would be said letter by letter, one to each request.
        """
        if isinstance(script, str | Step):
            raise TypeError(f"expected a list of replies, or a function; got one reply, so write [{script!r}]")
        self.model_id = model_id
        self.provider_id = provider_id
        self.calls: list[ModelCall] = []
        """Each request that was made, in order."""
        self._replies = partial(_next_reply, iter(script)) if not callable(script) else script
        self._clock: dict[str, Any] = {} if now is None else {"now": now}

    def open(self, call: ModelCall, /) -> AdaptedStream:
        """Begin one request. The script is asked for its reply at once, in the order of the requests."""
        self.calls.append(call)
        reply = self._replies(call)
        adapter = ScriptedAdapter(
            run_id=call.run_id,
            turn_id=call.turn_id,
            thread_id=call.thread_id,
            model_id=self.model_id,
            provider_id=self.provider_id,
            prompt=call.prompt,
            after=call.after,
            trace_context=None if call.after else _trace_context(call.run_id),
            **self._clock,
        )
        return AdaptedStream(adapter, partial(_play, reply))


def _next_reply(replies: Iterator[Reply], call: ModelCall) -> Reply:
    ended = f"the script has no reply to a request of run {call.run_id}"
    return next(replies, Fail(SCRIPT_ENDED, ended))


async def _play(reply: Reply) -> AsyncGenerator[_Event, None]:
    """Give the events of a reply when they are due."""
    await trio.lowlevel.checkpoint()  # as every connection has one: whoever asks forever can be cancelled
    for wait, event in _timeline(reply):
        if wait > 0:
            await trio.sleep(wait)
        if event is not None:
            yield event


def _timeline(reply: Reply) -> Iterator[tuple[float, _Event | None]]:
    """Give each event of a reply with the seconds that pass before it."""
    for step in steps_of(reply):
        match step:
            case Pause(seconds=seconds):
                yield seconds, None
            case Hang():
                yield math.inf, None
            case Usage():
                yield 0.0, usage_event(step)
            case Say() | Think() | Call():
                yield from _pieces(step)
            case Fail(code=code, message=message):
                yield 0.0, {"type": "error", "error": {"code": code, "message": message}}
                return
            case Finish(reason=reason):
                yield 0.0, {"type": "finish", "reason": reason}
                return
            case Cut():
                return
            case _:
                assert_never(step)
    yield 0.0, {"type": "finish"}


def _pieces(step: Say | Think | Call) -> Iterator[tuple[float, _Event | None]]:
    if isinstance(step, Call):
        yield 0.0, {"type": "call", "name": step.name, "call_id": step.call_id}
    kind = {Say: "text", Think: "thinking", Call: "arguments"}[type(step)]
    for piece in step.pieces():
        yield step.every, {"type": kind, "text": piece}
    if isinstance(step, Think) and step.seal is not None:
        yield 0.0, {"type": "sealed", "seal": step.seal}
    if not isinstance(step, Say):
        yield 0.0, {"type": "end"}


def _trace_context(run_id: str) -> TraceContext:
    digest = hashlib.sha256(run_id.encode()).hexdigest()
    return TraceContext(traceparent=f"00-{digest[:32]}-{digest[32:48]}-01")
