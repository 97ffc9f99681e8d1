"""The writer: hands a turn's emissions to the sink, in order, again and again if need be.

One at a time, or, to a sink that can take several (a log with `append_many`), as many as wait. It is started when there
is something to write and ends when there is not: a turn whose model is thinking keeps no writer waiting. Before it
takes what is next it looks whether more has come in, so that a sender need wake nobody while it is busy. An emission
leaves the outbox only after the sink took it, so a cancelled writer has lost nothing.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

import trio

from turnwire.actors.core.retry import RetryPolicy
from turnwire.actors.deliveries import Deliveries
from turnwire.actors.groups import leaves
from turnwire.actors.ports import EmitMany, OnEmit, Outlet
from turnwire.messages.errors import FencedError, RetryExhaustedError
from turnwire.messages.outputs import StreamMessage

AT_ONCE = 64  # emissions in one call: the cost of a call is little beside theirs by then
AT_ONCE_BYTES = 256 * 1024  # of text in them: long texts are not to crowd out those of other turns

_T = TypeVar("_T")


class Author(Protocol):
    """What a writer needs of its turn."""

    def look(self) -> None:
        """Take in what has come meanwhile, if there is reason to."""
        ...

    def retry_policy(self) -> RetryPolicy:
        """Say how often and how fast to try again, as of now."""
        ...


async def run_writer(deliveries: Deliveries, outlet: Outlet, author: Author) -> None:
    """Deliver what waits until nothing does. Raises RetryExhaustedError when the sink keeps refusing."""
    if outlet.many is None:
        await _write_each(deliveries, outlet.one, author)
    else:
        await _write_many(deliveries, outlet.many, author)


async def _write_each(deliveries: Deliveries, emit: OnEmit, author: Author) -> None:
    while (emission := deliveries.outbox.take()) is not None:
        await trio.lowlevel.checkpoint_if_cancelled()  # a sink need not be a checkpoint, and must hear no more
        message = deliveries.word(emission)
        try:
            await emit(message)
        except Exception as exc:  # noqa: BLE001  # whatever the sink raises means that it did not take the message
            await _try_again(partial(emit, message), message, deliveries, author, exc)
        deliveries.note_taken((emission,), now=trio.current_time())
        author.look()


async def _write_many(deliveries: Deliveries, emit_many: EmitMany, author: Author) -> None:
    while emissions := deliveries.outbox.take_many(AT_ONCE, AT_ONCE_BYTES):
        await trio.lowlevel.checkpoint_if_cancelled()
        messages = [deliveries.word(emission) for emission in emissions]
        try:
            taken = await emit_many(messages)
        except Exception as exc:  # noqa: BLE001  # as above: it did not take even the first one
            taken = await _try_again(partial(emit_many, messages), messages[0], deliveries, author, exc)
        if not 0 < taken <= len(messages):
            raise ValueError(f"the sink of turn {messages[0].turn_id} says it took {taken} of {len(messages)} messages")
        deliveries.note_taken(emissions[:taken], now=trio.current_time())
        author.look()


async def _try_again(
    hand_over: Callable[[], Awaitable[_T]],
    message: StreamMessage,
    deliveries: Deliveries,
    author: Author,
    error: Exception,
) -> _T:
    """Hand what was refused to the sink again, as often as the policy allows, always under the same event ids."""
    failed = 0
    _raise_fenced(error)
    while (delay := author.retry_policy().delay_after(failed)) is not None:
        await trio.sleep(delay)
        failed += 1
        deliveries.note_retry()
        try:
            return await hand_over()
        except Exception as exc:  # noqa: BLE001  # as above
            _raise_fenced(exc)
            error = exc
    raise RetryExhaustedError(message.turn_id, message.event_id, failed + 1) from error


def _raise_fenced(error: Exception) -> None:
    """Raise if another owner has the turn, be it said plainly or out of a sink's nursery: trying again is no use."""
    for leaf in leaves(error):
        if isinstance(leaf, FencedError):
            raise leaf
