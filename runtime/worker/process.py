"""A worker as a process: its log, its runtime, its queue, and the signals that end it."""

import signal
from collections.abc import Iterable, Mapping

import trio

from turnwire.actors.core.toolset import ToolFunction
from turnwire.actors.engine_ports import Model
from turnwire.actors.tool import Tool, ToolSet
from turnwire.runtime.backend import open_backend
from turnwire.runtime.backend.agent import open_agent
from turnwire.runtime.host import open_runtime
from turnwire.runtime.observe import get_logger
from turnwire.runtime.settings import Settings
from turnwire.runtime.worker.worker import AT_ONCE, Worker

log = get_logger("turnwire.worker")

RUNTIME_GRACE = 1.0  # seconds; by then every turn has ended or was cancelled


async def run_worker(
    settings: Settings,
    *,
    models: Mapping[str, Model] | None = None,
    tools: ToolSet | Iterable[Tool | ToolFunction] = (),
) -> Worker:
    """Be a worker process until SIGTERM or SIGINT; a second one does not wait for turns to end. Gives its counts.

    `models`, by name, and `tools` are the host's own, for turns that the engine runs; without models those of the
    settings are used.
    """
    if settings.redis.url is None:
        raise ValueError("redis.url: a worker needs the server that holds the queue")
    async with (
        open_backend(settings) as backend,
        open_agent(settings.model, backend.threads, models=models, tools=tools) as agent,
        open_runtime(
            sink=backend.log,
            options=settings.turn_options,
            max_turns=settings.limits.turns + AT_ONCE,  # the worker keeps the limit; two of its tasks ask at once
            grace=RUNTIME_GRACE,
        ) as runtime,
    ):
        worker = Worker(backend.log, runtime, backend.queue, settings, engine=None if agent is None else agent.work)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_at_signals, worker, name="signals")
            await worker.run()
            nursery.cancel_scope.cancel()
        return worker


async def _stop_at_signals(worker: Worker) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        stop = worker.stop
        async for number in signals:
            log.info("signal", signal=signal.Signals(number).name)
            stop()
            stop = worker.stop_at_once
