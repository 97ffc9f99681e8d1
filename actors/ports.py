"""What actors need from the world, and nothing about how the world does it."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

import attrs

from turnwire.messages.outputs import StreamMessage

OnEmit: TypeAlias = Callable[[StreamMessage], Awaitable[object]]
"""Takes one message, or raises when it could not take it; then it is called again with the same one.

It must not wait for the turn whose message it was given (flush it, close it): that turn waits for it.
"""


class Log(Protocol):
    """Where messages can be kept: anything with an `append`."""

    async def append(self, message: StreamMessage, /) -> object:
        """Keep one message, or raise when that was not possible."""
        ...


class BatchLog(Log, Protocol):
    """A log that can keep several messages of a turn for the price of one call."""

    async def append_many(self, messages: Sequence[StreamMessage], /) -> int:
        """Keep messages of one turn, in this order, and give how many of them, the first ones, are kept.

        That is at least one; raises what `append` of the first one would raise when not even that was possible.
        """
        ...


EmitMany: TypeAlias = Callable[[Sequence[StreamMessage]], Awaitable[int]]
"""Takes the first ones of several messages and says how many, or raises when it could not take even the first."""


class RawLog(Protocol):
    """Where the events of runs can be kept, as they came."""

    async def append_events(self, run_id: str, events: Sequence[bytes], /) -> object:
        """Keep events in this order, or raise when that was not possible. What came twice is kept twice."""
        ...

    async def expire_events(self, run_id: str, /) -> object:
        """Let a run's events go some time after its turn has ended."""
        ...


Sink: TypeAlias = OnEmit | Log | BatchLog

Timestamps: TypeAlias = Callable[[float], int]
"""Turns a moment of the running clock (seconds) into milliseconds since the epoch."""

EventIds: TypeAlias = Callable[[str, int], str]
"""Names emission number `seq` (from 1) of a turn."""


def make_event_id(turn_id: str, seq: int, *, epoch: int = 1) -> str:
    """Name an emission: the turn, how many owners it has had, and the emission's number.

    >>> make_event_id("t1", 7)
    't1:1-7'
    """
    return f"{turn_id}:{epoch}-{seq}"


@attrs.frozen
class Outlet:
    """The ways into a sink."""

    one: OnEmit
    many: EmitMany | None = None
    """Where the sink can take several messages at once."""


def outlet_of(sink: Sink) -> Outlet:
    """Give the ways into this sink. Raises TypeError if there is none."""
    return Outlet(on_emit_of(sink), getattr(sink, "append_many", None))


def on_emit_of(sink: Sink) -> OnEmit:
    """Give the callable that hands a message to this sink."""
    append = getattr(sink, "append", None)
    if append is not None and not inspect.isbuiltin(append):  # a list has an append, but none to await
        return append  # type: ignore[no-any-return]  # a Log, told apart by having what a Log has
    if not callable(sink):
        raise TypeError(f"a sink is an async callable or has an async append(message); got {sink!r}")
    return sink
