"""The writer: hands a turn's emissions to the sink, one at a time, in order, again and again if need be.

It is started when there is something to write and ends when there is not: a turn whose model is thinking keeps no
writer waiting. An emission leaves the outbox only after the sink took it, so a cancelled writer has lost nothing.
"""

from collections.abc import Callable

import trio

from turnwire.actors.core.outbox import Emission, Outbox
from turnwire.actors.core.retry import RetryPolicy
from turnwire.actors.groups import leaves
from turnwire.actors.ports import OnEmit
from turnwire.messages.errors import FencedError, RetryExhaustedError
from turnwire.messages.outputs import StreamMessage


async def run_writer(
    outbox: Outbox,
    on_emit: OnEmit,
    *,
    policy: Callable[[], RetryPolicy],
    envelope: Callable[[Emission], StreamMessage],
    delivered: Callable[[Emission], None],
    retrying: Callable[[], None],
) -> None:
    """Deliver what waits until nothing does. Raises RetryExhaustedError when the sink keeps refusing."""
    while (emission := outbox.take()) is not None:
        await trio.lowlevel.checkpoint_if_cancelled()  # a sink need not be a checkpoint, and must hear no more
        message = envelope(emission)
        try:
            await on_emit(message)
        except Exception as exc:  # noqa: BLE001  # whatever the sink raises means that it did not take the message
            await _try_again(message, on_emit, policy, retrying, exc)
        outbox.delivered(now=trio.current_time())
        delivered(emission)


async def _try_again(
    message: StreamMessage,
    on_emit: OnEmit,
    policy: Callable[[], RetryPolicy],
    retrying: Callable[[], None],
    error: Exception,
) -> None:
    """Hand a refused message to the sink again, as often as the policy allows, always under the same event id."""
    failed = 0
    _raise_fenced(error)
    while (delay := policy().delay_after(failed)) is not None:
        await trio.sleep(delay)
        failed += 1
        retrying()
        try:
            await on_emit(message)
        except Exception as exc:  # noqa: BLE001  # as above
            _raise_fenced(exc)
            error = exc
        else:
            return
    raise RetryExhaustedError(message.turn_id, message.event_id, failed + 1) from error


def _raise_fenced(error: Exception) -> None:
    """Raise if another owner has the turn, be it said plainly or out of a sink's nursery: trying again is no use."""
    for leaf in leaves(error):
        if isinstance(leaf, FencedError):
            raise leaf
