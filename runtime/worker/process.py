"""A worker as a process: its log, its runtime, its queue, and the signals that end it."""

import signal

import trio

from turnwire.runtime.backend.backend import log_options
from turnwire.runtime.host import open_runtime
from turnwire.runtime.logs.redis import open_redis_log
from turnwire.runtime.observe import get_logger
from turnwire.runtime.queue.turn_queue import TurnQueue
from turnwire.runtime.settings import Settings
from turnwire.runtime.worker.turn_work import Engine
from turnwire.runtime.worker.worker import AT_ONCE, Worker

log = get_logger("turnwire.worker")

RUNTIME_GRACE = 1.0  # seconds; by then every turn has ended or was cancelled


async def run_worker(settings: Settings, *, engine: Engine | None = None) -> Worker:
    """Be a worker process until SIGTERM or SIGINT; a second one does not wait for turns to end. Gives its counts."""
    redis = settings.redis
    if redis.url is None:
        raise ValueError("redis.url: a worker needs the server that holds the queue")
    queue = TurnQueue(redis.url, redis, settings.worker)
    try:
        async with (
            open_redis_log(redis.url, options=log_options(settings)) as turn_log,
            open_runtime(
                sink=turn_log,
                options=settings.turn_options,
                max_turns=settings.limits.turns + AT_ONCE,  # the worker keeps the limit; two of its tasks ask at once
                grace=RUNTIME_GRACE,
            ) as runtime,
        ):
            worker = Worker(turn_log, runtime, queue, settings, engine=engine)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_stop_at_signals, worker, name="signals")
                await worker.run()
                nursery.cancel_scope.cancel()
            return worker
    finally:
        queue.close()


async def _stop_at_signals(worker: Worker) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        stop = worker.stop
        async for number in signals:
            log.info("signal", signal=signal.Signals(number).name)
            stop()
            stop = worker.stop_at_once
