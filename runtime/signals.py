"""How a process is asked to end: SIGTERM or SIGINT once, and once more by whoever does not want to wait."""

import signal
from collections.abc import Callable

import trio
from structlog.stdlib import BoundLogger


async def stop_at_signals(
    stop: Callable[[], object],
    stop_at_once: Callable[[], object],
    log: BoundLogger,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Call `stop` at the first signal and `stop_at_once` at every other. Runs until it is cancelled."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        respond = stop
        async for number in signals:
            log.info("signal", signal=signal.Signals(number).name)
            respond()
            respond = stop_at_once
