"""Log A beside log B: what is sent to a turn is written down as it came, before the turn looks at it.

`send` then returns when the event is in log A. One event of a turn is on its way at a time, so the order in the log is
the order in which the turn gets them; the appends of many turns travel together anyway.
"""

from collections.abc import Callable

import trio

from turnwire.actors.core.retry import RetryPolicy
from turnwire.actors.ports import RawLog
from turnwire.messages.errors import RetryExhaustedError


class RawGate:
    """Where the events of one turn pass on their way in."""

    __slots__ = ("_log", "_policy", "_turn_id", "line", "run_id")

    def __init__(self, log: RawLog, turn_id: str, run_id: str, policy: Callable[[], RetryPolicy]) -> None:
        self._log = log
        self._turn_id = turn_id
        self.run_id = run_id
        self._policy = policy
        self.line = trio.StrictFIFOLock()
        """Held from before an event is written until the turn has it."""

    async def write(self, event: bytes, event_id: str) -> None:
        """Write one event, as often as it takes. Raises RetryExhaustedError when the log keeps refusing."""
        failed = 0
        while True:
            try:
                await self._log.append_events(self.run_id, (event,))
            except Exception as exc:  # whatever the log raises means that it is not known to have the event
                delay = self._policy().delay_after(failed)
                failed += 1
                if delay is None:
                    raise RetryExhaustedError(self._turn_id, event_id, failed, what="raw log refused event") from exc
            else:
                return
            await trio.sleep(delay)
