"""The writer: hands a turn's emissions to the sink, one at a time, in order, again and again if need be.

It is started when there is something to write and ends when there is not: a turn whose model is thinking keeps no
writer waiting. An emission leaves the outbox only after the sink took it, so a cancelled writer has lost nothing.
"""

from collections.abc import Callable

import trio

from turnwire.actors.core.outbox import Emission, Outbox
from turnwire.actors.core.retry import RetryPolicy
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
) -> None:
    """Deliver what waits until nothing does. Raises RetryExhaustedError when the sink keeps refusing."""
    while (emission := outbox.take()) is not None:
        await deliver(envelope(emission), on_emit, policy)
        outbox.delivered(now=trio.current_time())
        delivered(emission)


async def deliver(message: StreamMessage, on_emit: OnEmit, policy: Callable[[], RetryPolicy]) -> None:
    """Hand one message to the sink, trying again as the policy says. A retry keeps the message's event id."""
    attempt = 0
    while True:
        try:
            await on_emit(message)
        except FencedError:
            raise  # trying again would not help: another owner has the turn
        except Exception as exc:
            delay = policy().delay_after(attempt)
            attempt += 1
            if delay is None:
                raise RetryExhaustedError(message.turn_id, message.event_id, attempt) from exc
        else:
            return
        await trio.sleep(delay)
